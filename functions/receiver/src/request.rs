//! From API Gateway's request to the provider's: the last place that knows stages and base64.

use bytes::Bytes;
use hookledger_providers::SignedRequest;
use lambda_http::{Body, Request};

/// Where a request is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Webhook(String),
    Health,
    Nowhere,
}

/// The path may begin with a stage or a base path of a custom domain, and end in a slash: a redirect would lose the delivery.
pub(crate) fn target(path: &str) -> Target {
    let mut from_the_end = path.trim_end_matches('/').rsplit('/');
    match (from_the_end.next(), from_the_end.next()) {
        (Some("health"), _) => Target::Health,
        (Some(source), Some("webhooks")) if !source.is_empty() => Target::Webhook(source.to_owned()),
        _ => Target::Nowhere,
    }
}

/// `lambda_http` has undone base64 already; the bytes are those that the provider sent and signed.
pub(crate) fn signed_request(request: Request, source: &str) -> SignedRequest {
    let (parts, body) = request.into_parts();
    let body = match body {
        Body::Empty => Bytes::new(),
        Body::Text(text) => Bytes::from(text),
        Body::Binary(bytes) => Bytes::from(bytes),
        other => Bytes::copy_from_slice(&other),
    };
    SignedRequest {
        method: parts.method,
        path: format!("/webhooks/{source}"),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_and_a_trailing_slash_do_not_matter() {
        for path in ["/webhooks/stripe", "/prod/webhooks/stripe", "/a/b/webhooks/stripe/"] {
            assert_eq!(target(path), Target::Webhook("stripe".into()), "{path}");
        }
        for path in ["/", "/webhooks", "/webhooks/", "/webhooks/a/b", "/x/stripe"] {
            assert_eq!(target(path), Target::Nowhere, "{path}");
        }
        assert_eq!(target("/prod/health"), Target::Health);
    }
}
