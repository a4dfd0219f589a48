//! What stands before the function, and its two forms: of an event that comes in, and of an answer that goes out. An HTTP API's and
//! a function URL's events (payload format 2.0) are read here, once and by what reads a delivery's body; a REST API's and a load balancer's by
//! `lambda_http`, which tries one form after the other, and makes of each what a handler might ask for.
//!
//! Invariant: both ways make the same request of the same event; a test holds one against the other.

use std::str::Utf8Error;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookledger_json::{Fields, Malformed, members, text};
use lambda_http::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Uri};
use lambda_http::lambda_runtime::Diagnostic;
use lambda_http::request::{RequestContext, from_str};
use lambda_http::{Body, Request, RequestExt as _};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

/// A request, and how its answer has to look.
#[derive(Debug)]
pub struct GatewayEvent {
    pub request: Request,
    pub form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Of an HTTP API or a function URL.
    HttpApi,
    /// Takes each header as a list. It would send twice what stands there once more as a single value.
    RestApi,
    /// Reads headers as lists or as single values, as its target group is set.
    LoadBalancer,
}

/// An event that is no request: no JSON, or not in one of the forms that a gateway or load balancer gives it.
#[derive(Debug, thiserror::Error)]
pub enum NotARequest {
    #[error("the event is not UTF-8: {0}")]
    Encoding(#[from] Utf8Error),
    #[error("the event is no request: {0}")]
    Form(#[from] serde_json::Error),
}

impl GatewayEvent {
    pub fn read(json: &[u8]) -> Result<Self, NotARequest> {
        if let Some(request) = http_api_request(json) {
            return Ok(Self { request, form: Form::HttpApi });
        }
        let request = from_str(std::str::from_utf8(json)?)?;
        let form = match request.request_context_ref() {
            Some(RequestContext::Alb(_)) => Form::LoadBalancer,
            Some(RequestContext::ApiGatewayV1(_)) => Form::RestApi,
            _ => Form::HttpApi,
        };
        Ok(Self { request, form })
    }
}

impl From<NotARequest> for Diagnostic {
    fn from(error: NotARequest) -> Self {
        Self { error_type: "NotARequest".to_owned(), error_message: error.to_string() }
    }
}

/// What the receiver looks at of payload format 2.0
/// (docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html).
const POINTERS: [&str; 8] = [
    "/version",
    "/rawPath",
    "/rawQueryString",
    "/headers",
    "/requestContext/http/method",
    "/body",
    "/isBase64Encoded",
    "/cookies",
];

static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    let mut fields = Fields::default();
    for pointer in POINTERS {
        fields.add(pointer);
    }
    fields
});

/// `None` for any other form, and for what is unusual in this one, which `lambda_http` may know what to do with.
fn http_api_request(json: &[u8]) -> Option<Request> {
    let found = FIELDS.find(json).ok()?;
    let [version, path, query, headers, method, body, is_base64_encoded, cookies] = found.try_into().ok()?;
    if version != Some(r#""2.0""#) || !is_absent(cookies) {
        return None;
    }
    let mut uri = text(path?).ok()?.into_owned();
    let query = query.map(text).transpose().ok()?.unwrap_or_default();
    if !query.is_empty() {
        uri.push('?');
        uri.push_str(&query);
    }
    let body = body.filter(|body| !is_absent(Some(body))).map(text).transpose().ok()?;
    let mut request = Request::new(match (body, is_base64_encoded) {
        (None, _) => Body::Empty,
        (Some(text), Some("true")) => Body::Binary(STANDARD.decode(&*text).ok()?),
        (Some(text), Some("false") | None) => Body::Text(text.into_owned()),
        (Some(_), Some(_)) => return None,
    });
    *request.method_mut() = Method::from_bytes(text(method?).ok()?.as_bytes()).ok()?;
    *request.uri_mut() = Uri::try_from(uri).ok()?;
    *request.headers_mut() = header_map(headers?).ok()?;
    Some(request)
}

fn is_absent(value: Option<&str>) -> bool {
    matches!(value, None | Some("null"))
}

fn header_map(json: &str) -> Result<HeaderMap, Malformed> {
    let mut headers = HeaderMap::with_capacity(HEADERS_USUAL);
    members(json, |name, value| {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| Malformed)?;
        headers.insert(name, HeaderValue::from_str(&text(value)?).map_err(|_| Malformed)?);
        Ok(())
    })?;
    Ok(headers)
}

/// With those that API Gateway adds.
const HEADERS_USUAL: usize = 24;

/// An answer in the form of where it goes.
#[derive(Debug)]
pub struct GatewayAnswer {
    form: Form,
    response: Response<Body>,
}

impl Form {
    pub fn answer(self, response: Response<Body>) -> GatewayAnswer {
        GatewayAnswer { form: self, response }
    }
}

impl Serialize for GatewayAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { form, response } = self;
        let mut answer = serializer.serialize_map(None)?;
        answer.serialize_entry("statusCode", &response.status().as_u16())?;
        let none = HeaderMap::new();
        let (single, lists) = match form {
            Form::HttpApi => (response.headers(), &none),
            Form::RestApi => (&none, response.headers()),
            Form::LoadBalancer => (response.headers(), response.headers()),
        };
        answer.serialize_entry("headers", &Single(single))?;
        answer.serialize_entry("multiValueHeaders", &Lists(lists))?;
        match form {
            // `cargo lambda watch` takes no answer without it.
            Form::HttpApi => answer.serialize_entry("cookies", &[(); 0])?,
            Form::RestApi => {}
            Form::LoadBalancer => answer.serialize_entry("statusDescription", &response.status().to_string())?,
        }
        match response.body() {
            Body::Text(text) => answer.serialize_entry("body", text)?,
            Body::Binary(bytes) => answer.serialize_entry("body", &STANDARD.encode(bytes))?,
            Body::Empty | _ => {}
        }
        answer.serialize_entry("isBase64Encoded", &matches!(response.body(), Body::Binary(_)))?;
        answer.end()
    }
}

/// The receiver says nothing twice.
struct Single<'a>(&'a HeaderMap);
struct Lists<'a>(&'a HeaderMap);

impl Serialize for Single<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(said(self.0))
    }
}

impl Serialize for Lists<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(said(self.0).map(|(name, value)| (name, [value])))
    }
}

/// All of an answer's headers are text.
fn said(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}
