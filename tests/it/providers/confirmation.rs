//! A subscription to a topic of Amazon SNS: confirmed once, by the worker, at the address that was made of what SNS signed.

use hookledger_providers::Sources;
use worker::Worker;
use worker::handlers::ROUTES;

use super::host::{Hosts, Reply};
use super::keys::Published;
use super::scene::Scene;
use super::sns::{HOST, SOURCES, confirmation};

/// The message of a claimed confirmation, and a worker that takes it.
async fn claimed(name: &str) -> (Scene, Hosts, Worker) {
    let key = Published::new();
    let hosts = Hosts::start(&[HOST, "elsewhere.test"], Reply::Body(key.certificate())).await;
    let mut scene = Scene::with(name, SOURCES, "", hosts.https()).await;
    let body = confirmation(&key, "m1");
    scene.post("sns", &[], &body).await.check_outcome("accepted", 1);
    scene.post("sns", &[], &body).await.check_outcome("duplicate", 1);
    let forged = confirmation(&Published::new(), "m2");
    assert_eq!(scene.post("sns", &[], &forged).await.status, 401);
    hosts.asked();
    let worker = Worker { sources: Sources::parse(SOURCES).unwrap(), https: hosts.https(), ..scene.ground.worker(ROUTES) };
    (scene, hosts, worker)
}

async fn work(worker: &mut Worker) -> usize {
    let message = crate::worker::message("m", r#"{"source":"sns","event_id":"m1"}"#);
    worker.batch(crate::worker::batch_of(&[message])).await.batch_item_failures.len()
}

const ROW: &str = "SELECT event_id, event_type, status, outcome, attempts FROM webhook_event";

#[tokio::test]
async fn a_subscription_is_confirmed_once_and_not_where_the_message_says() {
    let (scene, hosts, mut worker) = claimed("confirmation_once").await;
    hosts.reply(Reply::Body(b"<ConfirmSubscriptionResponse/>".to_vec()));
    for _ in 0..2 {
        assert_eq!(work(&mut worker).await, 0);
    }
    let topic = "arn%3Aaws%3Asns%3Aus-west-2%3A123456789012%3Aours";
    let confirm = format!("GET {HOST}/?Action=ConfirmSubscription&TopicArn={topic}&Token=a+token%26more");
    assert_eq!(hosts.asked(), [format!("CONNECT {HOST}:443"), confirm]);
    scene.ground.check_read(ROW, "(m1,SubscriptionConfirmation,settled,applied,1)").await;
}

#[tokio::test]
async fn a_confirmation_that_sns_cannot_take_now_is_tried_again() {
    let (scene, hosts, mut worker) = claimed("confirmation_again").await;
    hosts.reply(Reply::Status(503));
    assert_eq!(work(&mut worker).await, 1);
    scene.ground.check_read(ROW, "(m1,SubscriptionConfirmation,failed,,1)").await;
    let error = scene.ground.read("SELECT last_error FROM webhook_event").await;
    assert!(error.contains(HOST) && !error.contains("token"), "{error}");
    scene.ground.run("UPDATE webhook_event SET next_attempt_at = clock_timestamp()").await;
    hosts.reply(Reply::Body(Vec::new()));
    assert_eq!(work(&mut worker).await, 0);
    scene.ground.check_read(ROW, "(m1,SubscriptionConfirmation,settled,applied,2)").await;
}

#[tokio::test]
async fn a_confirmation_that_sns_refuses_is_a_dead_letter_that_somebody_sees() {
    for (name, reply) in [
        ("confirmation_expired", Reply::Status(400)),
        ("confirmation_redirected", Reply::Redirect("https://elsewhere.test/")),
    ] {
        let (scene, hosts, mut worker) = claimed(name).await;
        hosts.reply(reply);
        assert_eq!(work(&mut worker).await, 0);
        assert_eq!(hosts.asked().len(), 2, "one connection, one request");
        scene.ground.check_read(ROW, "(m1,SubscriptionConfirmation,dead_letter,,1)").await;
    }
}
