//! API Gateway in front of a function: an HTTP API with payload format 2.0
//! (docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html).

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Function;
use crate::clock::since_epoch;

/// A request as its sender made it.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    pub method: &'static str,
    /// With a query, if there is one.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// What the sender gets back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    pub fn post(path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { method: "POST", path: path.to_owned(), headers, body: body.into() }
    }
}

impl HttpAnswer {
    /// A string field of a JSON body.
    pub fn field(&self, name: &str) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body[name].as_str().map(str::to_owned)
    }
}

/// Has `function` answer `request`. A function that crashes, fails or answers nonsense is answered for, with 500.
pub async fn deliver(function: &Function, request: &HttpRequest) -> HttpAnswer {
    let invoked = function.invoke(payload(request)).await;
    invoked.ok().and_then(|response| answer(&response.payload)).unwrap_or_else(|| HttpAnswer {
        status: 500,
        headers: BTreeMap::new(),
        body: br#"{"message":"Internal Server Error"}"#.into(),
    })
}

/// What a function is invoked with for `request`. Its keys stand as API Gateway writes them, the body near the end: a function may read
/// what comes first and no further.
pub fn payload(request: &HttpRequest) -> String {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let now = since_epoch();
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in &request.headers {
        let name = name.to_ascii_lowercase();
        // Repeated headers are joined.
        let all = headers.get(&name).map_or_else(|| value.clone(), |before| format!("{before},{value}"));
        headers.insert(name, all);
    }
    let text = is_text(headers.get("content-type")).then(|| std::str::from_utf8(&request.body).ok()).flatten();
    let body = text.map_or_else(|| STANDARD.encode(&request.body).into(), Cow::from);
    let event = Event {
        version: "2.0",
        route_key: "$default",
        raw_path: path,
        raw_query_string: query,
        headers,
        request_context: json!({
            "accountId": "000000000000", "apiId": "local", "domainName": "local", "domainPrefix": "local",
            "http": { "method": request.method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "" },
            "requestId": format!("{:x}", now.as_nanos()), "routeKey": "$default", "stage": "$default",
            "time": "", "timeEpoch": now.as_millis() as u64,
        }),
        is_base64_encoded: !body.is_empty() && text.is_none(),
        body: (!body.is_empty()).then_some(body),
    };
    serde_json::to_string(&event).expect("an event has texts for keys")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    version: &'static str,
    route_key: &'static str,
    raw_path: &'a str,
    raw_query_string: &'a str,
    headers: BTreeMap<String, String>,
    request_context: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Cow<'a, str>>,
    is_base64_encoded: bool,
}

/// Forms and bodies without a content type are not.
fn is_text(content_type: Option<&String>) -> bool {
    let content_type = content_type.map(|text| text.to_ascii_lowercase()).unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.starts_with("text/")
        || ["application/json", "application/xml", "application/javascript"].contains(&media_type)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionAnswer {
    status_code: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
}

/// What the sender gets for a function's answer; `None` where it is of another form.
pub fn answer(payload: &str) -> Option<HttpAnswer> {
    let answer: FunctionAnswer = serde_json::from_str(payload).ok()?;
    let body = answer.body.unwrap_or_default();
    let body = if answer.is_base64_encoded { STANDARD.decode(body).ok()? } else { body.into_bytes() };
    let headers = answer.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    Some(HttpAnswer { status: answer.status_code, headers, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content_type: Option<&str>, body: &[u8], expected: Value) {
        let headers: Vec<_> = content_type.map(|value| ("Content-Type", value)).into_iter().collect();
        let event: Value = serde_json::from_str(&payload(&HttpRequest::post("/a?b=c", &headers, body.to_vec()))).unwrap();
        assert_eq!(json!([event["isBase64Encoded"], event["body"]]), expected);
        assert_eq!(json!([event["rawPath"], event["rawQueryString"]]), json!(["/a", "b=c"]));
    }

    #[test]
    fn text_travels_as_text_and_all_else_in_base64() {
        check(Some("application/json; charset=utf-8"), b"{}", json!([false, "{}"]));
        check(Some("text/plain"), b"hi", json!([false, "hi"]));
        check(Some("application/x-www-form-urlencoded"), b"a=b", json!([true, "YT1i"]));
        check(None, b"{}", json!([true, "e30="]));
        check(Some("application/json"), b"\xff", json!([true, "/w=="]));
        check(Some("application/json"), b"", json!([false, null]));
    }

    #[test]
    fn an_answer_is_undone_from_base64_and_nonsense_is_none() {
        let read = answer(r#"{"statusCode":201,"headers":{"Allow":"POST"},"body":"aGk=","isBase64Encoded":true}"#).unwrap();
        assert_eq!((read.status, read.body.as_slice(), read.headers["allow"].as_str()), (201, &b"hi"[..], "POST"));
        assert_eq!(answer("null"), None);
    }
}
