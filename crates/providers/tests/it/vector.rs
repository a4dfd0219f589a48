//! A test vector, and what is given to `verify` for it.

use std::path::Path;

use bytes::Bytes;
use hookledger_core::Secret;
use hookledger_providers::{Rejection, SignedRequest, Source, Sources, Verified, key_fetch, verify};
use http::{HeaderName, HeaderValue, Method};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
pub(crate) struct Vector {
    pub(crate) name: String,
    secrets: Vec<String>,
    method: Option<String>,
    query: Option<String>,
    #[serde(default)]
    settings: Vec<String>,
    headers: serde_json::Map<String, serde_json::Value>,
    pub(crate) body: Option<String>,
    /// What stands under the URL of the key, where there is one.
    fetched: Option<String>,
    body_repeat: Option<(String, usize)>,
    now_s: Option<i64>,
    pub(crate) valid: bool,
    pub(crate) outcome: String,
}

pub(crate) fn vectors() -> Vec<(String, Vector)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let vectors = files.flat_map(|path| {
        let file: File = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let provider = path.file_stem().unwrap().to_str().unwrap().to_owned();
        file.vectors.into_iter().map(move |vector| (provider.clone(), vector))
    });
    vectors.collect()
}

/// A vector as `verify` takes it.
pub(crate) struct Prepared {
    pub(crate) source: Source,
    secrets: Vec<Secret>,
    pub(crate) request: SignedRequest,
    pub(crate) now_s: i64,
}

impl Prepared {
    /// `Err` tells why it does not come to `verify`.
    pub(crate) fn of(provider: &str, vector: &Vector) -> Result<Self, String> {
        let secrets = if vector.secrets.is_empty() { "" } else { "secrets = [\"env:S\"]" };
        let toml = format!("[s]\nprovider = {provider:?}\n{secrets}\n{}\n", vector.settings.join("\n"));
        let sources = Sources::parse(&toml).unwrap_or_else(|e| panic!("{provider} {}: {e}", vector.name));
        let source = sources.get("s").unwrap().clone();
        let secrets = vector.secrets.iter().map(|text| source.secret(text)).collect::<Result<Vec<_>, _>>();
        let secrets = secrets.map_err(|error| format!("unusable: {error}"))?;
        let request = vector.request();
        let secrets = match (&vector.fetched, key_fetch(&source, &request)) {
            (None, fetch) => {
                assert_eq!(fetch, Ok(None), "{provider} {}", vector.name);
                secrets
            }
            (Some(_), Err(rejection)) => return Err(format!("nothing to fetch: {}", rejection.reason())),
            (Some(fetched), Ok(fetch)) => {
                vec![fetch.unwrap().key(fetched.as_bytes(), vector.now_s()).map_err(|error| format!("unusable: {error}"))?]
            }
        };
        Ok(Self { source, secrets, request, now_s: vector.now_s() })
    }

    pub(crate) fn verify(&self, request: &SignedRequest) -> Result<Verified, Rejection> {
        verify(&self.source, request, &self.secrets, None, self.now_s)
    }

    pub(crate) fn unsigned(&self) -> Result<Verified, Rejection> {
        verify(&self.source, &self.request, &[], None, self.now_s)
    }
}

impl Vector {
    fn now_s(&self) -> i64 {
        self.now_s.unwrap_or(1_700_000_000)
    }

    fn request(&self) -> SignedRequest {
        let headers = self.headers.iter().flat_map(|(name, value)| {
            let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            values.into_iter().map(move |value| {
                (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value.as_str().unwrap()).unwrap())
            })
        });
        let body = match (&self.body, &self.body_repeat) {
            (Some(body), _) => body.clone(),
            (None, Some((part, times))) => part.repeat(*times),
            (None, None) => String::new(),
        };
        SignedRequest {
            method: self.method.as_deref().unwrap_or("POST").parse::<Method>().unwrap(),
            path: "/webhooks/s".into(),
            query: self.query.clone(),
            headers: headers.collect(),
            body: Bytes::from(body),
        }
    }
}
