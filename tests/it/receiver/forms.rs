//! The built receiver, handed what each way to a Lambda hands over, answers every status in that way's own form.

use hookledger_harness::deployment::STRIPE_SECRET;
use hookledger_harness::faults::{PostgresFault, SqsFault};
use hookledger_harness::{sign, since_epoch};
use serde_json::{Value, json};

use super::delivery::{HTTP_API, shaped, stripe_event};
use super::shapes::{ALB, FUNCTION_URL, REST};
use crate::faults::Scene;

/// A load balancer whose target group has multi-value headers on, as AWS documents it: `headers` is not there at all.
fn alb_with_multi_value_headers() -> String {
    let mut event: Value = serde_json::from_str(ALB).unwrap();
    let headers = event.as_object_mut().unwrap().remove("headers").unwrap();
    for (name, value) in headers.as_object().unwrap() {
        event["multiValueHeaders"][name] = json!([value]);
    }
    event.to_string()
}

/// An event of `shape` with this method and path, wherever it has them.
fn event(shape: &str, method: &str, path: &str, signature: &str, body: &str) -> String {
    let mut event = shaped(shape, &[("Stripe-Signature", signature)], body, None);
    if event["version"] == "2.0" {
        event["rawPath"] = json!(path);
        event["requestContext"]["http"]["path"] = json!(path);
        event["requestContext"]["http"]["method"] = json!(method);
    } else {
        event["path"] = json!(path);
        event["httpMethod"] = json!(method);
    }
    event.to_string()
}

/// What the way makes of the receiver's answer: its status, a header and its body. It is in the form that is documented for `way`.
#[track_caller]
fn opened(way: &str, answer: &str) -> (u64, String, Value) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let status = answer["statusCode"].as_u64().unwrap();
    let (single, multiple) = (&answer["headers"]["content-type"], &answer["multiValueHeaders"]["content-type"][0]);
    // API Gateway's REST APIs would send what stands in both twice; a load balancer reads one or the other, as it is set.
    let (has_single, has_multiple) = match way {
        "rest" => (false, true),
        "alb" | "alb_multi" => (true, true),
        _ => (true, false),
    };
    assert_eq!((single.is_string(), multiple.is_string()), (has_single, has_multiple), "{way}: {answer}");
    if way.starts_with("alb") {
        assert!(answer["statusDescription"].as_str().unwrap().starts_with(&format!("{status} ")), "{answer}");
    }
    assert_eq!(answer["isBase64Encoded"], json!(false));
    let content_type = if has_single { single } else { multiple };
    let body = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    (status, content_type.as_str().unwrap().to_owned(), body)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_built_receiver_gives_every_answer_in_the_form_of_the_way_that_led_to_it() {
    let scene = Scene::new("forms").await;
    let alb_multi = alb_with_multi_value_headers();
    let ways =
        [("http_api", HTTP_API), ("function_url", FUNCTION_URL), ("rest", REST), ("alb", ALB), ("alb_multi", &alb_multi)];
    for (way, shape) in ways {
        let ask = async |method: &str, path: &str, signature: &str, body: &str| {
            let answer = scene.hookledger.receiver.invoke(event(shape, method, path, signature, body)).await.unwrap();
            let (status, content_type, body) = opened(way, &answer.payload);
            assert_eq!(content_type, "application/json");
            (status, body)
        };
        let signed = |body: &str| sign::stripe(STRIPE_SECRET, since_epoch().as_secs() as i64, body.as_bytes());
        let (id, path) = (format!("evt_{way}"), "/webhooks/stripe");
        let body = stripe_event(&id);
        let outcome = |outcome: &str| json!({ "outcome": outcome, "event_id": id });
        let error = |error: &str| json!({ "error": error });

        assert_eq!(ask("POST", path, &signed(&body), &body).await, (200, outcome("accepted")), "{way}");
        assert_eq!(ask("POST", path, &signed(&body), &body).await, (200, outcome("duplicate")), "{way}");
        assert_eq!(ask("GET", "/health", "", "").await, (200, json!({ "status": "ok" })), "{way}");
        let (no_id, large) = (r#"{"type":"customer.created"}"#, " ".repeat(1 << 20) + &body);
        for (method, path, signature, body, status, says) in [
            ("POST", path, signed(no_id), no_id, 400, "the event has no id"),
            ("POST", path, signed(no_id), &body, 401, "the signature is missing, wrong or too old"),
            (
                "POST",
                "/webhooks/other",
                signed(&body),
                &body,
                404,
                "no webhook source of this name; POST to /webhooks/{source}",
            ),
            ("GET", path, signed(&body), &body, 405, "webhooks are delivered with POST"),
            ("POST", path, signed(&large), &large, 413, "the body is larger than this source accepts"),
        ] {
            assert_eq!(ask(method, path, &signature, body).await, (status, error(says)), "{way}");
        }
        scene.hookledger.postgres.set(PostgresFault::Refuse);
        scene.hookledger.postgres.cut();
        scene.hookledger.sqs.set(SqsFault::Refuse);
        let away = stripe_event(&format!("{id}_away"));
        let unavailable = error("the event could not be stored; deliver it again");
        assert_eq!(ask("POST", path, &signed(&away), &away).await, (503, unavailable), "{way}");
        scene.hookledger.postgres.set(PostgresFault::None);
        scene.hookledger.sqs.set(SqsFault::None);
    }
    let rows: i64 = scene.ask("SELECT count(*) FROM webhook_event WHERE $1 = ''", "").await;
    assert_eq!(rows, 5, "one of each way");
}
