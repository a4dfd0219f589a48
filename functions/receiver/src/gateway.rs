//! What stands before the function, and its two forms: of an event that comes in, and of an answer that goes out. An HTTP API's and
//! a function URL's events (payload format 2.0) are read here, in one go; a REST API's and a load balancer's by `lambda_http`, which
//! tries one form after the other, and makes of each what a handler might ask for: that was a seventh of a delivery's processor time.
//!
//! Invariant: both ways make the same request of the same event; a test holds one against the other.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lambda_http::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Uri};
use lambda_http::request::{RequestContext, from_str};
use lambda_http::{Body, Request, RequestExt as _};
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::{SerializeMap as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

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

impl<'de> Deserialize<'de> for GatewayEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        if let Some(request) = serde_json::from_str(json).ok().and_then(HttpApiEvent::request) {
            return Ok(Self { request, form: Form::HttpApi });
        }
        let request = from_str(json).map_err(D::Error::custom)?;
        let form = match request.request_context_ref() {
            Some(RequestContext::Alb(_)) => Form::LoadBalancer,
            Some(RequestContext::ApiGatewayV1(_)) => Form::RestApi,
            _ => Form::HttpApi,
        };
        Ok(Self { request, form })
    }
}

/// As API Gateway documents payload format 2.0
/// (docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html), as far as the receiver looks at it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HttpApiEvent<'a> {
    version: &'a str,
    #[serde(borrow)]
    raw_path: Cow<'a, str>,
    #[serde(borrow, default)]
    raw_query_string: Cow<'a, str>,
    #[serde(deserialize_with = "header_map")]
    headers: HeaderMap,
    #[serde(borrow)]
    request_context: HttpApiContext<'a>,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
    cookies: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct HttpApiContext<'a> {
    #[serde(borrow)]
    http: HttpApiRequest<'a>,
}

#[derive(Deserialize)]
struct HttpApiRequest<'a> {
    method: &'a str,
}

impl HttpApiEvent<'_> {
    /// `None` for what is unusual, which `lambda_http` may know what to do with.
    fn request(self) -> Option<Request> {
        if self.version != "2.0" || self.cookies.is_some() {
            return None;
        }
        let mut uri = self.raw_path.into_owned();
        if !self.raw_query_string.is_empty() {
            uri.push('?');
            uri.push_str(&self.raw_query_string);
        }
        let mut request = Request::new(match self.body {
            None => Body::Empty,
            Some(text) if self.is_base64_encoded => Body::Binary(STANDARD.decode(text).ok()?),
            Some(text) => Body::Text(text),
        });
        *request.method_mut() = Method::from_bytes(self.request_context.http.method.as_bytes()).ok()?;
        *request.uri_mut() = Uri::try_from(uri).ok()?;
        *request.headers_mut() = self.headers;
        Some(request)
    }
}

fn header_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HeaderMap, D::Error> {
    struct Headers;

    impl<'de> Visitor<'de> for Headers {
        type Value = HeaderMap;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("headers and their values")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HeaderMap, A::Error> {
            let mut headers = HeaderMap::with_capacity(HEADERS_USUAL);
            while let Some((name, value)) = map.next_entry::<Text<'_>, Text<'_>>()? {
                let name = HeaderName::from_bytes(name.0.as_bytes()).map_err(A::Error::custom)?;
                headers.append(name, HeaderValue::from_str(&value.0).map_err(A::Error::custom)?);
            }
            Ok(headers)
        }
    }

    deserializer.deserialize_map(Headers)
}

/// With those that API Gateway adds.
const HEADERS_USUAL: usize = 24;

/// Not copied unless something in it is escaped.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

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
