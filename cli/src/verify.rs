//! `hookledger verify`: whether a captured delivery is genuine, what is in it, and if it is not, why. Asks nobody.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use hookledger_core::{Identity, Lifecycle, Secret};
use hookledger_providers::{Rejection, SignedRequest, Source, Sources, Verified, about, explain, key_fetch, verify};
use hookledger_runtime::now;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

use crate::ended::{BadInput, Ended};
use crate::session::Session;
use crate::sign::header;

/// Look why a signature fails, or what a delivery is about
///
/// Takes a delivery as it was captured, with nothing changed in its body. Exit codes: 0 genuine, 1 not, 2 not understood.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// A built-in provider: `hookledger providers` lists them
    #[arg(long, value_name = "NAME")]
    provider: String,
    /// The signing secret; several while it is rotated. Better set as WEBHOOK_SECRET: other users of a machine see arguments
    #[arg(long = "secret", value_name = "SECRET")]
    secrets: Vec<String>,
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
    /// What stands under the key's URL, where the provider publishes its key
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a setting is a key, = and a value")?;
    let plain =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if plain { Ok((key.to_owned(), value.to_owned())) } else { Err(format!("{key:?} is no setting's name")) }
}

pub(crate) fn run(arguments: &Verify, session: &mut Session) -> Result<Ended> {
    let source = source(arguments)?;
    let texts = texts(arguments, session)?;
    let request = request(arguments)?;
    let now_s = arguments.now.unwrap_or_else(|| now() / 1_000_000);
    let secrets = texts.iter().map(|text| source.secret(text)).collect::<Result<Vec<Secret>, _>>();
    let secrets = secrets.map_err(|error| BadInput(format!("a secret cannot be used: {error}")))?;
    let verified = match key_fetch(&source, &request) {
        Ok(None) => verify(&source, &request, &secrets, None, now_s),
        Ok(Some(fetch)) => {
            let missing = || BadInput(format!("save what stands under {} and name the file with --key", fetch.url()));
            let key = read(arguments.key.as_deref().ok_or_else(missing)?)?;
            let key = fetch.key(&key).map_err(|error| BadInput(format!("the key cannot be used: {error}")))?;
            verify(&source, &request, &[key], None, now_s)
        }
        Err(rejection) => Err(rejection),
    };
    let mut hints: Vec<&str> = Vec::new();
    if let Err(rejection) = &verified {
        hints.extend(texts.iter().flat_map(|text| explain(&source, &request, text, now_s)));
        hints.dedup();
        if hints.is_empty() && *rejection == Rejection::BadSignature {
            hints.push("nothing that was tried helps: it is another secret, or another body than the one that was signed");
        }
    }
    tell(&verified, &hints, session)
}

fn source(arguments: &Verify) -> Result<Source> {
    let name = &arguments.provider;
    let unknown = || BadInput(format!("no provider of the name {name}: `hookledger providers` lists them"));
    let provider = about().find(|about| about.name == name).ok_or_else(unknown)?;
    let secrets = if provider.secret.is_empty() { "" } else { "secrets = [\"env:WEBHOOK_SECRET\"]\n" };
    let mut toml = format!("[delivery]\nprovider = {:?}\n{secrets}", provider.name);
    for (key, value) in &arguments.settings {
        let bare =
            matches!(key.as_str(), "tolerance_s" | "body_bytes_max" | "livemode" | "sandbox") || value.starts_with('[');
        // A string of JSON is one of TOML.
        let value = if bare { value.clone() } else { json!(value).to_string() };
        toml.push_str(&format!("{key} = {value}\n"));
    }
    let signs_url = provider.definition.contains("{url");
    if let Some(url) = arguments.url.as_deref().filter(|_| signs_url) {
        let url = url.split_once('?').map_or(url, |(url, _)| url);
        toml.push_str(&format!("public_url = {}\n", json!(url)));
    }
    let sources = Sources::parse(&toml).map_err(|error| {
        let how = if signs_url { "--url, or --set KEY=VALUE" } else { "--set KEY=VALUE" };
        BadInput(format!("{} ({how})", error.to_string().trim_start_matches("source delivery: ")))
    })?;
    sources.get("delivery").cloned().ok_or_else(|| unknown().into())
}

fn texts(arguments: &Verify, session: &Session) -> Result<Vec<String>> {
    let needs_one = about().any(|about| about.name == arguments.provider && !about.secret.is_empty());
    if !needs_one || !arguments.secrets.is_empty() || arguments.key.is_some() {
        return Ok(arguments.secrets.clone());
    }
    let secret = session.terminal.secret(&session.env, "WEBHOOK_SECRET", "the signing secret")?;
    Ok(vec![String::from_utf8_lossy(secret.expose()).into_owned()])
}

fn request(arguments: &Verify) -> Result<SignedRequest> {
    let mut headers = HeaderMap::new();
    for (name, value) in &arguments.headers {
        headers.append(name.clone(), value.clone());
    }
    let query = arguments.url.as_deref().and_then(|url| url.split_once('?')).map(|(_, query)| query.to_owned());
    let body = if arguments.method == Method::POST { read(&arguments.body)? } else { Vec::new() };
    let path = "/webhooks/delivery".to_owned();
    Ok(SignedRequest { method: arguments.method.clone(), path, query, headers, body: Bytes::from(body) })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let read = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    read.map_err(|error| BadInput(format!("{error:#}")).into())
}

fn tell(verified: &Result<Verified, Rejection>, hints: &[&str], session: &Session) -> Result<Ended> {
    let events: Vec<&Identity> = match verified {
        Ok(Verified::Events(events)) => events.iter().map(|event| event.identity()).collect(),
        Ok(Verified::Handshake(_) | Verified::Ignored { .. }) | Err(_) => Vec::new(),
    };
    // What is proven and cannot be used is genuine all the same.
    let valid = verified.as_ref().map_or_else(|rejection| rejection.status() == 400, |_| true);
    let ended = if valid { Ended::Done } else { Ended::Declined };
    let terminal = &session.terminal;
    if terminal.json {
        let reason = verified.as_ref().err().map(Rejection::reason);
        let events: Vec<Value> = events.iter().map(|identity| as_json(identity)).collect();
        terminal.json(&json!({ "valid": valid, "reason": reason, "hints": hints, "events": events }))?;
        return Ok(ended);
    }
    match verified {
        Ok(Verified::Events(_)) => terminal.line(&terminal.paint.green("valid"))?,
        Ok(Verified::Handshake(answer)) => {
            terminal.line(&format!("valid: a handshake, which is answered with {}", answer.status))?;
        }
        Ok(Verified::Ignored { reason }) => terminal.line(&format!("valid, with nothing to process: {reason}"))?,
        Err(rejection) if valid => terminal.line(&format!("valid, but refused: {}", rejection.message()))?,
        Err(rejection) => {
            terminal.line(&format!("{}: {}", terminal.paint.red("not valid"), rejection.reason().replace('_', " ")))?;
        }
    }
    for hint in hints {
        terminal.line(&format!("  {hint}"))?;
    }
    for identity in events {
        let object = identity.object.as_ref().map(|object| format!("{} {}", object.kind, object.id)).unwrap_or_default();
        let version = identity.version.map_or_else(String::new, |version| version.to_string());
        let told = [identity.event_id.as_str(), &identity.event_type, &object, &version].map(crate::terminal::safe);
        terminal.line(&format!("  {}", told.join("  ").trim_end()))?;
    }
    Ok(ended)
}

fn as_json(identity: &Identity) -> Value {
    let object = identity.object.as_ref();
    let object = object.map(|object| json!({ "account": object.account, "kind": object.kind, "id": object.id }));
    let lifecycle = match identity.lifecycle {
        Lifecycle::Created => "created",
        Lifecycle::Updated => "updated",
        Lifecycle::Deleted => "deleted",
    };
    json!({
        "event_id": identity.event_id.as_str(), "event_type": identity.event_type, "object": object,
        "version": identity.version, "lifecycle": lifecycle,
    })
}
