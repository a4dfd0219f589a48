//! A provider's API. Invariant: the credentials go to the place that was named, and nowhere else, whatever an answer links to.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LINK};
use reqwest::{Method, Response, Url};

use crate::replay::pace::{Pace, http};
use crate::replay::receiver::secure_url;

pub(crate) struct Api {
    base: Url,
    http: reqwest::Client,
    pace: Pace,
    headers: HeaderMap,
}

impl Api {
    /// `credentials` is a header's name and value. `rate` is in requests a second.
    pub(crate) fn new(base: &str, rate: f64, credentials: (&'static str, String)) -> Result<Self> {
        let mut headers = HeaderMap::new();
        let mut value = HeaderValue::from_str(&credentials.1).context("the credentials are no text for a header")?;
        value.set_sensitive(true);
        headers.insert(credentials.0, value);
        let mut base = secure_url(base, "--api")?;
        // Without the slash, what is joined to it would take the place of its last part.
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Ok(Self { base, http: http()?, pace: Pace::per_second(rate), headers })
    }

    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    /// `path` may be a whole address, as APIs give it for the next page.
    pub(crate) async fn get(&self, path: &str, query: &[(&str, String)], headers: &[(&str, &str)]) -> Result<Response> {
        self.send(Method::GET, path, query, headers).await
    }

    pub(crate) async fn post(&self, path: &str) -> Result<Response> {
        self.send(Method::POST, path, &[], &[]).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        headers: &[(&str, &str)],
    ) -> Result<Response> {
        let mut url = self.base.join(path).context("the provider's API named an address that is none")?;
        if url.origin() != self.base.origin() {
            bail!("the provider's API named an address elsewhere, which is not followed");
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let request = || {
            let request = self.http.request(method.clone(), url.clone()).headers(self.headers.clone());
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
        };
        self.pace.send(request).await
    }
}

/// The address of the next page, as a `Link` header gives it (RFC 8288).
pub(crate) fn next_link(response: &Response) -> Option<String> {
    next_of(response.headers().get(LINK)?.to_str().ok()?)
}

fn next_of(links: &str) -> Option<String> {
    links.split(',').find_map(|link| {
        let (address, attributes) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = attributes.split(';').any(|attribute| matches!(attribute.trim(), "rel=\"next\"" | "rel=next"));
        is_next.then(|| address.to_owned())
    })
}

/// A body, to be read as JSON piece by piece.
pub(crate) async fn body(response: Response) -> Result<Bytes> {
    response.bytes().await.context("the provider's answer broke off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_the_one_of_that_relation() {
        let links = "<https://a.test/x?page=1>; rel=\"prev\", <https://a.test/x?cursor=v1_2>; rel=\"next\"";
        assert_eq!(next_of(links).as_deref(), Some("https://a.test/x?cursor=v1_2"));
        assert_eq!(next_of("<https://a.test/x>; rel=\"prev\""), None);
        assert_eq!(next_of("nonsense"), None);
    }
}
