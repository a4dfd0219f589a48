//! What may stand in `sources.toml`, and how what may not is told.

use hookledger_providers::{SecretRef, Sources};

#[track_caller]
fn refused(toml: &str, message: &str) {
    let told = Sources::parse(toml).unwrap_err().to_string();
    assert!(told.contains(message), "{told}");
}

#[test]
fn the_sources_of_this_repository_are_good() {
    let sources = Sources::parse(include_str!("../../../../sources.toml")).unwrap();
    assert_eq!(sources.iter().count(), 2);
    assert_eq!(sources.get("github").unwrap().body_bytes_max(), 6 << 20);
    let stripe = sources.get("stripe").unwrap();
    assert_eq!(stripe.body_bytes_max(), 1 << 20);
    assert_eq!(stripe.secret_refs(), [SecretRef::Env("STRIPE_WEBHOOK_SECRET".into())]);
    assert_eq!(stripe.retry(), hookledger_core::RetryPolicy::default());
    assert!(sources.get("other").is_none());
}

#[test]
fn a_retry_policy_is_read_and_bounded() {
    let with = |retry: &str| format!("[s]\nprovider = \"stripe\"\nsecrets = [\"env:S\"]\n[s.retry]\n{retry}");
    let sources = Sources::parse(&with("attempts_max = 8\nbase_s = 2\ncap_s = 60")).unwrap();
    let retry = sources.get("s").unwrap().retry();
    assert_eq!((retry.attempts_max, retry.base.as_secs(), retry.cap.as_secs()), (8, 2, 60));
    refused(&with("attempts_max = 0"), "source s: key retry: attempts_max");
    refused(&with("base_s = 0"), "base_s");
    refused(&with("base_s = 10\ncap_s = 5"), "cap_s");
    refused(&with("cap_s = 43201"), "cap_s");
    refused(&with("jitter = 1"), "source s: unknown field `jitter`");
}

#[test]
fn what_is_wrong_is_named_with_source_and_key() {
    refused("[s", "not TOML");
    refused("[S]\nprovider = \"stripe\"", "\"S\" cannot name a source");
    refused("s = 1", "source s: it is no table");
    refused("[s]\nsecrets = [\"env:S\"]", "source s: key provider: it is missing");
    refused("[s]\nprovider = \"strpe\"\nsecrets = []", "unknown provider \"strpe\"; known are");
    refused("[s]\nprovider = \"stripe\"", "source s: key secrets: it is missing");
    refused("[s]\nprovider = \"stripe\"\nsecrets = []", "source s: key secrets: it is empty");
    refused("[s]\nprovider = \"stripe\"\nsecrets = [\"whsec_1\"]", "source s: key secrets: a secret is referred to");
    refused("[s]\nprovider = \"stripe\"\nsecrets = [\"env:S\"]\nlive = true", "source s: unknown field `live`");
    let with = |key: &str| format!("[s]\nprovider = \"github\"\nsecrets = [\"env:S\"]\n{key}");
    refused(&with("tolerance_s = 5"), "source s: key tolerance_s: this provider signs no time");
    refused(&with("livemode = true"), "source s: key livemode");
    refused(&with("body_bytes_max = 7000000"), "source s: key body_bytes_max");
    refused(&with("public_url = \"https://a.io\""), "source s: key public_url: this provider has no use for it");
    refused(&with("id = \"nowhere\""), "source s: an id is a place");
}

#[test]
fn a_secret_of_the_wrong_kind_is_refused_with_the_right_one_named() {
    let sources = Sources::parse("[s]\nprovider = \"stripe\"\nsecrets = [\"env:S\"]").unwrap();
    let stripe = sources.get("s").unwrap();
    assert_eq!(stripe.secret("whsec_abc \n").unwrap().expose(), b"whsec_abc");
    let told = stripe.secret("sk_live_hunter2").unwrap_err().to_string();
    assert!(told.contains("an API key") && told.contains("whsec_") && !told.contains("hunter2"), "{told}");
    assert!(stripe.secret(" \n").is_err());
}
