//! Every test vector under `vectors/`, through the whole of `verify`. Where a vector is from stands in it: constants are the
//! provider's own (`official`), or computed beside a provider's constants by a program that shares nothing with this one.

use std::path::Path;

use bytes::Bytes;
use hookledger_providers::{SignedRequest, Sources, key_fetch, verify};
use http::{HeaderName, HeaderValue, Method};
use serde::Deserialize;

use crate::told::told;

#[derive(Deserialize)]
struct File {
    /// The built-in provider, where it is not the file's name.
    provider: Option<String>,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    secrets: Vec<String>,
    method: Option<String>,
    query: Option<String>,
    #[serde(default)]
    settings: Vec<String>,
    headers: serde_json::Map<String, serde_json::Value>,
    body: Option<String>,
    /// What stands under the URL of the key, where there is one.
    fetched: Option<String>,
    body_repeat: Option<(String, usize)>,
    now_s: Option<i64>,
    valid: bool,
    outcome: String,
}

#[test]
fn every_vector_ends_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut failures = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file: File = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let provider = file.provider.unwrap_or_else(|| path.file_stem().unwrap().to_str().unwrap().to_owned());
        for vector in file.vectors {
            count += 1;
            let (outcome, genuine) = outcome(&provider, &vector);
            if outcome != vector.outcome || genuine != vector.valid {
                failures.push(format!(
                    "{provider}\t{}\t{outcome}\twanted {}, valid {}",
                    vector.name, vector.outcome, vector.valid
                ));
            }
        }
    }
    assert!(failures.is_empty(), "of {count} vectors failed:\n{}", failures.join("\n"));
    assert!(count > 30, "only {count} vectors were found");
}

fn outcome(provider: &str, vector: &Vector) -> (String, bool) {
    let secrets = if vector.secrets.is_empty() { "" } else { "secrets = [\"env:S\"]" };
    let toml = format!("[s]\nprovider = {provider:?}\n{secrets}\n{}\n", vector.settings.join("\n"));
    let sources = Sources::parse(&toml).unwrap_or_else(|e| panic!("{provider} {}: {e}", vector.name));
    let source = sources.get("s").unwrap();
    let secrets = vector.secrets.iter().map(|text| source.secret(text)).collect::<Result<Vec<_>, _>>();
    let secrets = match secrets {
        Ok(secrets) => secrets,
        Err(error) => return (format!("unusable: {error}"), false),
    };
    let headers = vector.headers.iter().flat_map(|(name, value)| {
        let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        values
            .into_iter()
            .map(move |value| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value.as_str().unwrap()).unwrap()))
    });
    let body = match (&vector.body, &vector.body_repeat) {
        (Some(body), _) => body.clone(),
        (None, Some((part, times))) => part.repeat(*times),
        (None, None) => String::new(),
    };
    let request = SignedRequest {
        method: vector.method.as_deref().unwrap_or("POST").parse::<Method>().unwrap(),
        path: "/webhooks/s".into(),
        query: vector.query.clone(),
        headers: headers.collect(),
        body: Bytes::from(body),
    };
    let secrets = match (&vector.fetched, key_fetch(source, &request)) {
        (None, fetch) => {
            assert_eq!(fetch, Ok(None), "{provider} {}", vector.name);
            secrets
        }
        (Some(_), Err(rejection)) => return (format!("nothing to fetch: {}", rejection.reason()), false),
        (Some(fetched), Ok(fetch)) => match fetch.unwrap().key(fetched.as_bytes()) {
            Ok(key) => vec![key],
            Err(error) => return (format!("unusable: {error}"), false),
        },
    };
    let verified = verify(source, &request, &secrets, None, vector.now_s.unwrap_or(1_700_000_000));
    (told(&verified), verified.map_or_else(|rejection| rejection.status() == 400, |_| true))
}
