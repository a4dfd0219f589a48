//! Which event a delivery is, and what it is about, by provider.

use hookledger_core::newest;

use crate::delivery::Delivery;
use crate::told::told;

#[track_caller]
fn check(provider: &str, headers: &[(&str, &str)], body: &str, expected: &str) {
    check_with(provider, "", headers, body, expected);
}

#[track_caller]
fn check_with(provider: &str, settings: &str, headers: &[(&str, &str)], body: &str, expected: &str) {
    let delivery = Delivery::with_settings(provider, settings, body.to_owned());
    let delivery = headers.iter().fold(delivery, |delivery, (name, value)| delivery.header(name, value));
    assert_eq!(told(&delivery.verify()), expected, "{body}");
}

const SUBSCRIPTION: &str = r#"{"id": "evt_1", "object": "event", "type": "customer.subscription.deleted", "created": 1721948530,
    "livemode": true, "data": {"object": {"id": "sub_1", "object": "subscription", "plan": "b"}}}"#;

#[test]
fn a_stripe_event_is_about_its_object_in_its_account() {
    check("stripe", &[], SUBSCRIPTION, "evt_1 customer.subscription.deleted /subscription/sub_1 @1721948530000000 deleted");
    check(
        "stripe",
        &[],
        r#"{"id":"evt_1","type":"customer.created","created":1,"account":"acct_9","data":{"object":{"id":"cus_1","object":"customer"}}}"#,
        "evt_1 customer.created acct_9/customer/cus_1 @1000000 created",
    );
}

#[test]
fn a_thin_stripe_event_is_about_its_related_object() {
    check(
        "stripe",
        &[],
        r#"{"id":"evt_2","object":"v2.core.event","type":"v2.core.account.updated","created":"2022-02-15T00:27:45.330Z",
            "related_object":{"id":"acct_1","type":"v2.core.account","url":"/v2/core/accounts/acct_1"}}"#,
        "evt_2 v2.core.account.updated /v2.core.account/acct_1 @1644884865330000 updated",
    );
    check(
        "stripe",
        &[],
        r#"{"id":"evt_234","object":"v2.core.event","type":"v1.billing.meter.error_report_triggered","created":"2022-02-15T00:27:45.330Z"}"#,
        "evt_234 v1.billing.meter.error_report_triggered @1644884865330000 updated",
    );
}

#[test]
fn a_stripe_object_without_an_id_is_one_only_where_there_is_one() {
    let body = |event_type: &str, kind: &str| {
        format!(
            r#"{{"id":"evt_3","type":"{event_type}","created":1,"account":"acct_9","data":{{"object":{{"object":"{kind}"}}}}}}"#
        )
    };
    check(
        "stripe",
        &[],
        &body("balance.available", "balance"),
        "evt_3 balance.available acct_9/balance/balance @1000000 updated",
    );
    check("stripe", &[], &body("invoice.upcoming", "invoice"), "evt_3 invoice.upcoming @1000000 updated");
}

#[test]
fn a_stripe_event_of_the_other_mode_is_ignored() {
    check_with("stripe", "livemode = false", &[], SUBSCRIPTION, "ignored other_mode");
    let live = "evt_1 customer.subscription.deleted /subscription/sub_1 @1721948530000000 deleted";
    check_with("stripe", "livemode = true", &[], SUBSCRIPTION, live);
}

#[test]
fn a_stripe_client_secret_is_not_stored() {
    let body = r#"{"id":"evt_4","type":"payment_intent.created","created":1,
        "data":{"object":{"id":"pi_1","object":"payment_intent","client_secret":"pi_1_secret_x","amount":5}}}"#;
    let stored = Delivery::new("stripe", body).event().body().clone();
    assert_eq!(std::str::from_utf8(&stored).unwrap(), body.replace("pi_1_secret_x", "redacted"));
}

#[test]
fn previous_attributes_order_stripe_events_of_one_second() {
    let update = |id: &str, plan: &str, before: &str| {
        let body = format!(
            r#"{{"id":"{id}","type":"customer.subscription.updated","created":1,"data":{{
                "object":{{"id":"sub_1","object":"subscription","plan":"{plan}"}},"previous_attributes":{{"plan":"{before}"}}}}}}"#
        );
        Delivery::new("stripe", body).candidate()
    };
    let candidates = [update("evt_c", "b", "a"), update("evt_a", "d", "c"), update("evt_b", "c", "b")];
    let newest = newest(&candidates).unwrap();
    assert_eq!((newest.candidate.event_id.as_str(), newest.resolved), ("evt_a", true));
}

const GUID: (&str, &str) = ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958");

#[track_caller]
fn github(event: &str, body: &str, expected: &str) {
    let expected = format!("72d3162e-cc78-11e3-81ab-4c9367dc0958 {expected}");
    check("github", &[GUID, ("x-github-event", event)], body, &expected);
}

#[test]
fn a_github_event_is_typed_by_header_and_action() {
    let issue = r#"{"action":"opened","issue":{"id":444500041,"number":1,"updated_at":"2019-05-15T15:20:18Z"},
        "repository":{"id":186853002,"full_name":"Codertocat/Hello-World"},"installation":{"id":5}}"#;
    github("issues", issue, "issues.opened /issue/444500041 @1557933618000000 created");
    let edited = issue.replace("opened", "edited");
    github("issues", &edited, "issues.edited /issue/444500041 @1557933618000000 updated");
    let deleted = issue.replace("opened", "deleted");
    github("issues", &deleted, "issues.deleted /issue/444500041 @1557933618000000 deleted");
    // An event without an object of its own has none, whatever else is in it.
    github("star", &issue.replace("opened", "created"), "star.created created");
}

#[test]
fn a_github_comment_is_another_object_than_its_issue() {
    github(
        "issue_comment",
        r#"{"action":"created","issue":{"id":1,"updated_at":"2019-05-15T15:20:18Z"},"comment":{"id":2,"updated_at":"2019-05-15T15:20:21Z"}}"#,
        "issue_comment.created /issue_comment/2 @1557933621000000 created",
    );
}

#[test]
fn a_github_form_is_its_payload() {
    let form = "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%2C%22repository%22%3A%7B%22id%22%3A7%2C%22full_name%22%3A%22o%2Fr%22%2C%22pushed_at%22%3A1557933656%7D%7D";
    let delivery = Delivery::new("github", form)
        .header("content-type", "application/x-www-form-urlencoded; charset=utf-8")
        .header("x-github-event", "push")
        .header(GUID.0, GUID.1);
    let event = delivery.event();
    assert_eq!(told(&delivery.verify()), format!("{} push /ref/7:refs/heads/main @1557933656000000 updated", GUID.1));
    assert_eq!(
        event.body().as_ref(),
        br#"{"ref":"refs/heads/main","repository":{"id":7,"full_name":"o/r","pushed_at":1557933656}}"#
    );
    assert!(event.headers().contains(&("content-type".into(), "application/json".into())));
    assert!(event.headers().iter().all(|(name, _)| name != "x-replay-token"));
}

#[test]
fn pushes_of_one_second_follow_before_and_after() {
    let push = |guid: &str, before: &str, after: &str| {
        let body = format!(
            r#"{{"ref":"refs/heads/main","before":"{before}","after":"{after}","repository":{{"id":7,"pushed_at":1557933656}}}}"#
        );
        Delivery::new("github", body).header("x-github-event", "push").header("x-github-delivery", guid).candidate()
    };
    let candidates = [push("c", "00", "aa"), push("a", "bb", "cc"), push("b", "aa", "bb")];
    let newest = newest(&candidates).unwrap();
    assert_eq!((newest.candidate.event_id.as_str(), newest.resolved), ("a", true));
}

#[test]
fn github_changes_say_what_was_before() {
    let body = r#"{"action":"edited","issue":{"id":1,"title":"b","updated_at":"2019-05-15T15:20:18Z"},"changes":{"title":{"from":"a"}}}"#;
    let candidate = Delivery::new("github", body).header("x-github-event", "issues").header(GUID.0, GUID.1).candidate();
    assert_eq!(candidate.previous, Some(serde_json::json!({"title": "a"})));
    assert_eq!(candidate.object.unwrap()["title"], "b");
}

#[test]
fn a_github_ping_is_ignored() {
    check(
        "github",
        &[GUID, ("x-github-event", "ping")],
        r#"{"zen":"Keep it logically awesome.","hook_id":30}"#,
        "ignored ping",
    );
}

#[test]
fn without_its_headers_a_github_event_has_no_identity() {
    check("github", &[("x-github-event", "push")], "{}", "rejected no_event_id");
    check("github", &[GUID], "{}", "rejected no_event_type");
    check("github", &[GUID, GUID, ("x-github-event", "push")], "{}", "rejected bad_event_id");
}
