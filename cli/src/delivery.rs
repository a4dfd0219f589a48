//! A delivery as it is typed: whose it is, its headers and its body. Invariant: `sign` and `verify` understand the same words,
//! so that what one prints the other takes.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use hookledger_providers::{About, SignedRequest, Source, Sources, about};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::json;

use crate::ended::BadInput;
use crate::session::Session;

/// Where a secret is looked for that was not typed.
const SECRET: &str = "WEBHOOK_SECRET";

#[derive(Debug, Args)]
pub(crate) struct Delivery {
    /// A built-in provider: `hookledger providers` lists them
    #[arg(long, value_name = "NAME")]
    provider: String,
    /// Each header of the delivery
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The body; - reads standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    body: PathBuf,
    /// The URL as the provider has it, where it is signed, with the query where there is one
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[arg(long, default_value = "POST")]
    method: Method,
    /// When the delivery came, in seconds since 1970: signatures grow too old
    #[arg(long, value_name = "UNIX", allow_negative_numbers = true)]
    now: Option<i64>,
    /// Another setting of the source, as in sources.toml: topic_arn=arn:…
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("a header is a name, a colon and a value")?;
    let name = name.trim().parse().map_err(|_| "not a header's name".to_owned())?;
    Ok((name, value.trim().parse().map_err(|_| "not a header's value".to_owned())?))
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a setting is a key, = and a value")?;
    let plain =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if plain { Ok((key.to_owned(), value.to_owned())) } else { Err(format!("{key:?} is no setting's name")) }
}

impl Delivery {
    pub(crate) fn provider(&self) -> Result<About> {
        let name = &self.provider;
        let unknown = || BadInput(format!("no provider of the name {name}: `hookledger providers` lists them"));
        Ok(about().find(|about| about.name == name).ok_or_else(unknown)?)
    }

    /// A source of the provider with the settings that were typed. `url` stands in for one that was not.
    pub(crate) fn source(&self, url: Option<&str>) -> Result<Source> {
        let provider = self.provider()?;
        let secrets = if provider.secret.is_empty() { String::new() } else { format!("secrets = [\"env:{SECRET}\"]\n") };
        let mut toml = format!("[delivery]\nprovider = {:?}\n{secrets}", provider.name);
        for (key, value) in &self.settings {
            let bare =
                matches!(key.as_str(), "tolerance_s" | "body_bytes_max" | "livemode" | "sandbox") || value.starts_with('[');
            // A string of JSON is one of TOML.
            let value = if bare { value.clone() } else { json!(value).to_string() };
            toml.push_str(&format!("{key} = {value}\n"));
        }
        let signs_url = provider.definition.contains("{url");
        if let Some(url) = self.url.as_deref().or(url).filter(|_| signs_url) {
            let url = url.split_once('?').map_or(url, |(url, _)| url);
            toml.push_str(&format!("public_url = {}\n", json!(url)));
        }
        let sources = Sources::parse(&toml).map_err(|error| {
            let how = if signs_url { "--url, or --set KEY=VALUE" } else { "--set KEY=VALUE" };
            BadInput(format!("{} ({how})", error.to_string().trim_start_matches("source delivery: ")))
        })?;
        sources.get("delivery").cloned().context("the source that was just made is not there")
    }

    /// The signing secrets: those that were typed, else one from the environment, else one that is asked for.
    pub(crate) fn secrets(&self, typed: &[String], session: &Session) -> Result<Vec<String>> {
        if !typed.is_empty() || self.provider()?.secret.is_empty() {
            return Ok(typed.to_vec());
        }
        let secret = session.terminal.secret(&session.env, SECRET, "the signing secret")?;
        Ok(vec![String::from_utf8_lossy(secret.expose()).into_owned()])
    }

    pub(crate) fn now_s(&self) -> i64 {
        self.now.unwrap_or_else(|| hookledger_runtime::now() / 1_000_000)
    }

    /// `url` stands in for one that was not typed.
    pub(crate) fn request(&self, url: Option<&str>) -> Result<SignedRequest> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(name.clone(), value.clone());
        }
        let url = self.url.as_deref().or(url);
        let query = url.and_then(|url| url.split_once('?')).map(|(_, query)| query.to_owned());
        let body = if self.method == Method::POST { read(&self.body)? } else { Vec::new() };
        let path = "/webhooks/delivery".to_owned();
        Ok(SignedRequest { method: self.method.clone(), path, query, headers, body: Bytes::from(body) })
    }
}

/// A file, or standard input.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let read = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    read.map_err(|error| BadInput(format!("{error:#}")).into())
}
