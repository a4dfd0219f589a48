//! The receiver at the other end of a replay. Invariant: the token is sent over TLS, or to this machine.

use std::time::Duration;

use anyhow::Result;
use hookledger_core::{REPLAY_TOKEN_BYTES_MIN, Secret, SourceName};
use reqwest::{Response, StatusCode, Url};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::sleep;

use crate::ended::BadInput;
use crate::replay::feed::Delivery;
use crate::replay::pace::{backoff, http, may_pass, retry_after};
use crate::terminal::safe;

const TRIES: u32 = 6;
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// What the receiver made of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answered {
    New,
    Known,
    /// Nothing to process: of the other mode, or no event.
    Ignored,
    /// Refused, and it would be refused again.
    Rejected(String),
    /// Not taken, for whatever reason; try later.
    Failed(String),
}

pub(crate) struct Receiver {
    http: reqwest::Client,
    url: Url,
    token: Secret,
}

impl Receiver {
    /// `to` is the deployment's address, or a source's own.
    pub(crate) fn new(to: &str, source: &SourceName, token: Secret) -> Result<Self> {
        if token.expose().len() < REPLAY_TOKEN_BYTES_MIN {
            return Err(BadInput(format!("REPLAY_TOKEN has fewer than {REPLAY_TOKEN_BYTES_MIN} bytes")).into());
        }
        let mut url = secure_url(to, "--to")?;
        if !url.path().contains("/webhooks/") {
            url.set_path(&format!("{}/webhooks/{source}", url.path().trim_end_matches('/')));
        }
        Ok(Self { http: http()?, url, token })
    }

    pub(crate) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// An error means that no delivery would fare better.
    pub(crate) async fn post(&self, delivery: &Delivery) -> Result<Answered> {
        let mut why = String::new();
        for attempt in 1..=TRIES {
            let mut post = self.http.post(self.url.clone()).header("x-replay-token", self.token.expose());
            for (name, value) in &delivery.headers {
                post = post.header(name, value);
            }
            let wait = match post.body(delivery.body.clone()).send().await {
                Ok(response) if !may_pass(response.status()) => return self.read(response).await,
                Ok(response) => {
                    why = format!("the receiver answers {}", response.status());
                    retry_after(&response).map(|wait| wait.min(RETRY_AFTER_MAX))
                }
                Err(error) => {
                    why = hookledger_runtime::error_chain(&error.without_url());
                    None
                }
            };
            if attempt < TRIES {
                sleep(wait.unwrap_or_else(|| backoff(attempt))).await;
            }
        }
        Ok(Answered::Failed(why))
    }

    async fn read(&self, response: Response) -> Result<Answered> {
        let status = response.status();
        let body: Value = response.json().await.unwrap_or_default();
        let said = || safe(body["error"].as_str().unwrap_or("no reason given"));
        match (status, body["outcome"].as_str()) {
            (StatusCode::OK, Some("accepted")) => Ok(Answered::New),
            (StatusCode::OK, Some("duplicate")) => Ok(Answered::Known),
            (StatusCode::OK, Some("ignored")) => Ok(Answered::Ignored),
            (StatusCode::UNAUTHORIZED, _) => {
                let why = "the receiver does not take the replay token: is its REPLAY_TOKEN set, and to the same?";
                Err(BadInput(why.to_owned()).into())
            }
            (StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED, _) => {
                Err(BadInput(format!("{} is no receiver's address: it answers {status}", self.url)).into())
            }
            (status, _) if status.is_client_error() => Ok(Answered::Rejected(format!("{status}: {}", said()))),
            (status, _) => Err(BadInput(format!("{} is no receiver: it answers {status}", self.url)).into()),
        }
    }
}

/// `http` is for this machine only.
pub(crate) fn secure_url(text: &str, argument: &str) -> Result<Url> {
    let url: Url =
        text.parse().map_err(|_| BadInput(format!("{argument} is not a URL such as https://hooks.example.com")))?;
    let here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    match url.scheme() {
        "https" => Ok(url),
        "http" if here => Ok(url),
        _ => Err(BadInput(format!("{argument} must begin with https://: it is sent a secret")).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(to: &str) -> Result<String, String> {
        let token = Secret::new("t".repeat(32)).unwrap();
        let receiver = Receiver::new(to, &SourceName::new("stripe").unwrap(), token);
        receiver.map(|receiver| receiver.url().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_deployment_s_address_is_completed_and_a_source_s_is_not() {
        assert_eq!(url("https://h.example").unwrap(), "https://h.example/webhooks/stripe");
        assert_eq!(url("https://h.example/prod/").unwrap(), "https://h.example/prod/webhooks/stripe");
        assert_eq!(url("https://h.example/webhooks/other").unwrap(), "https://h.example/webhooks/other");
        assert_eq!(url("http://127.0.0.1:9000").unwrap(), "http://127.0.0.1:9000/webhooks/stripe");
    }

    #[test]
    fn a_token_is_not_sent_in_the_clear() {
        for to in ["http://h.example", "ftp://h.example", "http://localhost.h.example"] {
            assert!(url(to).unwrap_err().contains("https://"), "{to}");
        }
        assert!(url("h.example").unwrap_err().contains("not a URL"));
    }
}
