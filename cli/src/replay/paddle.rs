//! `hookledger replay paddle`: notifications, which carry the event they told of
//! (developer.paddle.com/api-reference/notifications/list-notifications).

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use clap::builder::PossibleValuesParser;
use hookledger_core::Micros;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ended::Ended;
use crate::replay::again::{self, Wanted};
use crate::replay::api::{Api, body};
use crate::replay::feed::{Delivery, Feed, Page};
use crate::replay::run::{Posting, Run, SpanArguments, tell_horizon};
use crate::session::Session;
use crate::when;

/// Days that Paddle keeps events and notifications.
pub(crate) const HORIZON_DAYS: i64 = 90;
/// The most that a page may have.
pub(crate) const PAGE: &str = "200";
const STATUSES: [&str; 4] = ["not_attempted", "needs_retry", "failed", "delivered"];

/// Fetch Paddle's notifications and post those that are missing, or have Paddle send them again
///
/// PADDLE_API_KEY holds a key that may read notifications, and write them for --redeliver.
#[derive(Debug, Args)]
pub(crate) struct Paddle {
    #[command(flatten)]
    span: SpanArguments,
    /// In this state at Paddle; may be given several times
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(STATUSES))]
    status: Vec<String>,
    /// To this notification destination only
    #[arg(long, value_name = "NTFSET")]
    destination: Option<String>,
    /// Have Paddle send the failed ones again, signed, instead of posting them
    #[arg(long, conflicts_with_all = ["to", "dry_run", "status"])]
    redeliver: bool,
    #[command(flatten)]
    place: ApiPlace,
    #[command(flatten)]
    posting: Posting,
}

/// Which of Paddle's APIs.
#[derive(Debug, Args)]
pub(crate) struct ApiPlace {
    /// Paddle's sandbox
    #[arg(long, conflicts_with = "api")]
    sandbox: bool,
    /// Requests a second to Paddle, which allows 4
    #[arg(long, default_value_t = 3.0, value_name = "N")]
    rate: f64,
    /// Where the API is
    #[arg(long, default_value = "https://api.paddle.com/", value_name = "URL")]
    api: String,
}

impl ApiPlace {
    pub(crate) fn api(&self, session: &Session) -> Result<Api> {
        let what = "a key of Paddle's API that may read notifications";
        let key = session.terminal.secret(&session.env, "PADDLE_API_KEY", what)?;
        let base = if self.sandbox { "https://sandbox-api.paddle.com/" } else { &self.api };
        Api::new(base, self.rate, ("authorization", format!("Bearer {}", String::from_utf8_lossy(key.expose()))))
    }
}

/// Notifications, the oldest first. A cursor is the address of a page.
struct Notifications<'a> {
    api: &'a Api,
    query: Vec<(&'static str, String)>,
}

#[derive(Deserialize)]
struct Listed {
    data: Vec<Notification>,
    meta: Meta,
}

/// What stands beside every list of Paddle's.
#[derive(Deserialize)]
pub(crate) struct Meta {
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Pagination {
    next: Option<String>,
    has_more: bool,
}

impl Meta {
    /// The address of the next page.
    pub(crate) fn next(self) -> Option<String> {
        self.pagination.next.filter(|_| self.pagination.has_more)
    }
}

#[derive(Deserialize)]
struct Notification {
    id: String,
    #[serde(rename = "type")]
    event_type: String,
    occurred_at: Option<Timestamp>,
    payload: Box<RawValue>,
}

/// Several destinations get a notification each of one event.
#[derive(Deserialize)]
struct Event {
    event_id: String,
}

pub(crate) async fn run(arguments: Paddle, session: &mut Session) -> Result<Ended> {
    let Paddle { span, status, destination, redeliver, place, posting } = arguments;
    let api = place.api(session)?;
    let status = if redeliver { "failed".to_owned() } else { status.join(",") };
    let mut query = vec![("order_by", "id[ASC]".to_owned()), ("per_page", PAGE.to_owned())];
    query.extend((!status.is_empty()).then(|| ("status", status.clone())));
    query.extend(destination.iter().map(|id| ("notification_setting_id", id.clone())));
    let times = |since: Micros, until: Micros| [("from", when::show(since)), ("to", when::show(until))];
    if redeliver {
        let (since, until) = (span.since.at, span.until.map_or_else(hookledger_runtime::now, |until| until.at));
        tell_horizon(session, "Paddle", HORIZON_DAYS, since);
        query.extend(times(since, until));
        let wanted = failed(&Notifications { api: &api, query }).await?;
        return again::ask(session, &api, "Paddle", since, 0, wanted, posting.report.as_ref()).await;
    }
    let asked = vec![status, destination.unwrap_or_default()];
    let run = Run::new(session, "Paddle", posting, span.into(), Some(HORIZON_DAYS), asked).await?;
    query.extend(times(run.since.unwrap_or_default(), run.until));
    run.all(&[Notifications { api: &api, query }], session).await
}

impl Notifications<'_> {
    async fn list(&self, cursor: Option<&str>) -> Result<Listed> {
        let query = if cursor.is_some() { &[][..] } else { &self.query };
        let response = self.api.get(cursor.unwrap_or("notifications"), query, &[]).await;
        let listed = body(response.context("cannot list Paddle's notifications")?).await?;
        serde_json::from_slice(&listed).context("Paddle answered something else than notifications")
    }
}

impl Feed for Notifications<'_> {
    const NEWEST_FIRST: bool = false;

    fn name(&self) -> String {
        "Paddle".to_owned()
    }

    async fn page(&self, cursor: Option<&str>) -> Result<Page> {
        let listed = self.list(cursor).await?;
        let next = listed.meta.next();
        let deliveries = listed.data.into_iter().map(|one| {
            let event: Event =
                serde_json::from_str(one.payload.get()).context("Paddle listed something without an event")?;
            Ok(Delivery {
                id: event.event_id,
                at: one.occurred_at.map(Timestamp::as_microsecond),
                event_type: one.event_type,
                headers: vec![("content-type".to_owned(), "application/json".to_owned())],
                body: Bytes::copy_from_slice(one.payload.get().as_bytes()),
            })
        });
        Ok(Page { deliveries: deliveries.collect::<Result<_>>()?, next })
    }
}

async fn failed(notifications: &Notifications<'_>) -> Result<Vec<Wanted>> {
    let (mut wanted, mut cursor) = (Vec::new(), None);
    loop {
        let listed = notifications.list(cursor.as_deref()).await?;
        cursor = listed.meta.next();
        wanted.extend(listed.data.into_iter().map(|one| Wanted {
            path: format!("notifications/{}/replay", one.id),
            at: one.occurred_at.map(Timestamp::as_microsecond),
            event_type: one.event_type,
            id: one.id,
        }));
        if cursor.is_none() {
            return Ok(wanted);
        }
    }
}
