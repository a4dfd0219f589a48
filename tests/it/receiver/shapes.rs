use base64::Engine;
use hookledger_harness::Emulator;
use lambda_http::aws_lambda_events::alb::AlbTargetGroupResponse;
use lambda_http::aws_lambda_events::apigw::{ApiGatewayProxyResponse, ApiGatewayV2httpResponse};
use lambda_http::http::{HeaderMap, HeaderValue};
use lambda_http::request::from_str;
use lambda_http::{Body, Request, Response};
use receiver::{Form, GatewayEvent};
use serde_json::{Value, json};

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

/// What a handler sees of a request.
fn seen(request: &Request) -> (String, Option<String>, String, HeaderMap, Vec<u8>) {
    let (path, query) = (request.uri().path().to_owned(), request.uri().query().map(str::to_owned));
    (request.method().to_string(), query, path, request.headers().clone(), request.body().to_vec())
}

#[test]
fn an_event_is_read_as_lambda_http_reads_it_and_answered_in_its_own_form() {
    let changes: [(&str, Value); 17] = [
        ("as it is", json!({})),
        ("a text", json!({ "body": "{\"a\": \"\\u00e9\\n\"} é\n" })),
        ("no body", json!({ "body": null })),
        ("an empty body", json!({ "body": "", "isBase64Encoded": true })),
        ("bytes", json!({ "body": "/wBhYg==", "isBase64Encoded": true })),
        ("a query", json!({ "rawQueryString": "a=b%20c&a=d&e", "queryStringParameters": { "a": "b c,d" } })),
        ("a path with escapes", json!({ "rawPath": "/webhooks/str%C3%A9pe" })),
        ("a path that is none", json!({ "rawPath": "/webhooks/a b" })),
        ("a slash behind", json!({ "rawPath": "/webhooks/stripe/" })),
        ("cookies", json!({ "cookies": ["a=b", "c=d"] })),
        ("headers", json!({ "headers": { "X-One": "a,b; \"c\"", "host": "a.example", "empty": "" } })),
        ("escapes in the body", json!({ "body": "\u{1f600}\u{0}\\\"\t" })),
        ("a header that is none", json!({ "headers": { "x y": "a" } })),
        ("the same header in two cases", json!({ "headers": { "X-One": "a", "x-one": "b" } })),
        ("null for a flag", json!({ "isBase64Encoded": null })),
        ("no query", json!({ "rawQueryString": null })),
        ("other keys", json!({ "stageVariables": { "a": "b" }, "pathParameters": null, "unknown": [1, { "a": null }] })),
    ];
    for (shape, form) in
        [(HTTP_API, Form::HttpApi), (FUNCTION_URL, Form::HttpApi), (REST, Form::RestApi), (ALB, Form::LoadBalancer)]
    {
        for (what, change) in &changes {
            let mut event: Value = serde_json::from_str(shape).unwrap();
            event.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            for event in [event.to_string(), serde_json::to_string_pretty(&event).unwrap()] {
                let ours = GatewayEvent::read(event.as_bytes()).ok();
                let theirs = from_str(&event).ok();
                assert_eq!(ours.as_ref().map(|ours| seen(&ours.request)), theirs.as_ref().map(seen), "{what}: {event}");
                assert!(ours.is_none_or(|ours| ours.form == form), "{what}: {event}");
            }
        }
    }
}

#[test]
fn what_is_no_request_is_refused_and_not_guessed_at() {
    for (event, says) in [
        ("{}", "doesn't match"),
        ("[]", "doesn't match"),
        (r#"{"version":"2.0","rawPath":"/webhooks/stripe","headers":{}}"#, "doesn't match"),
        (r#"{"version":"2.0""#, "EOF"),
    ] {
        let error = GatewayEvent::read(event.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{event}: {error}");
    }
    assert!(GatewayEvent::read(b"\xff").unwrap_err().to_string().contains("UTF-8"));
}

#[test]
fn an_answer_has_every_key_that_its_form_has_at_aws_and_in_the_local_emulation() {
    let answer = |form: Form, body: Body| {
        let mut response = Response::new(body);
        response.headers_mut().insert("allow", HeaderValue::from_static("POST"));
        serde_json::to_string(&form.answer(response)).unwrap()
    };
    let text = || Body::Text("{\"a\":\"é\"}".into());
    let http: ApiGatewayV2httpResponse = serde_json::from_str(&answer(Form::HttpApi, text())).unwrap();
    assert_eq!(
        (http.status_code, &http.headers["allow"], http.body),
        (200, &HeaderValue::from_static("POST"), Some(text()))
    );
    assert!(http.multi_value_headers.is_empty() && http.cookies.is_empty() && !http.is_base64_encoded);
    let rest: ApiGatewayProxyResponse = serde_json::from_str(&answer(Form::RestApi, text())).unwrap();
    assert_eq!((&rest.multi_value_headers["allow"], rest.body), (&HeaderValue::from_static("POST"), Some(text())));
    assert!(rest.headers.is_empty());
    let alb: AlbTargetGroupResponse = serde_json::from_str(&answer(Form::LoadBalancer, Body::Empty)).unwrap();
    assert_eq!((alb.status_description.as_deref(), alb.body), (Some("200 OK"), None));
    assert_eq!(alb.headers, alb.multi_value_headers);
    let bytes = answer(Form::HttpApi, Body::Binary(vec![0xff, 0]));
    assert!(bytes.contains(r#""body":"/wA=","isBase64Encoded":true"#), "{bytes}");
}
