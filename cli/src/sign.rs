//! `hookledger sign`: a delivery as its provider would send it, for trying a deployment out.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use hookledger_core::SourceName;
use hookledger_providers::{SecretRef, SignedRequest, sign};
use hookledger_runtime::{load_sources, now};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::json;

use crate::ended::{BadInput, Ended};
use crate::filter::source_name;
use crate::session::Session;

/// Make a signed delivery, for trying a deployment out
///
/// Prints a curl command with a signature that is good for a few minutes. The secret is the source's own, from the variable that
/// sources.toml names (or WEBHOOK_SECRET where it is stored elsewhere), or asked for; it is not printed.
#[derive(Debug, Args)]
pub(crate) struct Sign {
    #[arg(value_parser = source_name)]
    source: SourceName,
    /// The body; - reads standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    body: PathBuf,
    /// A header that names the event, or is signed too: 'x-github-event: push'
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The deployment's address
    #[arg(long, value_name = "URL", default_value = "https://hooks.example.com")]
    to: String,
}

pub(crate) fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("a header is a name, a colon and a value")?;
    let name = name.trim().parse().map_err(|_| "not a header's name".to_owned())?;
    Ok((name, value.trim().parse().map_err(|_| "not a header's value".to_owned())?))
}

pub(crate) fn run(arguments: Sign, session: &mut Session) -> Result<Ended> {
    let Sign { source: name, body, headers, to } = arguments;
    let sources = load_sources(&session.env)?;
    let unknown = || BadInput(format!("no source of the name {name} in sources.toml (SOURCES_FILE names another)"));
    let source = sources.get(name.as_str()).ok_or_else(unknown)?;
    let variable = source.secret_refs().iter().find_map(|reference| match reference {
        SecretRef::Env(variable) => Some(variable.as_str()),
        SecretRef::SecretsManager { .. } => None,
    });
    let text = session.terminal.secret(&session.env, variable.unwrap_or("WEBHOOK_SECRET"), "the source's signing secret")?;
    let secret = source.secret(&String::from_utf8_lossy(text.expose()))?;
    let mut bytes = Vec::new();
    let from_stdin = body.as_os_str() == "-";
    if from_stdin {
        std::io::stdin().read_to_end(&mut bytes)?;
    } else {
        bytes = std::fs::read(&body).with_context(|| format!("cannot read {}", body.display()))?;
    }
    let mut all = HeaderMap::new();
    all.insert("content-type", HeaderValue::from_static("application/json"));
    all.extend(headers);
    let path = format!("/webhooks/{name}");
    let mut request = SignedRequest { method: Method::POST, path, query: None, headers: all, body: Bytes::from(bytes) };
    sign(source, &mut request, &secret, now() / 1_000_000)?;

    let url = format!("{}/webhooks/{name}", to.trim_end_matches('/'));
    let text_of = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    if session.terminal.json {
        let headers: serde_json::Map<_, _> =
            request.headers.iter().map(|(name, value)| (name.to_string(), text_of(value).into())).collect();
        let body = String::from_utf8_lossy(&request.body);
        session.terminal.json(&json!({ "url": url, "headers": headers, "body": body }))?;
        return Ok(Ended::Done);
    }
    let mut command = format!("curl -i {}", quoted(&url));
    for (name, value) in &request.headers {
        command.push_str(&format!(" \\\n  -H {}", quoted(&format!("{name}: {}", text_of(value)))));
    }
    let data = match (from_stdin, std::str::from_utf8(&request.body)) {
        (false, _) => format!("@{}", body.display()),
        (true, Ok(text)) => text.to_owned(),
        (true, Err(_)) => return Err(BadInput("a body that is no text has to be a file".to_owned()).into()),
    };
    session.terminal.line(&format!("{command} \\\n  --data-binary {}", quoted(&data)))?;
    Ok(Ended::Done)
}

/// For a shell, as it stands.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gives_back_what_was_quoted() {
        let text = "it's $HOME `x` \"y\" \\ \n end";
        let output = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(text))]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
    }
}
