//! A source for each built-in provider. Invariant: it is made once, since a fuzzer asks for it ten thousand times a second.

use std::sync::OnceLock;

use hookledger_providers::{Source, Sources, about};

/// What the providers that need it are given.
const NEEDED: [(&str, &str); 6] = [
    ("public_url", "https://hooks.example.com/webhooks/s"),
    ("webhook_id", "W1"),
    ("public_key", "pk"),
    ("topic_arn", "arn:aws:sns:eu-west-1:1:t"),
    ("client_id", "c"),
    ("verify_token_sha256", "0000000000000000000000000000000000000000000000000000000000000000"),
];

/// The source of `provider`; of one that is picked by the name where there is none, so that no input is wasted.
pub(crate) fn of(provider: &str) -> &'static Source {
    static SOURCES: OnceLock<Vec<(&str, Source)>> = OnceLock::new();
    let sources = SOURCES.get_or_init(|| about().map(|about| (about.name, built_in(about.name))).collect());
    let sum: usize = provider.bytes().map(usize::from).sum();
    let known = sources.iter().position(|(name, _)| *name == provider);
    &sources[known.unwrap_or(sum % sources.len())].1
}

fn built_in(name: &str) -> Source {
    let mut toml = format!("[s]\nprovider = {name:?}\n");
    loop {
        let told = match Sources::parse(&toml) {
            Ok(sources) => match sources.get("s") {
                Some(source) => return source.clone(),
                None => unreachable!("it was just written"),
            },
            Err(error) => error.to_string(),
        };
        let missing = |key: &str| told.contains(&format!("key {key}: it is missing"));
        if missing("secrets") {
            toml.push_str("secrets = [\"env:S\"]\n");
            continue;
        }
        let Some((key, value)) = NEEDED.iter().find(|(key, _)| missing(key)) else { panic!("{told}") };
        toml.push_str(&format!("{key} = {value:?}\n"));
    }
}
