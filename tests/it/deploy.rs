//! The templates deployed onto the AWS emulator, with the functions' IAM roles enforced: real functions, a real database that
//! is reached by TLS, and deliveries through the API. `cargo xtask deploy-local` runs the first test and shows what it prints.

mod account;
mod delivery;
mod next_release;
mod readme;

use std::fs;
use std::process::Command;

use anyhow::ensure;
use hookledger_harness::{Emulator, built, root, venv};

use account::Account;

#[tokio::test(flavor = "multi_thread")]
async fn a_deployed_stack_takes_signed_events_to_their_effects() {
    let account = Account::new().await.unwrap();
    let application = account::application("1").unwrap();
    let token = "a token of the deployment, long enough";
    let replay = account::secret(&account.emulator, "hookledger/replay", token).await.unwrap();
    let replay = [("ReplayTokenSecretArn", replay.as_str())];
    let stack = account.deploy("hookledger", &application, &replay).await.unwrap();
    assert_eq!((stack.status.as_str(), stack.failures.as_slice()), ("CREATE_COMPLETE", &[][..]));
    println!("deployed by sam: {}", stack.outputs["WebhookUrl"]);

    for delivery in delivery::five() {
        // Not every provider wants to be told what became of it, so the ledger is asked.
        let of_source = format!("source = '{}'", delivery.source);
        for time in ["first", "second"] {
            let (status, answer) = account.deliver(&stack, &delivery).await.unwrap();
            assert_eq!(status, 200, "{} {time}: {answer}\n{}", delivery.source, account.emulator.last_words());
            assert_eq!(account.settled(&of_source).await.unwrap(), delivery.outcome);
        }
        assert_eq!(account.count(&format!("webhook_event WHERE {of_source}")).await, 1);
        println!("{}: delivered twice, {} once", delivery.source, delivery.outcome);
    }
    assert_eq!(account.count("subscription WHERE subscription_id = 'sub_of_evt_deployed' AND plan = 'price_gold'").await, 1);
    assert_eq!(account.count("webhook_event WHERE status = 'settled'").await, 5);
    let records = account.records("hookledger-receiver").await.unwrap();
    let ours = records.iter().filter(|record| record["accepted"] == 1 && record["deployment"] == "hookledger");
    assert_eq!(ours.count(), 5, "{records:#?}");

    assert_eq!(account.replay(&stack, &delivery::stripe("evt_replayed"), "another token").await.unwrap(), 401);
    assert_eq!(account.replay(&stack, &delivery::stripe("evt_replayed"), token).await.unwrap(), 200);
    assert_eq!(account.count("webhook_event WHERE event_id = 'evt_replayed' AND via = 'replay'").await, 1);
    assert_eq!(account.settled("event_id = 'evt_replayed'").await.unwrap(), "applied");
    println!("a replay with the token: accepted, applied; with another: refused");

    let denied = account.deploy("denied", &application, &[("SourceSecretArns", "")]).await.unwrap();
    assert_eq!(denied.status, "CREATE_COMPLETE");
    let (status, _) = account.deliver(&denied, &delivery::stripe("evt_denied")).await.unwrap();
    assert!(status >= 500, "{status}");
    assert_eq!(account.count("webhook_event WHERE event_id = 'evt_denied'").await, 0);
    println!("a stack whose role may not read the sources' secrets answers {status}");

    // From now on receiver and worker have no password, and a role that cannot change tables.
    let iam = [("DatabaseAuth", "iam"), ("DatabaseUrl", account.iam_url.as_str()), ("DatabaseResourceId", "cluster-LOCAL")];
    let stack = account.deploy("hookledger", &application, &iam).await.unwrap();
    assert_eq!((stack.status.as_str(), stack.failures.as_slice()), ("UPDATE_COMPLETE", &[][..]));
    account.sees_applied(&stack, "evt_by_iam").await;
    assert!(account.count("pg_stat_activity WHERE usename = 'hookledger_app'").await >= 2);
    println!("updated: functions that prove themselves by IAM accept, applied");

    next_release::updates(&account, &iam).await;

    cargo_lambda_deploy(&account.emulator, "receiver").unwrap();
    account.sees_applied(&stack, "evt_after").await;
    println!("the receiver alone is replaced by cargo lambda deploy, and accepts");

    let bury = "UPDATE webhook_event SET status = 'dead_letter', outcome = NULL WHERE event_id = 'evt_after'";
    account.database.batch_execute(bury).await.unwrap();
    retry_through_the_stack(&account.emulator, "evt_after").unwrap();
    account.settled("event_id = 'evt_after'").await.unwrap();
    println!("a dead letter is asked for again through the operator function, settled");

    account.emulator.delete_stack("hookledger").await.unwrap();
    assert_eq!(account.count("webhook_event").await, 10, "the data outlives the stack");
    println!("taken down; the ledger is as it was");
}

/// As a person does who may invoke the operator function and has no way to the database.
fn retry_through_the_stack(emulator: &Emulator, event_id: &str) -> anyhow::Result<()> {
    let mut retry = Command::new(built("hookledger")?);
    retry.args(["--stack", "hookledger", "--yes", "events", "retry", event_id]).env("AWS_ENDPOINT_URL", emulator.endpoint());
    let output = retry.envs(Emulator::CREDENTIALS).output()?;
    ensure!(output.status.success(), "hookledger events retry: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Puts one function in place without the stack, as in daily work.
fn cargo_lambda_deploy(emulator: &Emulator, function: &str) -> anyhow::Result<()> {
    let mut deploy = Command::new(venv()?.program("cargo-lambda"));
    deploy.args(["lambda", "deploy", &format!("hookledger-{function}"), "--endpoint-url", &emulator.endpoint()]);
    deploy.arg("--binary-path").arg(built(function)?);
    let output = deploy.envs(Emulator::CREDENTIALS).current_dir(root()).output()?;
    ensure!(output.status.success(), "cargo lambda deploy: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_fails_takes_the_deployment_back_and_says_why() {
    let account = Account::new().await.unwrap();
    let nowhere =
        account::secret(&account.emulator, "hookledger/nowhere", "postgres://nobody:hunter2@localhost/nothing?port=1&x=y");
    let application = account::application("1").unwrap();
    let changes = [("DatabaseSecretArn", nowhere.await.unwrap())];
    let changes: Vec<_> = changes.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let stack = account.deploy("hookledger", &application, &changes).await.unwrap();
    assert_eq!(stack.status, "ROLLBACK_COMPLETE");
    let failure = stack.failures.iter().find(|failure| failure.starts_with("Migrations: ")).unwrap();
    assert!(failure.contains("the database URL is not of the form"), "{failure}");
    assert!(!failure.contains("hunter2"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_network_and_database_of_our_own_are_made() {
    let emulator = Emulator::start().unwrap();
    // The emulator keeps no password for a cluster; all else is as it stands.
    let password = account::secret(&emulator, "rds!cluster", r#"{"username":"hookledger","password":"x"}"#).await.unwrap();
    let template = fs::read_to_string(root().join("infra/database.yaml")).unwrap();
    let template = template.replace("!GetAtt Cluster.MasterUserSecret.SecretArn", &password);
    let parameters = [
        ("MinCapacity", "0.5"),
        ("MaxCapacity", "2"),
        ("MaxConnections", "100"),
        ("HighAvailability", "true"),
        // The emulator has neither RDS Proxy nor flow logs.
        ("UseProxy", "false"),
        ("FlowLogs", "false"),
        ("LogRetentionDays", "30"),
        ("BackupRetentionDays", "14"),
        ("DeletionProtection", "true"),
        ("LogsEndpoint", "true"),
    ];
    let stack = emulator.put_stack("database", &template, &parameters).await.unwrap();
    assert_eq!((stack.status.as_str(), stack.failures.as_slice()), ("CREATE_COMPLETE", &[][..]));
    assert_eq!(stack.outputs["SubnetIds"].split(',').count(), 2);
    assert!(stack.outputs["Host"].ends_with(".rds.amazonaws.com"), "{}", stack.outputs["Host"]);
    assert_eq!(stack.outputs["Host"], stack.outputs["DirectHost"]);
}
