//! What functions write: never a body, a secret or a signature, whatever happens to them.

use hookledger_harness::deployment::{DeploymentOptions, STRIPE_SECRET};
use hookledger_harness::faults::{PostgresFault, SqsFault};
use hookledger_harness::lambda::api_gateway::{HttpRequest, deliver};
use hookledger_harness::subscription::SubscriptionEvent;

use super::scene::{Scene, event};

/// In a body and nowhere else.
const IN_THE_BODY: &str = "canary-of-the-body";
const TOKEN: &str = "canary-of-the-replay-token-0123456789";

#[tokio::test(flavor = "multi_thread")]
async fn no_body_no_secret_and_no_signature_is_in_what_the_functions_write() {
    for level in ["warn", "info"] {
        check(level).await;
    }
}

async fn check(level: &str) {
    let options = DeploymentOptions::default().variable("LOG_LEVEL", level).variable("REPLAY_TOKEN", TOKEN);
    let scene = Scene::with(&format!("silence_{level}"), options).await;
    let receiver = &scene.hookledger.receiver;
    let with = |id: &str| SubscriptionEvent { plan: IN_THE_BODY.to_owned(), ..event(id, "sub_1") };

    scene.accept(&with("evt_1")).await;
    assert_eq!(scene.deliver(&with("evt_1")).await.status, 200);
    scene.settle("evt_1").await;

    // Refused: another secret, a broken signature, a broken body, another token.
    let forged = with("evt_2").delivery("whsec_of_somebody_else");
    assert_eq!(deliver(receiver, &forged).await.status, 401);
    let json = ("Content-Type", "application/json");
    let broken = HttpRequest::post("/webhooks/stripe", &[json, ("Stripe-Signature", "canary-of-a-signature")], IN_THE_BODY);
    assert!((400..500).contains(&deliver(receiver, &broken).await.status));
    let nonsense = format!("{{{IN_THE_BODY}");
    let signature = hookledger_harness::sign::stripe(STRIPE_SECRET, now_s(), nonsense.as_bytes());
    let signed = HttpRequest::post("/webhooks/stripe", &[json, ("Stripe-Signature", &signature)], nonsense);
    assert_eq!(deliver(receiver, &signed).await.status, 400);
    let replay =
        HttpRequest::post("/webhooks/stripe", &[json, ("X-Replay-Token", "canary-of-a-token")], with("evt_3").body());
    assert_eq!(deliver(receiver, &replay).await.status, 401);

    // Failing: a handler whose statement fails and quotes the row, a queue and a database that are away, a death.
    scene.sql.batch_execute("ALTER TABLE subscription ADD CONSTRAINT unwanted CHECK (plan = 'x') NOT VALID").await.unwrap();
    scene.accept(&SubscriptionEvent { subscription: "sub_2".to_owned(), ..with("evt_4") }).await;
    scene.work_until("evt_4", "failed").await;
    let last_error: String = scene.ask("SELECT last_error FROM webhook_event WHERE event_id = $1", "evt_4").await;
    assert!(last_error.contains("\"unwanted\"") && !last_error.contains(IN_THE_BODY), "{last_error}");
    // Another one, whose message quotes a value that it cannot read.
    scene.sql.batch_execute("ALTER TABLE subscription DROP CONSTRAINT unwanted").await.unwrap();
    let cast =
        "CREATE FUNCTION cast_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM new.plan::int; RETURN new; END $$;
        CREATE TRIGGER cast_it BEFORE INSERT ON subscription FOR EACH ROW EXECUTE FUNCTION cast_it();";
    scene.sql.batch_execute(cast).await.unwrap();
    scene.accept(&SubscriptionEvent { subscription: "sub_3".to_owned(), ..with("evt_8") }).await;
    scene.work_until("evt_8", "failed").await;
    scene.hookledger.sqs.set(SqsFault::Refuse);
    scene.accept(&with("evt_5")).await;
    scene.hookledger.postgres.set(PostgresFault::Refuse);
    scene.hookledger.postgres.cut();
    assert_eq!(scene.deliver(&with("evt_6")).await.status, 503);
    scene.hookledger.sqs.set(SqsFault::None);
    scene.accept(&with("evt_7")).await;
    scene.hookledger.spill.poll(5).await.unwrap();
    scene.hookledger.sweeper.invoke("{}").await.unwrap();

    let written = scene.words();
    for word in ["rejected", "evt_4", "enqueue.error", "spilled"] {
        assert!(written.contains(word), "{word} was to happen:\n{written}");
    }
    for canary in [IN_THE_BODY, STRIPE_SECRET, TOKEN, "canary", "whsec_", "v1="] {
        let line = written.lines().find(|line| line.contains(canary));
        assert_eq!(line, None, "{canary} was written at {level}");
    }
    assert!(!written.contains(&signature), "a signature was written at {level}");
}

fn now_s() -> i64 {
    hookledger_harness::since_epoch().as_secs() as i64
}
