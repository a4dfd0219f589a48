//! Deliveries that carry several events: a row for each, and each known again, in whatever company it comes back.

use hookledger_runtime::Https;
use serde_json::{Value, json};

use super::keys::P256;
use super::scene::Scene;

/// Delivers the first two of three events, then all three.
async fn deliver(scene: &mut Scene, source: &str, whole: impl Fn(&[Value]) -> Value, events: [Value; 3]) {
    scene.deliver(source, &[], &whole(&events[..2]).to_string()).await.check_outcome("accepted", 2);
    scene.deliver(source, &[], &whole(&events[..2]).to_string()).await.check_outcome("duplicate", 2);
    scene.deliver(source, &[], &whole(&events).to_string()).await.check_outcome("accepted", 3);
}

#[tokio::test]
async fn hubspot_quickbooks_and_meta_come_in_arrays() {
    let sources = r#"
[hubspot]
provider = "hubspot"
secrets = ["env:S"]
public_url = "https://hooks.example.com/webhooks/hubspot"

[quickbooks]
provider = "quickbooks"
secrets = ["env:S"]

[older]
provider = "quickbooks"
secrets = ["env:S"]

[meta]
provider = "meta"
secrets = ["env:S"]
verify_token_sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
"#;
    let mut scene = Scene::new("batches", sources).await;
    let array = |events: &[Value]| json!(events);
    let hubspot = |id: u64| json!({ "eventId": id, "subscriptionId": 1, "occurredAt": 1_700_000_000_000_u64, "portalId": 2, "objectId": 3, "subscriptionType": "contact.creation" });
    deliver(&mut scene, "hubspot", array, [hubspot(1), hubspot(2), hubspot(3)]).await;
    let quickbooks = |id: &str| json!({ "specversion": "1.0", "id": id, "type": "qbo.customer.created.v1", "time": "2026-03-12T19:03:58Z", "intuitentityid": "1", "intuitaccountid": "2" });
    deliver(&mut scene, "quickbooks", array, [quickbooks("a"), quickbooks("b"), quickbooks("c")]).await;
    let older =
        |id: &str| json!({ "name": "Customer", "id": id, "operation": "Update", "lastUpdated": "2026-03-12T19:03:58-0700" });
    let notification = |entities: &[Value]| json!({ "eventNotifications": [{ "realmId": "2", "dataChangeEvent": { "entities": entities } }] });
    deliver(&mut scene, "older", notification, [older("1"), older("2"), older("3")]).await;
    let message = |id: &str| json!({ "from": "1", "id": id, "timestamp": "1700000000", "type": "text" });
    let change = |messages: &[Value]| json!({ "object": "whatsapp_business_account", "entry": [{ "id": "1", "changes": [{ "field": "messages", "value": { "messages": messages } }] }] });
    deliver(&mut scene, "meta", change, [message("a"), message("b"), message("c")]).await;
    scene
        .check_rows("(hubspot,contact.creation,3) (meta,messages,3) (older,Customer.Update,3) (quickbooks,qbo.customer.created.v1,3)")
        .await;
    let parts = "SELECT payload #>> '{dataChangeEvent,entities}' AS p FROM webhook_payload_json WHERE source = 'older' AND payload #>> '{dataChangeEvent,entities,0,id}' = '3'";
    assert!(scene.ground.read(parts).await.contains("Customer"), "each has its own part");
}

#[tokio::test]
async fn xero_and_graph_get_the_answer_they_insist_on() {
    let sources = r#"
[xero]
provider = "xero"
secrets = ["env:S"]

[graph]
provider = "microsoft-graph"
secrets = ["env:S"]
"#;
    let mut scene = Scene::new("batches_answers", sources).await;
    let xero = |id: &str| json!({ "resourceId": id, "eventDateUtc": "2026-03-12T19:03:58.000", "eventType": "UPDATE", "eventCategory": "INVOICE", "tenantId": "t" });
    let body = json!({ "events": [xero("1"), xero("2")], "firstEventSequence": 1, "lastEventSequence": 2, "entropy": "e" })
        .to_string();
    let graph = |state: &str, id: &str| json!({ "id": id, "subscriptionId": "s", "clientState": state, "changeType": "updated", "resource": "me/messages/1", "resourceData": { "@odata.type": "#Microsoft.Graph.Message", "id": id } });
    let notifications = json!({ "value": [graph("secret", "n1"), graph("secret", "n2")] }).to_string();
    for _ in 0..2 {
        let answer = scene.deliver("xero", &[], &body).await;
        answer.check(200, "");
        assert!(!answer.headers.contains_key("content-type"));
        scene.post("graph", &[], &notifications).await.check(202, "");
    }
    // One that is not genuine spoils them all.
    let mixed = json!({ "value": [graph("secret", "n3"), graph("guess", "n4")] }).to_string();
    assert_eq!(scene.post("graph", &[], &mixed).await.status, 401);
    scene.check_rows("(graph,updated,2) (xero,INVOICE.UPDATE,2)").await;
    let states = "SELECT convert_from(body, 'UTF8') AS b FROM webhook_payload WHERE source = 'graph'";
    assert!(!scene.ground.read(states).await.contains("secret"), "the client state is not kept");
}

#[tokio::test]
async fn sendgrid_repeats_itself_within_a_delivery_too() {
    let key = P256::new();
    let sources = "[sendgrid]\nprovider = \"sendgrid\"\nsecrets = [\"env:S\"]\n";
    let mut scene = Scene::with("batches_sendgrid", sources, &key.public_base64(), Https::new()).await;
    let event = |id: &str, what: &str| json!({ "email": "a@example.com", "event": what, "sg_event_id": id, "sg_message_id": "m", "timestamp": 1_700_000_000 });
    let body = json!([event("1", "processed"), event("2", "delivered"), event("1", "processed")]).to_string() + "\r\n";
    let signature = key.sign_base64(format!("1700000000{body}").as_bytes());
    let headers = [
        ("x-twilio-email-event-webhook-timestamp", "1700000000"),
        ("x-twilio-email-event-webhook-signature", signature.as_str()),
    ];
    scene.post("sendgrid", &headers, &body).await.check_outcome("accepted", 2);
    scene.post("sendgrid", &headers, &body).await.check_outcome("duplicate", 2);
    assert_eq!(scene.post("sendgrid", &headers, body.trim_end()).await.status, 401, "every byte is signed");
    scene.check_rows("(sendgrid,delivered,1) (sendgrid,processed,1)").await;
}
