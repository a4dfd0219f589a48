//! Trying a deployment out: the doctor, and deliveries that are signed by hand.

use hookledger_harness::deployment::STRIPE_SECRET;

use super::replay::front::Front;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_says_what_is_right_and_how_to_mend_the_rest() {
    let front = Front::new("doctor").await;
    let emulator: Vec<(String, String)> =
        hookledger_harness::Emulator::CREDENTIALS.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let mut cli = front
        .cli()
        .and("QUEUE_URL", &front.hookledger.queue_url)
        .and("AWS_ENDPOINT_URL", front.hookledger.sqs.endpoint())
        .and("STRIPE_WEBHOOK_SECRET", "sk_live_0123456789abcdef")
        .and("WEBHOOK_SECRET", "a secret that no test signs with");
    for (name, value) in emulator {
        cli = cli.and(&name, value);
    }
    let seen = cli.run(&format!("doctor --to {}", front.url)).await;
    assert_eq!(seen.code, 4, "{seen:?}");
    for (mark, subject, told) in [
        ("ok", "database", "Postgres"),
        ("note", "database TLS", "this machine only"),
        ("ok", "clocks", "within 5 s"),
        ("ok", "migrations", "all of this version"),
        ("ok", "payload partitions", "has one"),
        ("ok", "backlog", "none"),
        ("ok", "dead letters", "none"),
        ("ok", "queue", "0 messages wait"),
        // The harness's queue is impatient, so that crashes are made up for sooner.
        ("WRONG", "queue visibility", "1 s: it must be 180 s or more"),
        ("note", "queue redrive", "no dead-letter queue"),
        ("WRONG", "secret of stripe", "API key"),
        ("ok", "secret of github", "env:WEBHOOK_SECRET"),
        ("ok", "replay token", "set"),
        ("ok", "receiver", "it answers"),
        ("ok", "receiver for stripe", "refuses what is not signed"),
    ] {
        let line = seen.out.lines().find(|line| line.get(7..).is_some_and(|l| l.starts_with(&format!("{subject:<20} "))));
        let line = line.unwrap_or_else(|| panic!("{subject} in {seen:?}"));
        assert!(line.starts_with(mark) && line.contains(told), "{mark} {told}: {line}");
    }
    assert!(!seen.out.contains("sk_live"), "{seen:?}");

    let empty = hookledger_harness::Postgres::shared().unwrap().database("cli_doctor_empty").unwrap();
    let seen = super::scene::Cli::with(&[("DATABASE_URL", &empty), ("DATABASE_TLS", "disable")]).run("doctor").await;
    assert!(seen.out.contains("WRONG  migrations           V1__ledger, V2"), "{seen:?}");
    let away = super::scene::Cli::with(&[("DATABASE_URL", "postgres://a@127.0.0.1:1/b"), ("DATABASE_TLS", "disable")]);
    assert!(away.run("doctor").await.out.contains("is it running"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_was_signed_by_hand_is_taken() {
    let front = Front::new("sign").await;
    let file = front.path("it's a body.json");
    let body = |id: &str| std::fs::write(&file, format!(r#"{{"id":"{id}","object":"event","type":"a.b","created":1}}"#));
    let sign = async |more: &[&str]| {
        let cli = front.cli().and("WEBHOOK_SECRET", STRIPE_SECRET);
        let mut command = cli.command("sign --provider stripe --body");
        command.arg(&file).args(more).output().await.unwrap()
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let url = format!("{}/webhooks/stripe", front.url);

    body("evt_curl").unwrap();
    let curl = text(&sign(&[]).await.stdout);
    assert!(
        curl.starts_with("curl -i 'https://hooks.example.com/webhooks/stripe'") && !curl.contains(STRIPE_SECRET),
        "{curl}"
    );
    let curl = curl.replace("https://hooks.example.com/webhooks/stripe", &url);
    let ran = tokio::process::Command::new("sh").args(["-c", &curl]).output().await.unwrap();
    assert!(text(&ran.stdout).contains(r#""outcome":"accepted""#), "{ran:?}");

    body("evt_post").unwrap();
    let posted = sign(&["--post", &url]).await;
    assert!(posted.status.success() && text(&posted.stdout).starts_with("200 OK"), "{posted:?}");
    let refused = sign(&["--post", &url, "--secret", "whsec_of_another_endpoint", "--json"]).await;
    assert!(refused.status.code() == Some(1) && text(&refused.stdout).contains(r#""status":401"#), "{refused:?}");
    assert_eq!(front.count("event_id IN ('evt_curl', 'evt_post') AND via = 'webhook'").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_sends_an_event_and_sees_what_becomes_of_it() {
    let front = Front::new("doctor_send").await;
    let cli =
        || front.cli().and("STRIPE_WEBHOOK_SECRET", STRIPE_SECRET).and("WEBHOOK_SECRET", "a secret that no test signs with");
    let doctor = format!("doctor --to {} --send", front.url);
    let line = |seen: &super::scene::Ran, source: &str| {
        let subject = format!("test event of {source} ");
        seen.out.lines().find(|line| line.contains(&subject)).unwrap_or_else(|| panic!("{subject} in {seen:?}")).to_owned()
    };

    let unasked = cli().run(&doctor).await;
    assert!(unasked.code == 2 && unasked.err.contains("--yes") && front.count("true").await == 0, "{unasked:?}");
    assert_eq!(cli().run("doctor --send --yes").await.code, 2, "to nobody");

    let elsewhere =
        cli().and("STRIPE_WEBHOOK_SECRET", "whsec_of_another_endpoint").run(&format!("{doctor} --yes --within 0")).await;
    let refused = line(&elsewhere, "stripe");
    assert!(refused.starts_with("WRONG") && refused.contains("another secret"), "{refused}");
    let waiting = line(&elsewhere, "github");
    assert!(waiting.starts_with("WRONG") && waiting.contains("is the worker running"), "nothing polls the queue: {waiting}");
    assert_eq!(front.count("source = 'stripe'").await, 0);

    let working = async {
        loop {
            front.hookledger.events.poll(1).await.unwrap();
        }
    };
    let command = format!("{doctor} --yes");
    let seen = tokio::select! {
        seen = async { cli().run(&command).await } => seen,
        () = working => unreachable!("it polls for ever"),
    };
    for source in ["stripe", "github", "paddle", "shopify"] {
        let told = line(&seen, source);
        assert!(told.starts_with("ok") && told.contains("settled as ignored"), "{told}");
        let settled = format!("source = '{source}' AND via = 'webhook' AND status = 'settled' AND outcome = 'ignored'");
        assert!(front.count(&settled).await >= 1, "{source}");
    }
    assert!(!seen.out.contains(STRIPE_SECRET), "{seen:?}");
}
