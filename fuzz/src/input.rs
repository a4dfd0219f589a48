//! A delivery as a text. Invariant: whatever the bytes are, reading them ends, and says `None` for what is no delivery.

use bytes::Bytes;
use hookledger_providers::SignedRequest;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// A delivery to one provider's source, as in
///
/// ```text
/// github 1700000000 the secret
/// POST /webhooks/s?query
/// x-github-event: push
///
/// the body
/// ```
///
/// A line that is no header is skipped, as an HTTP server in front would have refused it.
#[derive(Debug)]
pub struct Input {
    pub provider: String,
    /// Unix time in seconds.
    pub now_s: i64,
    pub secret: String,
    pub request: SignedRequest,
}

impl Input {
    pub fn parse(data: &[u8]) -> Option<Self> {
        let (first, rest) = line(data)?;
        let (second, mut rest) = line(rest)?;
        let mut first = std::str::from_utf8(first).ok()?.splitn(3, ' ');
        let (provider, now_s, secret) = (first.next()?, first.next()?.parse().ok()?, first.next()?);
        let (method, target) = std::str::from_utf8(second).ok()?.split_once(' ')?;
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query.to_owned())));
        let mut headers = HeaderMap::new();
        while let Some((header, after)) = line(rest) {
            rest = after;
            if header.is_empty() {
                break;
            }
            let Some(colon) = header.iter().position(|byte| *byte == b':') else { continue };
            let name = HeaderName::from_bytes(&header[..colon]);
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(header[colon + 1..].trim_ascii())) {
                headers.append(name, value);
            }
        }
        Some(Self {
            provider: provider.to_owned(),
            now_s,
            secret: secret.to_owned(),
            request: SignedRequest {
                method: method.parse::<Method>().ok()?,
                path: path.to_owned(),
                query,
                headers,
                body: Bytes::copy_from_slice(rest),
            },
        })
    }

    /// The text that [`Input::parse`] reads.
    pub fn print(&self) -> Vec<u8> {
        let SignedRequest { method, path, query, headers, body } = &self.request;
        let query = query.as_deref().map_or(String::new(), |query| format!("?{query}"));
        let mut text = format!("{} {} {}\n{method} {path}{query}\n", self.provider, self.now_s, self.secret).into_bytes();
        for (name, value) in headers {
            text.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\n"].concat());
        }
        text.push(b'\n');
        text.extend_from_slice(body);
        text
    }
}

/// Up to the next line end, and what comes after it.
fn line(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = data.iter().position(|byte| *byte == b'\n')?;
    Some((&data[..end], &data[end + 1..]))
}
