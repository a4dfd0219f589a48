use base64::Engine;
use hookledger_harness::Emulator;
use serde_json::json;

use super::delivery::{HTTP_API, hand_over, receiver, shaped, stripe_event, stripe_signature};
use crate::ground::Ground;

pub(super) const REST: &str = include_str!("events/rest_v1.json");
pub(super) const ALB: &str = include_str!("events/alb.json");
pub(super) const FUNCTION_URL: &str = include_str!("events/function_url.json");

#[tokio::test]
async fn every_way_to_a_lambda_leads_to_the_same_row() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("receiver_shapes").await;
    let mut receiver = receiver(&ground, &emulator).await;
    for (n, shape) in [HTTP_API, REST, ALB, FUNCTION_URL].into_iter().enumerate() {
        for (case, header) in ["stripe-signature", "Stripe-Signature", "STRIPE-SIGNATURE"].into_iter().enumerate() {
            let id = format!("evt_{n}_{case}");
            // A body as it stands, with what must not be touched: escapes, spaces, a final line feed.
            let body = stripe_event(&id) + " \n";
            let encoded = (case > 0).then(|| base64::engine::general_purpose::STANDARD.encode(&body));
            let event = shaped(shape, &[(header, &stripe_signature(&body))], &body, encoded);
            let answer = hand_over(&mut receiver, &event).await;
            answer.check(200, &json!({ "outcome": "accepted", "event_id": id }));
            let stored = format!("SELECT convert_from(body, 'UTF8') AS b FROM webhook_payload WHERE event_id = '{id}'");
            let row = ground.sql.query_typed(&stored, &[]).await.unwrap();
            assert_eq!(row[0].get::<_, String>(0), body);
        }
    }
    ground.check_read("SELECT status, via, count(*) FROM webhook_event GROUP BY 1, 2", "(claimed,webhook,12)").await;
}

#[tokio::test]
async fn a_stage_in_the_path_does_not_matter() {
    let emulator = Emulator::start().unwrap();
    let ground = Ground::new("receiver_stage").await;
    let mut receiver = receiver(&ground, &emulator).await;
    for (n, path) in ["/prod/webhooks/stripe", "/webhooks/stripe/", "/v1/hooks/webhooks/stripe"].into_iter().enumerate() {
        let body = stripe_event(&format!("evt_{n}"));
        let headers = [("stripe-signature", stripe_signature(&body))];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let answer = super::delivery::post(&mut receiver, path, &headers, &body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }
}
