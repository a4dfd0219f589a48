//! The URL that a provider signed. Invariant: it is the one that was configured, never one built from `Host` or
//! `X-Forwarded-*`, which anybody can write; only the query is the request's.

use crate::request::SignedRequest;
use crate::settings::Settings;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    AsConfigured,
    /// With the port of its scheme, where none is configured.
    WithPort,
    WithoutPort,
    /// With the twelve percent escapes undone that HubSpot undoes before it signs.
    Unescaped,
}

/// What HubSpot decodes in a URI before it signs (its page "validating requests").
const HUBSPOT_ESCAPES: [(&str, &str); 12] = [
    ("%3A", ":"),
    ("%2F", "/"),
    ("%3F", "?"),
    ("%40", "@"),
    ("%21", "!"),
    ("%24", "$"),
    ("%27", "'"),
    ("%28", "("),
    ("%29", ")"),
    ("%2A", "*"),
    ("%2C", ","),
    ("%3B", ";"),
];

impl Form {
    pub(crate) fn of(self, settings: &Settings, request: &SignedRequest) -> String {
        let configured = settings.public_url.as_deref().unwrap_or_default();
        let url = match self {
            Self::AsConfigured | Self::Unescaped => configured.to_owned(),
            Self::WithPort => with_port(configured, true),
            Self::WithoutPort => with_port(configured, false),
        };
        let url = match request.query.as_deref().filter(|query| !query.is_empty()) {
            Some(query) => format!("{url}?{query}"),
            None => url,
        };
        if self == Self::Unescaped { unescape(url) } else { url }
    }
}

/// `None` for what is no absolute http(s) URL, or has a query or a fragment.
pub(crate) fn checked(url: &str) -> Option<()> {
    let (scheme, rest) = url.split_once("://")?;
    let plain = !rest.contains(['?', '#', '@']) && !rest.contains(char::is_whitespace);
    (matches!(scheme, "https" | "http") && plain && !rest.starts_with('/') && !rest.is_empty()).then_some(())
}

fn with_port(url: &str, wanted: bool) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, Some(port)),
        Some(_) | None => (host, None),
    };
    match (wanted, port) {
        (true, Some(_)) => url.to_owned(),
        (true, None) => format!("{scheme}://{name}:{}{path}", if scheme == "http" { 80 } else { 443 }),
        (false, _) => format!("{scheme}://{name}{path}"),
    }
}

fn unescape(url: String) -> String {
    if !url.contains('%') {
        return url;
    }
    HUBSPOT_ESCAPES
        .iter()
        .fold(url, |url, (escaped, plain)| url.replace(escaped, plain).replace(&escaped.to_ascii_lowercase(), plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_added_or_taken_away() {
        let both = |url| (with_port(url, true), with_port(url, false));
        assert_eq!(both("https://a.io/x"), ("https://a.io:443/x".into(), "https://a.io/x".into()));
        assert_eq!(both("http://a.io:1234/x"), ("http://a.io:1234/x".into(), "http://a.io/x".into()));
        assert_eq!(both("http://[::1]"), ("http://[::1]:80".into(), "http://[::1]".into()));
    }

    #[test]
    fn a_configured_url_is_absolute_and_bare() {
        for good in ["https://a.io/hooks", "http://127.0.0.1:9000"] {
            assert!(checked(good).is_some(), "{good}");
        }
        for bad in ["a.io/x", "ftp://a.io", "https://", "https:///x", "https://a.io/?q", "https://u@a.io", "https://a.io/ x"]
        {
            assert!(checked(bad).is_none(), "{bad}");
        }
    }
}
