//! The README's example of a handler of one's own, as it is printed there: compiled, and run from the delivery to its row.
//! What is wrong in it does not compile here.

use hookledger_harness::{Emulator, sign, since_epoch};
use hookledger_providers::Sources;
use hookledger_runtime::{Env, SecretStore, Vault, now};
use serde_json::json;
use worker::Route;

use crate::ground::Ground;
use crate::receiver::{post, receiver};
use crate::worker::{batch_of, message};

mod invoice {
    include!(concat!(env!("OUT_DIR"), "/invoice.rs"));
}

const ROUTES: &[Route] = &[include!(concat!(env!("OUT_DIR"), "/route.rs"))];
const SOURCES: &str = include_str!(concat!(env!("OUT_DIR"), "/sources.toml"));
const TABLE: &str = include_str!(concat!(env!("OUT_DIR"), "/invoice.sql"));

const SECRET: &str = "whsec_of_the_readme";

fn body(id: &str, created_s: i64, status: &str) -> String {
    json!({
        "id": id, "object": "event", "type": format!("invoice.{status}"), "created": created_s, "livemode": false,
        "data": { "object": { "id": "in_1", "object": "invoice", "status": status } }
    })
    .to_string()
}

#[tokio::test]
async fn the_readme_s_handler_keeps_the_newest_state_of_an_invoice() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("own_handler").await;
    ground.run(TABLE).await;
    let env = Env::new(|name| (name == "STRIPE_WEBHOOK_SECRET").then(|| SECRET.into()));
    let mut receiver = receiver(&ground, &emulator).await;
    receiver.sources = Sources::parse(SOURCES).unwrap();
    receiver.secrets = SecretStore::load(&receiver.sources, &env, Vault::new(), 300, now()).await.unwrap();
    let mut worker = ground.worker(ROUTES);
    worker.sources = Sources::parse(SOURCES).unwrap();
    for (id, created_s, status) in [("evt_1", 1, "draft"), ("evt_3", 3, "paid"), ("evt_2", 2, "open"), ("evt_3", 3, "paid")]
    {
        let body = body(id, created_s, status);
        let signature = sign::stripe(SECRET, since_epoch().as_secs() as i64, body.as_bytes());
        let answer = post(&mut receiver, "/webhooks/billing", &[("stripe-signature", &signature)], &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let sent = message(id, &json!({ "source": "billing", "event_id": id }).to_string());
        assert!(worker.batch(batch_of(&[sent])).await.batch_item_failures.is_empty());
    }
    ground.check_read("SELECT id, status FROM invoice", "(in_1,paid)").await;
    let rows = "(evt_1,applied) (evt_2,stale) (evt_3,applied)";
    ground.check_read("SELECT event_id, outcome FROM webhook_event ORDER BY 1", rows).await;
}
