//! `hookledger sign`: a delivery as its provider would send it, for tests and for trying a deployment out.

use anyhow::{Result, anyhow};
use clap::Args;
use hookledger_providers::{SignedRequest, sign};
use http::{HeaderValue, header::CONTENT_TYPE};
use serde_json::{Map, json};

use crate::delivery::Delivery;
use crate::ended::{BadInput, Ended};
use crate::replay::pace::http;
use crate::replay::receiver::secure_url;
use crate::session::Session;
use crate::terminal::safe;

/// Make a signed delivery, for trying a deployment out
///
/// Prints a curl command whose signature is good for a few minutes, or sends the delivery itself (--post). A header that names
/// the event, or is signed too, is yours to give: --header 'x-github-event: push'. The secret is not printed.
#[derive(Debug, Args)]
pub(crate) struct Sign {
    #[command(flatten)]
    delivery: Delivery,
    /// The signing secret. Better set as WEBHOOK_SECRET: other users of a machine see arguments
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// Send it there, and say what was answered
    #[arg(long, value_name = "URL")]
    post: Option<String>,
}

pub(crate) async fn run(arguments: Sign, session: &mut Session) -> Result<Ended> {
    let Sign { delivery, secret, post } = arguments;
    let target = post.as_deref().map(|url| secure_url(url, "--post")).transpose()?;
    let url = post.as_deref();
    let source = delivery.source(url)?;
    let texts = delivery.secrets(&secret.into_iter().collect::<Vec<_>>(), session)?;
    let text = texts.first().ok_or_else(|| BadInput("only the provider can sign for itself".to_owned()))?;
    let secret = source.secret(text).map_err(|error| BadInput(format!("the secret cannot be used: {error}")))?;
    let mut request = delivery.request(url)?;
    request.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    sign(&source, &mut request, &secret, delivery.now_s()).map_err(|error| BadInput(error.to_string()))?;
    match target {
        Some(url) => send(url, request, session).await,
        None => tell(&format!("https://hooks.example.com/webhooks/{}", delivery.provider()?.name), &request, session),
    }
}

async fn send(url: reqwest::Url, request: SignedRequest, session: &Session) -> Result<Ended> {
    let sent = http()?.request(request.method, url).headers(request.headers).body(request.body).send().await;
    let response = sent.map_err(|error| anyhow!(error.without_url()).context("the delivery was not answered"))?;
    let status = response.status();
    let answer = response.text().await?;
    let ended = if status.is_success() { Ended::Done } else { Ended::Declined };
    if session.terminal.json {
        session.terminal.json(&json!({ "status": status.as_u16(), "answer": answer }))?;
    } else {
        session
            .terminal
            .line(format!("{status}\n{}", answer.lines().map(safe).collect::<Vec<_>>().join("\n")).trim_end())?;
    }
    Ok(ended)
}

fn tell(url: &str, request: &SignedRequest, session: &Session) -> Result<Ended> {
    let text_of = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let body = std::str::from_utf8(&request.body);
    if session.terminal.json {
        let headers: Map<_, _> =
            request.headers.iter().map(|(name, value)| (name.to_string(), text_of(value).into())).collect();
        let body = String::from_utf8_lossy(&request.body);
        session.terminal.json(&json!({ "url": url, "headers": headers, "body": body }))?;
        return Ok(Ended::Done);
    }
    let body = body.map_err(|_| BadInput("a body that is no text can only be sent: --post URL".to_owned()))?;
    let mut command = format!("curl -i {}", quoted(url));
    for (name, value) in &request.headers {
        command.push_str(&format!(" \\\n  -H {}", quoted(&format!("{name}: {}", text_of(value)))));
    }
    session.terminal.line(&format!("{command} \\\n  --data-binary {}", quoted(body)))?;
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
