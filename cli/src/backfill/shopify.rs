//! `hookledger backfill-versions shopify`.

use anyhow::Result;
use clap::Args;
use hookledger_core::Micros;
use hookledger_runtime::now;

use super::learn::{Learning, learn};
use crate::ended::Ended;
use crate::replay::shopify::Lists;
use crate::session::Session;
use crate::when;

/// From the objects of a shop
///
/// The version is the object's `updated_at`, as it is for the receiver. What was deleted is not listed. SHOPIFY_ACCESS_TOKEN
/// holds a token of the app that may read the objects.
#[derive(Debug, Args)]
pub(crate) struct Shopify {
    #[command(flatten)]
    lists: Lists,
    /// Changed since; everything otherwise
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    since: Option<Micros>,
    #[command(flatten)]
    learning: Learning,
}

pub(super) async fn run(arguments: Shopify, session: &mut Session) -> Result<Ended> {
    let Shopify { lists, since, learning } = arguments;
    let api = lists.api(session)?;
    let feeds = lists.feeds(&api, since.unwrap_or_default(), now());
    learn("shopify", &learning, &feeds, "Shopify's objects", session).await
}
