//! What a fuzzer starts from: the test vectors, as inputs. Invariant: they are made of nothing else, so that they can be made again.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use hookledger_providers::SignedRequest;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::input::Input;

/// Genuine and other ones of each provider: the more, the slower a fuzzer starts.
const OF_EACH_MAX: usize = 2;

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    secrets: Vec<String>,
    method: Option<String>,
    query: Option<String>,
    headers: Map<String, Value>,
    body: Option<String>,
    now_s: Option<i64>,
    valid: bool,
}

/// Each seed's name and text, out of the JSON files in `vectors`.
///
/// # Errors
/// Where a file cannot be read, or is not a file of vectors.
pub fn seeds(vectors: &Path) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut seeds = Vec::new();
    for entry in fs::read_dir(vectors)? {
        let path = entry?.path();
        let provider = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file: File = serde_json::from_slice(&fs::read(&path)?)?;
        let mut taken: HashMap<bool, usize> = HashMap::new();
        for vector in file.vectors {
            let taken = taken.entry(vector.valid).or_default();
            let name = format!("{provider}-{}", vector.name);
            if let Some(input) = vector.input(&provider).filter(|_| *taken < OF_EACH_MAX) {
                *taken += 1;
                seeds.push((name, input.print()));
            }
        }
    }
    seeds.sort();
    Ok(seeds)
}

impl Vector {
    fn input(self, provider: &str) -> Option<Input> {
        let mut headers = HeaderMap::new();
        for (name, values) in &self.headers {
            for value in values.as_array().map_or(std::slice::from_ref(values), Vec::as_slice) {
                headers.append(name.parse::<HeaderName>().ok()?, HeaderValue::from_str(value.as_str()?).ok()?);
            }
        }
        Some(Input {
            provider: provider.to_owned(),
            now_s: self.now_s.unwrap_or(1_700_000_000),
            secret: self.secrets.into_iter().next().unwrap_or_default(),
            request: SignedRequest {
                method: self.method.as_deref().unwrap_or("POST").parse().ok()?,
                path: "/webhooks/s".to_owned(),
                query: self.query,
                headers,
                body: self.body?.into(),
            },
        })
    }
}
