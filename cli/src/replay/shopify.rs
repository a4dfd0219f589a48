//! `hookledger replay shopify`: Shopify keeps no events, so what changed is listed, and the present state of each is posted as an
//! update. A state that was passed through meanwhile is lost, and so is a deletion.
//!
//! The `updated_at` of the object is its version, so a snapshot that a webhook has overtaken comes out as stale, and one that was
//! posted before is known. Shopify calls its REST API legacy since October 2024 (shopify.dev/docs/api/admin-rest), and has new
//! public apps use GraphQL; but webhooks carry objects in REST's form, so that is where a snapshot of one is to be had.

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use clap::builder::PossibleValuesParser;
use hookledger_core::Micros;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ended::{BadInput, Ended};
use crate::replay::api::{Api, body, next_link};
use crate::replay::feed::{Delivery, Feed, Page};
use crate::replay::run::{Posting, Run, SpanArguments};
use crate::session::Session;
use crate::when;

/// The most that a page may have.
const PAGE: &str = "250";
/// Shopify supports one for a year, and then answers with the oldest that it does (shopify.dev/docs/api/usage/versioning).
const API_VERSION: &str = "2026-01";
/// Webhook topics are of these names too.
const RESOURCES: [&str; 5] = ["orders", "products", "customers", "draft_orders", "checkouts"];
/// Stands for the merchant's action, of which there is none: object and `updated_at` make the id.
const EVENT_ID: &str = "hookledger-snapshot";

/// Post the present state of what changed at Shopify, which keeps no events
///
/// SHOPIFY_ACCESS_TOKEN holds a token of the app that may read the objects. Orders older than 60 days need the scope
/// read_all_orders.
#[derive(Debug, Args)]
pub(crate) struct Shopify {
    #[command(flatten)]
    lists: Lists,
    #[command(flatten)]
    span: SpanArguments,
    #[command(flatten)]
    posting: Posting,
}

/// Which lists of which shop.
#[derive(Debug, Args)]
pub(crate) struct Lists {
    /// example.myshopify.com
    #[arg(long, value_name = "DOMAIN")]
    shop: String,
    /// What to list; may be given several times
    #[arg(long, required = true, value_delimiter = ',', value_parser = PossibleValuesParser::new(RESOURCES))]
    resource: Vec<String>,
    /// Requests a second to Shopify, which allows 2, and more on larger plans
    #[arg(long, default_value_t = 1.5, value_name = "N")]
    rate: f64,
    /// Where the API is, if not at the shop's domain
    #[arg(long, value_name = "URL")]
    api: Option<String>,
}

impl Lists {
    pub(crate) fn api(&self, session: &Session) -> Result<Api> {
        if !self.shop.ends_with(".myshopify.com") || self.shop.contains('/') {
            return Err(BadInput("--shop is the shop's own domain: example.myshopify.com".to_owned()).into());
        }
        let token = session.terminal.secret(&session.env, "SHOPIFY_ACCESS_TOKEN", "an access token of the app")?;
        let base = self.api.clone().unwrap_or_else(|| format!("https://{}/", self.shop));
        let token = String::from_utf8_lossy(token.expose()).into_owned();
        Api::new(&base, self.rate, ("x-shopify-access-token", token))
    }

    pub(crate) fn feeds<'a>(&'a self, api: &'a Api, since: Micros, until: Micros) -> Vec<Objects<'a>> {
        let feed = |resource: &'a String| Objects {
            api,
            shop: &self.shop,
            resource,
            query: vec![
                ("limit", PAGE.to_owned()),
                ("status", "any".to_owned()),
                ("order", "updated_at asc".to_owned()),
                ("updated_at_min", when::show(since)),
                ("updated_at_max", when::show(until)),
            ],
        };
        self.resource.iter().map(feed).collect()
    }
}

/// One sort of object, those that changed first before the others. A cursor is the address of a page.
pub(crate) struct Objects<'a> {
    api: &'a Api,
    shop: &'a str,
    resource: &'a str,
    query: Vec<(&'static str, String)>,
}

#[derive(Deserialize)]
struct Head {
    id: u64,
    updated_at: Option<Timestamp>,
}

pub(crate) async fn run(arguments: Shopify, session: &mut Session) -> Result<Ended> {
    let Shopify { lists, span, posting } = arguments;
    let api = lists.api(session)?;
    let mut asked = vec![lists.shop.clone()];
    asked.extend(lists.resource.iter().cloned());
    session.terminal.note("Shopify keeps no events: what is posted is the present state of what changed, without deletions");
    let run = Run::new(session, "Shopify", posting, span.into(), None, asked).await?;
    let feeds = lists.feeds(&api, run.since.unwrap_or_default(), run.until);
    run.all(&feeds, session).await
}

impl Feed for Objects<'_> {
    const NEWEST_FIRST: bool = false;

    fn name(&self) -> String {
        format!("Shopify {}", self.resource)
    }

    async fn page(&self, cursor: Option<&str>) -> Result<Page> {
        let first = format!("admin/api/{API_VERSION}/{}.json", self.resource);
        let query = if cursor.is_some() { &[][..] } else { &self.query };
        let response = self.api.get(cursor.unwrap_or(&first), query, &[]).await;
        let response = response.with_context(|| format!("cannot list Shopify's {}", self.resource))?;
        let next = next_link(&response);
        let mut listed: std::collections::HashMap<String, Vec<Box<RawValue>>> =
            serde_json::from_slice(&body(response).await?).context("Shopify answered something else than a list")?;
        let objects = listed.remove(self.resource).unwrap_or_default();
        let deliveries = objects.iter().map(|object| self.delivery(object)).collect::<Result<Vec<_>>>()?;
        Ok(Page { deliveries, next })
    }
}

impl Objects<'_> {
    fn delivery(&self, object: &RawValue) -> Result<Delivery> {
        let head: Head = serde_json::from_str(object.get()).context("Shopify listed something without an id")?;
        let event_type = format!("{}/{}", self.resource, if self.resource == "orders" { "updated" } else { "update" });
        let at = head.updated_at.map(Timestamp::as_microsecond);
        let headers = [
            ("content-type", "application/json"),
            ("x-shopify-topic", &event_type),
            ("x-shopify-shop-domain", self.shop),
            ("x-shopify-event-id", EVENT_ID),
            ("x-shopify-api-version", API_VERSION),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let body = Bytes::copy_from_slice(object.get().as_bytes());
        Ok(Delivery { id: format!("{}/{}", self.resource, head.id), at, event_type, headers, body })
    }
}
