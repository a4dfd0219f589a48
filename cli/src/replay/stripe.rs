//! `hookledger replay stripe`: the events of Stripe's lists, which keep them for 30 days.

mod events;

use anyhow::Result;
use clap::Args;

pub(crate) use self::events::{HORIZON_DAYS, Lists};

use crate::ended::Ended;
use crate::replay::run::{Posting, Run, SpanArguments};
use crate::session::Session;

/// Fetch Stripe's events and post those that are missing
///
/// Lists every event of the time, 100 to a page, and posts them the oldest first. Stripe keeps events for 30 days. The list
/// has all types, so name those that your endpoint gets with --type. STRIPE_API_KEY holds a key that may read events.
#[derive(Debug, Args)]
pub(crate) struct Stripe {
    #[command(flatten)]
    span: SpanArguments,
    #[command(flatten)]
    lists: Lists,
    /// Only what Stripe could not deliver to some endpoint, not necessarily to yours
    #[arg(long, conflicts_with = "v2")]
    undelivered: bool,
    #[command(flatten)]
    posting: Posting,
}

pub(crate) async fn run(arguments: Stripe, session: &mut Session) -> Result<Ended> {
    let Stripe { span, lists, undelivered, posting } = arguments;
    let api = lists.api(session)?;
    let mut asked = lists.asked();
    asked.extend(undelivered.then(|| "undelivered".to_owned()));
    let run = Run::new(session, "Stripe", posting, span.into(), Some(HORIZON_DAYS), asked).await?;
    let feeds = lists.feeds(&api, run.since.unwrap_or_default(), run.until, undelivered).await?;
    run.all(&feeds, session).await
}
