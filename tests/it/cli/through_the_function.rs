//! The same commands by way of the operator function, and what only a stack has: secrets and metrics in AWS.

use hookledger_harness::deployment::STRIPE_SECRET;
use serde_json::json;

use super::replay::front::{Front, emulator};
use super::scene::Cli;
use super::stack::Stack;
use crate::ground::{Ground, event};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stack_s_operator_function_runs_the_same_commands() {
    let mut ground = Ground::new("cli_function").await;
    ground.dead_letter("evt_1", "boom").await;
    let stack = Stack::start(&ground.url).await;
    let (cli, here) = (stack.cli(), Cli::on(&ground));
    for question in ["events list --json", "events show evt_1 --json", "events stats --by-type --json"] {
        let there = cli.run(&format!("--stack hooks {question}")).await.ok();
        assert_eq!(there.out, here.run(question).await.ok().out, "{question}");
    }
    let done = cli.run("--stack hooks events retry evt_1 --yes").await.ok();
    assert!(done.out.contains("1 event re-armed"), "{done:?}");
    ground.check_read("SELECT detail FROM webhook_audit", r#"("asked for by alice (was dead_letter)")"#).await;
    assert!(!stack.function.output().contains("evt_1"), "the record repeats what was asked: {}", stack.function.output());

    let other = cli.run("--stack other events list").await;
    assert_eq!(other.code, 1);
    assert!(other.err.contains("no such function for you"), "{other:?}");
    assert_eq!(cli.run("--stack hooks migrate").await.code, 2);
    let nobody = [
        ("AWS_ENDPOINT_URL_LAMBDA", stack.endpoint.as_str()),
        ("AWS_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("HOME", "/nowhere"),
    ];
    assert!(Cli::with(&nobody).run("--stack hooks events list").await.err.contains("AWS_PROFILE"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_are_counted_by_the_stack_s_metrics() {
    let mut ground = Ground::new("cli_duplicates").await;
    ground.claim_all(&[event("evt_1"), event("evt_2"), event("evt_3")]).await;
    let (stack, emulator) = (Stack::start(&ground.url).await, emulator());
    let cli = stack.cli().and("AWS_ENDPOINT_URL_CLOUDWATCH", emulator.endpoint());
    let put = async |deployment: &str, function: &str, value: u32| {
        let dimensions = [("deployment", deployment), ("function", function), ("source", "stripe")]
            .map(|(name, value)| json!({"Name": name, "Value": value}));
        let datum = json!({"MetricName": "duplicate", "Dimensions": dimensions, "Value": value, "Unit": "Count"});
        let request = json!({"Namespace": "hookledger", "MetricData": [datum]});
        emulator.json("monitoring", "1.0", "GraniteServiceVersion20100801.PutMetricData", &request).await.unwrap();
    };
    for (deployment, function, value) in
        [("hooks", "receiver", 4), ("hooks", "receiver", 5), ("hooks", "worker", 100), ("others", "receiver", 1_000)]
    {
        put(deployment, function, value).await;
    }
    let stats = cli.run("--stack hooks events stats --json").await.ok();
    let row = &stats.json()[0];
    assert_eq!(
        (&row["accepted"], &row["duplicates"], &row["duplicate_rate"]),
        (&3.into(), &9.into(), &0.75.into()),
        "{stats:?}"
    );
    let shown = cli.run("--stack hooks events stats").await.ok();
    assert!(shown.out.contains("DUPLICATES") && shown.out.contains("75.0 %") && shown.err.is_empty(), "{shown:?}");

    // Who may not read the metrics sees the rest.
    let closed =
        stack.cli().and("AWS_ENDPOINT_URL_CLOUDWATCH", &stack.endpoint).run("--stack hooks events stats").await.ok();
    assert!(closed.err.contains("duplicates are not shown") && closed.out.contains("stripe"), "{closed:?}");
    let here = Cli::on(&ground).run("events stats").await.ok();
    assert!(here.err.contains("the metric `duplicate`") && !here.out.contains("DUPLICATES"), "{here:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_sends_events_signed_with_a_stack_s_secrets_and_follows_them_through_its_function() {
    let front = Front::new("doctor_stack").await;
    let stack = Stack::start(&front.hookledger.database_url).await;
    let (emulator, sources) = (emulator(), front.path("of_the_stack.toml"));
    let secret = json!({"Name": "doctor_stack", "SecretString": json!({"stripe": STRIPE_SECRET}).to_string()});
    emulator.json("secretsmanager", "1.1", "secretsmanager.CreateSecret", &secret).await.unwrap();
    std::fs::write(&sources, "[stripe]\nprovider = \"stripe\"\nsecrets = [\"secretsmanager:doctor_stack#stripe\"]\n")
        .unwrap();
    let cli = stack.cli().and("SOURCES_FILE", &sources).and("AWS_ENDPOINT_URL_SECRETS_MANAGER", emulator.endpoint());
    let doctor = format!("--stack hooks doctor --to {} --send --yes", front.url);
    let working = async {
        loop {
            front.hookledger.events.poll(1).await.unwrap();
        }
    };
    let seen = tokio::select! {
        seen = async { cli.run(&doctor).await } => seen,
        () = working => unreachable!("it polls for ever"),
    };
    for told in ["ok     database", "ok     test event of stripe accepted, and settled as ignored", "?      secrets"] {
        assert!(seen.out.contains(told), "{told} in {seen:?}");
    }
    assert!(!seen.out.contains(STRIPE_SECRET), "{seen:?}");
    assert_eq!(front.count("source = 'stripe' AND via = 'webhook' AND status = 'settled'").await, 1);
}
