//! Stripe's lists of events (docs.stripe.com/api/events/list and docs.stripe.com/api/v2/core/events/list).

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use hookledger_core::Micros;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ended::BadInput;
use crate::replay::api::{Api, body};
use crate::replay::feed::{Delivery, Feed, Page};
use crate::session::Session;
use crate::when;

/// Days that both lists go back.
pub(crate) const HORIZON_DAYS: i64 = 30;
/// The most that a page may have.
const PAGE: &str = "100";
/// Types that a list can be narrowed to.
const TYPES_MAX: usize = 20;
/// v2 wants one to be named, and this is the first whose list takes `created`; its events look the same in all.
const API_VERSION: &str = "2025-11-17.clover";

/// Which lists of which accounts.
#[derive(Debug, Args)]
pub(crate) struct Lists {
    /// Of this type only, up to 20 of them
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Of this connected account instead of your own; may be given several times
    #[arg(long, value_name = "ACCT")]
    account: Vec<String>,
    /// Of your own account and every connected one
    #[arg(long, conflicts_with = "account")]
    all_accounts: bool,
    /// The events of the v2 list (thin events) besides those of v1
    #[arg(long)]
    v2: bool,
    /// Requests a second to Stripe, which allows 25 in test mode and 100 in live mode
    #[arg(long, default_value_t = 15.0, value_name = "N")]
    rate: f64,
    /// Where the API is
    #[arg(long, default_value = "https://api.stripe.com", value_name = "URL")]
    api: String,
}

impl Lists {
    pub(crate) fn api(&self, session: &Session) -> Result<Api> {
        if self.types.len() > TYPES_MAX {
            return Err(BadInput(format!("Stripe takes up to {TYPES_MAX} types at once")).into());
        }
        let key = session.terminal.secret(&session.env, "STRIPE_API_KEY", "a key of Stripe's API that may read events")?;
        if !key.expose().starts_with(b"sk_") && !key.expose().starts_with(b"rk_") {
            return Err(BadInput("STRIPE_API_KEY is no API key: one begins with sk_ or rk_".to_owned()).into());
        }
        let bearer = format!("Bearer {}", String::from_utf8_lossy(key.expose()));
        Api::new(&self.api, self.rate, ("authorization", bearer))
    }

    /// What tells these lists from others.
    pub(crate) fn asked(&self) -> Vec<String> {
        let flags = [(self.all_accounts, "all accounts"), (self.v2, "v2")];
        let flags = flags.into_iter().filter(|(flag, _)| *flag).map(|(_, name)| name.to_owned());
        self.types.iter().chain(&self.account).cloned().chain(flags).collect()
    }

    pub(crate) async fn feeds<'a>(
        &'a self,
        api: &'a Api,
        since: Micros,
        until: Micros,
        undelivered: bool,
    ) -> Result<Vec<Events<'a>>> {
        let mut accounts: Vec<Option<String>> = self.account.iter().cloned().map(Some).collect();
        if accounts.is_empty() {
            accounts.push(None);
        }
        if self.all_accounts {
            accounts.extend(self::accounts(api).await?.into_iter().map(Some));
        }
        let lists = if self.v2 { vec![List::V1, List::V2] } else { vec![List::V1] };
        let of_lists = |account: &Option<String>| {
            let account = account.clone();
            lists.iter().map(move |list| (account.clone(), *list)).collect::<Vec<_>>()
        };
        let feeds = accounts.iter().flat_map(of_lists).map(|(account, list)| Events {
            api,
            list,
            account,
            types: &self.types,
            undelivered,
            since,
            until,
        });
        Ok(feeds.collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    V1,
    V2,
}

/// One list of one account.
pub(crate) struct Events<'a> {
    api: &'a Api,
    list: List,
    account: Option<String>,
    types: &'a [String],
    undelivered: bool,
    since: Micros,
    until: Micros,
}

/// Of either list. v1's `has_more` goes with the last id, v2 gives an address.
#[derive(Deserialize)]
struct Listed {
    data: Vec<Box<RawValue>>,
    #[serde(default)]
    has_more: bool,
    next_page_url: Option<String>,
}

#[derive(Deserialize)]
struct Head {
    id: String,
    #[serde(rename = "type", default)]
    event_type: String,
    created: Option<Created>,
}

/// Seconds in v1, a date in v2.
#[derive(Deserialize)]
#[serde(untagged)]
enum Created {
    Seconds(i64),
    Date(Timestamp),
}

async fn accounts(api: &Api) -> Result<Vec<String>> {
    let mut accounts: Vec<String> = Vec::new();
    loop {
        let mut query = vec![("limit", PAGE.to_owned())];
        query.extend(accounts.last().map(|last| ("starting_after", last.clone())));
        let page = read(api.get("/v1/accounts", &query, &[]).await.context("cannot list connected accounts")?).await?;
        for account in &page.data {
            accounts.push(serde_json::from_str::<Head>(account.get())?.id);
        }
        if !page.has_more || page.data.is_empty() {
            return Ok(accounts);
        }
    }
}

impl Feed for Events<'_> {
    const NEWEST_FIRST: bool = true;

    fn name(&self) -> String {
        let list = match self.list {
            List::V1 => "Stripe",
            List::V2 => "Stripe v2",
        };
        self.account.as_ref().map_or_else(|| list.to_owned(), |account| format!("{list} {account}"))
    }

    async fn page(&self, cursor: Option<&str>) -> Result<Page> {
        let (path, query) = match (self.list, cursor) {
            (List::V1, cursor) => ("/v1/events", self.v1_query(cursor)),
            (List::V2, None) => ("/v2/core/events", self.v2_query()),
            // It brings its own query.
            (List::V2, Some(address)) => (address, Vec::new()),
        };
        let mut headers: Vec<(&str, &str)> = self.account.iter().map(|id| ("stripe-account", id.as_str())).collect();
        // An account's events of v1 come as they were delivered; its own version has nothing to do with it.
        if self.list == List::V2 {
            headers.push(("stripe-version", API_VERSION));
        }
        let query: Vec<(&str, String)> = query.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let listed = read(self.api.get(path, &query, &headers).await.context("cannot list Stripe's events")?).await?;
        let deliveries = listed.data.iter().map(|event| delivery(event)).collect::<Result<Vec<_>>>()?;
        let next = match self.list {
            List::V1 => deliveries.last().filter(|_| listed.has_more).map(|last| last.id.clone()),
            List::V2 => listed.next_page_url,
        };
        // Stripe's times are of whole seconds in v1.
        let since = self.since - self.since.rem_euclid(1_000_000);
        let within = |event: &Delivery| event.at.is_none_or(|at| (since..=self.until).contains(&at));
        Ok(Page { deliveries: deliveries.into_iter().filter(within).collect(), next })
    }
}

impl Events<'_> {
    /// With both ends fixed, the list does not move while it is walked through.
    fn v1_query(&self, cursor: Option<&str>) -> Vec<(String, String)> {
        let mut query = vec![
            ("limit".to_owned(), PAGE.to_owned()),
            ("created[gte]".to_owned(), self.since.div_euclid(1_000_000).to_string()),
            ("created[lte]".to_owned(), self.until.div_euclid(1_000_000).to_string()),
        ];
        query.extend(self.types.iter().map(|event_type| ("types[]".to_owned(), event_type.clone())));
        if self.undelivered {
            query.push(("delivery_success".to_owned(), "false".to_owned()));
        }
        query.extend(cursor.map(|cursor| ("starting_after".to_owned(), cursor.to_owned())));
        query
    }

    fn v2_query(&self) -> Vec<(String, String)> {
        let mut query = vec![
            ("limit".to_owned(), PAGE.to_owned()),
            ("created[gte]".to_owned(), when::show(self.since)),
            ("created[lte]".to_owned(), when::show(self.until)),
        ];
        // v2 numbers the members of a list.
        query.extend(self.types.iter().enumerate().map(|(n, event_type)| (format!("types[{n}]"), event_type.clone())));
        query
    }
}

async fn read(response: reqwest::Response) -> Result<Listed> {
    serde_json::from_slice(&body(response).await?).context("Stripe answered something else than a list")
}

/// The event as Stripe lists it, which is as it was delivered except for `pending_webhooks`.
fn delivery(event: &RawValue) -> Result<Delivery> {
    let head: Head = serde_json::from_str(event.get()).context("Stripe listed something else than an event")?;
    let at = head.created.map(|created| match created {
        Created::Seconds(seconds) => seconds * 1_000_000,
        Created::Date(date) => date.as_microsecond(),
    });
    Ok(Delivery {
        id: head.id,
        at,
        event_type: head.event_type,
        headers: vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())],
        body: Bytes::copy_from_slice(event.get().as_bytes()),
    })
}
