//! Captured deliveries, looked at without a deployment: test vectors of every provider, through the program.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};

use super::scene::{Cli, Ran};

struct Captured<'a> {
    provider: &'a str,
    vector: &'a Value,
}

impl Captured<'_> {
    /// What is typed for it, files in `folder`.
    fn arguments(&self, folder: &Path) -> Vec<String> {
        let Self { provider, vector } = self;
        let mut arguments = vec!["verify".to_owned(), "--json".into(), "--provider".into(), (*provider).into()];
        let mut add = |name: &str, value: String| arguments.push(format!("--{name}={value}"));
        let text = |name: &str| vector[name].as_str();
        for secret in vector["secrets"].as_array().unwrap() {
            add("secret", secret.as_str().unwrap().to_owned());
        }
        for (name, value) in vector["headers"].as_object().unwrap() {
            for value in value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]) {
                add("header", format!("{name}: {}", value.as_str().unwrap()));
            }
        }
        let mut url = None;
        for setting in vector["settings"].as_array().into_iter().flatten() {
            let (key, value) = setting.as_str().unwrap().split_once(" = ").unwrap();
            let value: Value = serde_json::from_str(value).unwrap();
            match value.as_str() {
                Some(value) if key == "public_url" => url = Some(value.to_owned()),
                Some(value) => add("set", format!("{key}={value}")),
                None => add("set", format!("{key}={value}")),
            }
        }
        let url = match (url, text("query")) {
            (url, None) => url,
            (url, Some(query)) => Some(format!("{}?{query}", url.unwrap_or_else(|| "https://hooks.example.com".to_owned()))),
        };
        url.into_iter().for_each(|url| add("url", url));
        for (name, content) in [("body", Some(text("body").unwrap_or_default())), ("key", text("fetched"))] {
            if let Some(content) = content {
                let file = folder.join(name);
                std::fs::write(&file, content).unwrap();
                add(name, file.display().to_string());
            }
        }
        add("method", text("method").unwrap_or("POST").to_owned());
        add("now", vector["now_s"].as_i64().unwrap_or(1_700_000_000).to_string());
        arguments
    }
}

async fn run(arguments: &[String]) -> Ran {
    let output = Cli::with(&[]).command("").args(arguments).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[tokio::test]
async fn of_every_provider_a_delivery_is_told_genuine_or_not_with_its_events() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/providers/tests/vectors");
    let folder = tempfile::tempdir().unwrap();
    let (mut wrong, mut told) = (Vec::new(), [0; 3]);
    for path in std::fs::read_dir(vectors).unwrap().map(|entry| entry.unwrap().path()) {
        let provider = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let mut seen = HashSet::new();
        for vector in file["vectors"].as_array().unwrap().iter().filter(|vector| vector.get("body_repeat").is_none()) {
            // One of each kind is enough of those that start a program each; the library's own tests take them all.
            let unusable = vector["outcome"].as_str().unwrap().starts_with("unusable");
            if !seen.insert((vector["valid"] == true, unusable)) {
                continue;
            }
            let ran = run(&Captured { provider: &provider, vector }.arguments(folder.path())).await;
            let outcome = vector["outcome"].as_str().unwrap();
            let fits = match (ran.code, vector["valid"] == true) {
                (0, true) => {
                    let json = &ran.json()[0];
                    let ids = json["events"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .all(|event| outcome.contains(event["event_id"].as_str().unwrap()));
                    ids && json["valid"] == true
                }
                (1, false) => outcome.ends_with(ran.json()[0]["reason"].as_str().unwrap()),
                (2, false) => outcome.starts_with("unusable") && ran.err.lines().count() == 1,
                _ => false,
            };
            told[usize::try_from(ran.code).unwrap().min(2)] += 1;
            if !fits {
                wrong.push(format!("{provider} {}: {ran:?}, wanted {outcome}", vector["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(told[0] > 50 && told[1] > 40 && told[2] > 0, "{told:?}");
}

#[tokio::test]
async fn it_says_what_is_wrong_and_what_a_delivery_is_about() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body");
    let body = r#"{"id":"evt_1","object":"event","type":"invoice.paid","created":1773342000,"data":{"object":{"id":"in_1","object":"invoice"}}}"#;
    let signature = hookledger_harness::sign::stripe("whsec_x", 1_773_342_000, body.as_bytes());
    let ask = async |body: &str, more: &[&str]| {
        std::fs::write(&file, body).unwrap();
        let header = format!("--header=Stripe-Signature: {signature}");
        let mut arguments =
            vec!["verify".to_owned(), "--provider=stripe".into(), header, format!("--body={}", file.display())];
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        run(&arguments).await
    };
    let now = "--now=1773342001";
    let good = ask(body, &["--secret=whsec_x", now]).await.ok();
    assert_eq!(good.out, "valid\n  evt_1  invoice.paid  invoice in_1  1773342000000000\n");
    let json = ask(body, &["--secret=whsec_old", "--secret=whsec_x", now, "--json"]).await.ok().json();
    assert_eq!(json[0]["events"][0]["object"], json!({ "account": "", "kind": "invoice", "id": "in_1" }));
    let late = ask(body, &["--secret=whsec_x", "--now=1773399999"]).await;
    assert!(late.code == 1 && late.out.contains("stale timestamp") && late.out.contains("too far from now"), "{late:?}");
    let newline = ask(&format!("{body}\n"), &["--secret=whsec_x", now]).await;
    assert!(newline.code == 1 && newline.out.contains("bad signature") && newline.out.contains("line"), "{newline:?}");
    let other = ask(body, &["--secret=whsec_y", now]).await;
    assert!(other.code == 1 && other.out.contains("another secret"), "{other:?}");
    let of_another_kind = ask(body, &["--secret=sk_live_x", now]).await;
    assert!(of_another_kind.code == 2 && !of_another_kind.err.contains("sk_live_x"), "{of_another_kind:?}");
    let nowhere = Cli::with(&[]);
    let unknown = nowhere.run("verify --provider nobody --secret x --body -").await;
    assert!(unknown.code == 2 && unknown.err.contains("hookledger providers"), "{unknown:?}");
}

#[tokio::test]
async fn the_providers_are_told_out_of_their_definitions() {
    let nowhere = Cli::with(&[]);
    let all = nowhere.run("providers --json").await.ok().json();
    assert!(all.len() > 50 && all.iter().any(|provider| provider["name"] == "stripe"));
    assert_eq!(nowhere.run("providers").await.ok().out.lines().count(), all.len() + 1);
    let shopify = nowhere.run("providers shopify").await.ok().out;
    assert!(shopify.contains("one action") || shopify.contains("one per merchant action"), "{shopify}");
    assert_eq!(nowhere.run("providers nobody").await.code, 2);
}

#[tokio::test]
async fn what_sign_prints_verify_takes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body");
    let adyen = r#"{"live":"false","notificationItems":[{"NotificationRequestItem":{"additionalData":{"hmacSignature":""},"eventCode":"AUTHORISATION","pspReference":"p1"}}]}"#;
    let linear = r#"{"action":"create","type":"Comment","webhookTimestamp":0,"data":{"id":"c1"}}"#;
    for (provider, secret, body, more) in [
        ("stripe", "whsec_x", r#"{"id":"e1","type":"a.b"}"#, &[][..]),
        ("github", "s", "{}", &["--header=x-github-event: push", "--header=x-github-delivery: d1"]),
        ("svix", "whsec_c2VjcmV0", r#"{"type":"a.b"}"#, &["--header=svix-id: m1"]),
        ("square", "s", r#"{"event_id":"e1","type":"a.b"}"#, &["--url=https://a.io/hooks"]),
        ("docusign", "s", r#"{"event":"e","generatedDateTime":"2023-01-20T21:27:33Z","data":{"envelopeId":"1"}}"#, &[]),
        ("chargebee", "user:password", r#"{"id":"e1","event_type":"a_b"}"#, &[]),
        ("linear", "s", linear, &["--header=linear-delivery: d1"]),
        ("adyen", "44AA", adyen, &[]),
    ] {
        std::fs::write(&file, body).unwrap();
        let of = |command: &str| {
            let own = [command, "--json", "--now=1700000000"].map(str::to_owned);
            let named =
                [format!("--provider={provider}"), format!("--secret={secret}"), format!("--body={}", file.display())];
            own.into_iter().chain(named).chain(more.iter().map(|&argument| argument.to_owned())).collect::<Vec<_>>()
        };
        let signed = run(&of("sign")).await.ok().json().remove(0);
        // Where the signature stands in the body, it is another body.
        std::fs::write(&file, signed["body"].as_str().unwrap()).unwrap();
        let mut verify = of("verify");
        verify.retain(|argument| !argument.starts_with("--header"));
        for (name, value) in signed["headers"].as_object().unwrap() {
            verify.push(format!("--header={name}: {}", value.as_str().unwrap()));
        }
        let verified = run(&verify).await.ok().json().remove(0);
        assert!(verified["valid"] == true && verified["events"].as_array().unwrap().len() == 1, "{provider}: {verified}");
    }
}

#[tokio::test]
async fn what_cannot_be_signed_is_told_in_a_sentence() {
    let cli = Cli::with(&[("WEBHOOK_SECRET", "s")]);
    for (arguments, told) in [
        ("--provider nobody", "hookledger providers"),
        ("--provider discord", "secret cannot be used"),
        ("--provider aws-sns --set topic_arn=arn:x", "only the provider can sign"),
        ("--provider square", "--url"),
        ("--provider svix", "secret cannot be used"),
        ("--provider mailgun", "not one that this provider sends"),
        ("--provider stripe --body /nowhere", "cannot read /nowhere"),
        ("--provider stripe --post http://hooks.example.com", "https://"),
    ] {
        let ran = cli.run(&format!("sign {arguments}")).await;
        assert!(ran.code == 2 && ran.err.contains(told) && ran.err.lines().count() == 1, "{arguments}: {ran:?}");
    }
    let unknown = Cli::with(&[]).run("sign --provider stripe").await;
    assert!(unknown.code == 2 && unknown.err.contains("WEBHOOK_SECRET"), "{unknown:?}");
}
