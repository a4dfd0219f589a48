//! Asking a provider's API, at its pace. Invariant: no more requests a second than agreed, and none before the time that a
//! `Retry-After` names.

use std::cell::Cell;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use crate::terminal::safe;

const ANSWER_WITHIN: Duration = Duration::from_secs(60);
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const TRIES: u32 = 7;
/// A provider that wants a longer pause is told about instead of waited for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);

pub(crate) fn http() -> Result<reqwest::Client> {
    Ok(reqwest::Client::builder()
        .timeout(ANSWER_WITHIN)
        .connect_timeout(CONNECT_WITHIN)
        // A redirect would take the credentials along to who knows where.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("hookledger/", env!("CARGO_PKG_VERSION")))
        .build()?)
}

/// How fast an API may be asked.
pub(crate) struct Pace {
    interval: Duration,
    next: Cell<Option<Instant>>,
}

impl Pace {
    pub(crate) fn per_second(requests: f64) -> Self {
        Self { interval: Duration::from_secs_f64(1.0 / requests.clamp(0.01, 1_000.0)), next: Cell::new(None) }
    }

    /// Sends what `request` makes, again and again if need be, until an answer is worth reading: a success, or a refusal that
    /// stays one.
    pub(crate) async fn send(&self, request: impl Fn() -> RequestBuilder) -> Result<Response> {
        for attempt in 1..=TRIES {
            self.turn().await;
            let answer = request().send().await.map_err(reqwest::Error::without_url);
            let wait = match &answer {
                Ok(response) if !may_pass(response.status()) => return checked(answer?).await,
                Ok(response) => retry_after(response),
                Err(error) if error.is_builder() => None,
                Err(_) => None,
            };
            if attempt == TRIES || wait.is_some_and(|wait| wait > RETRY_AFTER_MAX) {
                return checked(answer.context("the provider's API cannot be reached")?).await;
            }
            sleep(wait.unwrap_or_else(|| backoff(attempt))).await;
        }
        bail!("the provider's API was not asked")
    }

    async fn turn(&self) {
        let now = Instant::now();
        let turn = self.next.get().map_or(now, |next| next.max(now));
        self.next.set(Some(turn + self.interval));
        sleep_until(turn).await;
    }
}

/// Busy, or broken for the moment.
pub(crate) fn may_pass(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::REQUEST_TIMEOUT || status.is_server_error()
}

/// In seconds; the other form, a date, is as rare as it is hard to trust.
pub(crate) fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// 0.25 s, doubled each time, 30 s at most.
pub(crate) fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(250 << attempt.saturating_sub(1).min(7)).min(Duration::from_secs(30))
}

async fn checked(response: Response) -> Result<Response> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body: Value = response.json().await.unwrap_or_default();
    // Stripe, Shopify and Paddle nest it; GitHub does not.
    let said = ["/error/message", "/error/detail", "/message", "/errors"];
    let said = said
        .iter()
        .find_map(|at| body.pointer(at))
        .map(|text| text.as_str().map_or_else(|| text.to_string(), str::to_owned));
    bail!("the provider's API answers {status}: {}", safe(&said.unwrap_or_else(|| "no reason given".to_owned())))
}
