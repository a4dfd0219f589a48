//! `hookledger backfill-versions paddle`: every event of the last 90 days, which is as far back as Paddle can replay any
//! (developer.paddle.com/api-reference/events/list-events). An object's own `updated_at` is not what its events are ordered by.

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use hookledger_runtime::now;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::learn::{Learning, learn};
use crate::ended::Ended;
use crate::replay::api::{Api, body};
use crate::replay::feed::{Delivery, Feed, Page};
use crate::replay::paddle::{ApiPlace, HORIZON_DAYS, Meta, PAGE};
use crate::replay::run::tell_horizon;
use crate::session::Session;

/// From the newest event of each object at Paddle
///
/// The version is the newest event's `occurred_at`, as it is for the receiver. PADDLE_API_KEY holds a key that may read events.
#[derive(Debug, Args)]
pub(crate) struct Paddle {
    #[command(flatten)]
    place: ApiPlace,
    #[command(flatten)]
    learning: Learning,
}

struct Events<'a>(&'a Api);

#[derive(Deserialize)]
struct Listed {
    data: Vec<Box<RawValue>>,
    meta: Meta,
}

pub(super) async fn run(arguments: Paddle, session: &mut Session) -> Result<Ended> {
    let api = arguments.place.api(session)?;
    tell_horizon(session, "Paddle", HORIZON_DAYS, now());
    learn("paddle", &arguments.learning, &[Events(&api)], "Paddle's events", session).await
}

impl Feed for Events<'_> {
    const NEWEST_FIRST: bool = false;

    fn name(&self) -> String {
        "Paddle".to_owned()
    }

    async fn page(&self, cursor: Option<&str>) -> Result<Page> {
        let first = [("order_by", "id[ASC]".to_owned()), ("per_page", PAGE.to_owned())];
        let query = if cursor.is_some() { &[][..] } else { &first };
        let response = self.0.get(cursor.unwrap_or("events"), query, &[]).await.context("cannot list Paddle's events")?;
        let listed: Listed =
            serde_json::from_slice(&body(response).await?).context("Paddle answered something else than events")?;
        let deliveries = listed.data.iter().map(|event| Delivery {
            id: String::new(),
            at: None,
            event_type: String::new(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: Bytes::copy_from_slice(event.get().as_bytes()),
        });
        Ok(Page { deliveries: deliveries.collect(), next: listed.meta.next() })
    }
}
