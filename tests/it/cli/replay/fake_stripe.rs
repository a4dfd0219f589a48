//! Stripe's lists of events, as docs.stripe.com/api/events/list and docs.stripe.com/api/v2/core/events/list describe them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hookledger_harness::http::{Answer, Request, serve};
use hookledger_harness::since_epoch;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub(crate) const KEY: &str = "rk_test_of_the_fake";

#[derive(Default)]
pub(crate) struct FakeStripe {
    /// Of each account, the own one under the empty name. The newest first.
    pub(crate) v1: BTreeMap<String, Vec<Value>>,
    pub(crate) v2: Vec<Value>,
    /// Ids of events that some endpoint has not got.
    pub(crate) undelivered: Vec<String>,
    /// What was asked for, with the time in milliseconds.
    pub(crate) asked: Mutex<Vec<(u128, String)>>,
    /// The n-th request is answered so instead.
    pub(crate) troubles: Mutex<BTreeMap<usize, Answer>>,
}

/// Now, in seconds, at a five-minute mark of the clock.
pub(crate) fn five_minute_mark() -> i64 {
    let now = i64::try_from(since_epoch().as_secs()).unwrap();
    now - now % 300
}

pub(crate) fn event(id: &str, created_s: i64) -> Value {
    json!({
        "id": id, "object": "event", "type": "customer.subscription.updated", "created": created_s, "livemode": false,
        "data": {"object": {"id": format!("sub_{id}"), "object": "subscription", "status": "active"}},
    })
}

impl FakeStripe {
    pub(crate) fn of(mut events: Vec<Value>) -> Self {
        events.sort_by_key(|event| std::cmp::Reverse(event["created"].as_i64()));
        Self { v1: BTreeMap::from([(String::new(), events)]), ..Self::default() }
    }

    /// Serves on a free port until the set is dropped, and says where.
    pub(crate) async fn serve(self: &Arc<Self>, servers: &mut JoinSet<()>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fake = self.clone();
        servers.spawn(serve(listener, move |request| {
            let fake = fake.clone();
            async move { Some(fake.answer(&request)) }
        }));
        url
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(_, target)| target.clone()).collect()
    }

    fn answer(&self, request: &Request) -> Answer {
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push((since_epoch().as_millis(), request.target.clone()));
            asked.len()
        };
        if let Some(trouble) = self.troubles.lock().unwrap().remove(&number) {
            return trouble;
        }
        if request.header("authorization") != Some(&format!("Bearer {KEY}")) {
            return Answer::new(401, r#"{"error":{"message":"Invalid API Key provided"}}"#);
        }
        let url: reqwest::Url = format!("http://stripe{}", request.target).parse().unwrap();
        let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let account = request.header("stripe-account").unwrap_or_default();
        let page = match url.path() {
            "/v1/events" => v1_page(self.v1.get(account).map_or(&[], Vec::as_slice), &query, &self.undelivered),
            "/v1/accounts" => {
                let accounts: Vec<Value> =
                    self.v1.keys().filter(|id| !id.is_empty()).map(|id| json!({"id": id, "object": "account"})).collect();
                json!({"object": "list", "data": accounts, "has_more": false})
            }
            // The first version whose list takes `created`.
            "/v2/core/events" if request.header("stripe-version") >= Some("2025-11-17.clover") => v2_page(&self.v2, &query),
            _ => return Answer::new(404, r#"{"error":{"message":"Unrecognized request URL"}}"#),
        };
        Answer::new(200, serde_json::to_vec_pretty(&page).unwrap())
    }
}

fn get<'a>(query: &'a [(String, String)], name: &str) -> Option<&'a str> {
    query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn v1_page(events: &[Value], query: &[(String, String)], undelivered: &[String]) -> Value {
    let number = |name| get(query, name).map(|text| text.parse::<i64>().unwrap());
    let limit = usize::try_from(number("limit").unwrap_or(10)).unwrap();
    assert!(limit <= 100, "Stripe refuses pages of more than 100");
    let types: Vec<&str> = query.iter().filter(|(name, _)| name == "types[]").map(|(_, value)| value.as_str()).collect();
    let created = |event: &&Value| {
        let at = event["created"].as_i64().unwrap();
        number("created[gte]").is_none_or(|since| at >= since) && number("created[lte]").is_none_or(|until| at <= until)
    };
    let of_type = |event: &&Value| types.is_empty() || types.contains(&event["type"].as_str().unwrap());
    let all = get(query, "delivery_success") != Some("false");
    let missed = |event: &&Value| all || undelivered.iter().any(|id| event["id"] == **id);
    let after = get(query, "starting_after");
    let start = after.map_or(0, |id| 1 + events.iter().position(|event| event["id"] == id).unwrap());
    let mut left = events[start..].iter().filter(created).filter(of_type).filter(missed);
    let data: Vec<&Value> = left.by_ref().take(limit).collect();
    json!({"object": "list", "url": "/v1/events", "data": data, "has_more": left.next().is_some()})
}

fn v2_page(events: &[Value], query: &[(String, String)]) -> Value {
    let known = |name: &str| ["limit", "page", "created[gte]", "created[lte]"].contains(&name) || name.starts_with("types[");
    assert!(query.iter().all(|(name, _)| known(name)), "v2 refuses what it does not know: {query:?}");
    let start: usize = get(query, "page").map_or(0, |page| page.parse().unwrap());
    let end = (start + 2).min(events.len());
    let next = (end < events.len()).then(|| format!("/v2/core/events?limit=2&page={end}"));
    json!({"data": events[start..end], "next_page_url": next, "previous_page_url": null})
}
