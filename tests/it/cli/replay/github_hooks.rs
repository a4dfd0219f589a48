//! GitHub's other places for a webhook: an organisation, and an App, which signs in by a token that it signs itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hookledger_harness::since_epoch;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private, Public};
use openssl::rsa::Rsa;
use openssl::sign::Verifier;
use serde_json::{Value, json};

use super::canned::Canned;
use super::fake_stripe::five_minute_mark;
use super::front::{Front, TOKEN, emulator};
use super::outage::time;
use crate::cli::scene::Cli;

/// One delivery that failed, and its body.
fn with_a_failure(canned: Canned, deliveries: &str) -> Canned {
    let at = time(five_minute_mark() - 3_600);
    let listed = json!([{"id": 3, "guid": "guid-3", "delivered_at": at, "status": "timed out", "event": "issues", "action": "opened"}]);
    let issue = json!({"id": 3, "updated_at": at});
    let detail = json!({"id": 3, "request": {"headers": {}, "payload": {"action": "opened", "issue": issue}}});
    canned
        .answer(&format!("GET {deliveries}?per_page=100"), 200, listed)
        .answer(&format!("GET {deliveries}/3"), 200, detail)
        .answer(&format!("POST {deliveries}/3/attempts"), 202, "{}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_organisation_s_webhook_is_asked_for_where_there_are_several() {
    let mut front = Front::new("github_org").await;
    let hooks =
        json!([{"id": 7, "config": {"url": "https://h.test"}}, {"id": 8, "config": {"url": "https://other.test\u{1b}[2J"}}]);
    let canned = Canned::behind("authorization", "Bearer ghp_fake").answer("GET /orgs/octo/hooks?per_page=100", 200, hooks);
    let (github, api) = with_a_failure(canned, "/orgs/octo/hooks/8/deliveries").serve(&mut front.servers).await;
    let cli = front.cli().and("GITHUB_TOKEN", "ghp_fake");
    let replay = format!("replay github --org octo --since 2h --api {api} --rate 1000 --json");
    let several = cli.run(&format!("{replay} --yes")).await;
    assert!(
        several.code == 2 && several.err.contains("--hook with one of 7 (https://h.test), 8 (https://other"),
        "{several:?}"
    );
    assert!(!several.err.contains('\x1b'), "{several:?}");

    let again = cli.run(&format!("{replay} --hook 8 --yes")).await.ok();
    assert_eq!(again.json()[0]["new"], 1);
    assert_eq!(github.asked().last().unwrap(), "POST /orgs/octo/hooks/8/deliveries/3/attempts");
    assert_eq!(cli.run("replay github --org octo --app --since 2h").await.code, 2, "one place at a time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_signs_in_by_its_key_and_the_replay_token_comes_from_secrets_manager() {
    let mut front = Front::new("github_app").await;
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let public = PKey::public_key_from_pem(&key.public_key_to_pem().unwrap()).unwrap();
    let canned = Canned::admitting(move |request| {
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        token.is_some_and(|token| is_of_app(token, &public))
    });
    let (github, api) = with_a_failure(canned, "/app/hook/deliveries").serve(&mut front.servers).await;
    let emulator = emulator();
    let secret = json!({"Name": "github_app_replay_token", "SecretString": TOKEN});
    emulator.json("secretsmanager", "1.1", "secretsmanager.CreateSecret", &secret).await.unwrap();
    let variables = [
        ("REPLAY_TOKEN_SECRET_ARN", "github_app_replay_token"),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", &emulator.endpoint()),
        ("GITHUB_APP_ID", "Iv1.fake"),
    ];
    let cli = hookledger_harness::Emulator::CREDENTIALS
        .iter()
        .fold(Cli::with(&variables), |cli, (name, value)| cli.and(name, *value));
    let pem = String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    let replay = format!("replay github --app --since 2h --api {api} --rate 1000 --json --checkpoint {}", front.path("c"));

    let unsigned = cli.run(&replay).await;
    assert!(unsigned.code == 2 && unsigned.err.contains("GITHUB_APP_PRIVATE_KEY is not set"), "{unsigned:?}");
    let cli = cli.and("GITHUB_APP_PRIVATE_KEY", &pem);
    let again = cli.run(&format!("{replay} --yes")).await.ok();
    assert_eq!(
        (again.json()[0]["new"].as_u64(), github.asked().last().unwrap().as_str()),
        (Some(1), "POST /app/hook/deliveries/3/attempts")
    );

    let file = front.path("key.pem");
    std::fs::write(&file, other_key(&key)).unwrap();
    let direct = format!("{replay} --direct --to {}", front.url);
    let refused = cli_with_key(&cli, &file).run(&direct).await;
    assert!(refused.code == 1 && refused.err.contains("401 Unauthorized"), "{refused:?}");
    std::fs::write(&file, &pem).unwrap();
    assert_eq!(cli_with_key(&cli, &file).run(&direct).await.ok().json()[0]["new"], 1);
    assert_eq!(front.count("source = 'github' AND via = 'replay'").await, 1);
}

/// Later variables win.
fn cli_with_key(cli: &Cli, file: &str) -> Cli {
    let variables: Vec<(&str, &str)> = cli.variables().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    Cli::with(&variables).and("GITHUB_APP_PRIVATE_KEY", file)
}

fn other_key(than: &PKey<Private>) -> Vec<u8> {
    let other = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    assert!(!other.public_eq(than));
    other.private_key_to_pem_pkcs8().unwrap()
}

/// As docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app wants it.
fn is_of_app(token: &str, key: &PKey<Public>) -> bool {
    let (message, signature) = token.rsplit_once('.').unwrap();
    let mut verifier = Verifier::new(MessageDigest::sha256(), key).unwrap();
    let signed = verifier.verify_oneshot(&URL_SAFE_NO_PAD.decode(signature).unwrap(), message.as_bytes()).unwrap();
    let parts: Vec<Value> =
        message.split('.').map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()).collect();
    let (now, claims) = (i64::try_from(since_epoch().as_secs()).unwrap(), &parts[1]);
    let (issued, ends) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
    signed && parts[0]["alg"] == "RS256" && claims["iss"] == "Iv1.fake" && issued < now && now < ends && ends - now <= 600
}
