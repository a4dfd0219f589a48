//! `hookledger replay github`: the deliveries of a webhook
//! (docs.github.com/rest/repos/webhooks, docs.github.com/rest/orgs/webhooks, docs.github.com/rest/apps/webhooks).
//!
//! GitHub never delivers again by itself. Its `status=failure` filter leaves out redirects and connections that failed, so all are
//! listed, and an event is missed where no delivery of its GUID has the status OK.

mod app;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use hookledger_core::Micros;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ended::{BadInput, Ended};
use crate::replay::again::{self, Wanted};
use crate::replay::api::{Api, body, next_link};
use crate::replay::feed::{Delivery, Feed, Page};
use crate::replay::run::{Posting, Run, SpanArguments, tell_horizon};
use crate::session::Session;
use crate::terminal::safe;

/// Days that github.com keeps deliveries; GitHub Enterprise Server keeps them for 7.
const HORIZON_DAYS: i64 = 3;
/// Bodies that are fetched before any of them is posted: each may have up to 25 MB.
const PAGE_DELIVERIES: usize = 10;

/// Have GitHub deliver again what failed, or fetch it and post it
///
/// Without --direct, GitHub delivers again itself, signed, and the same GUID; GITHUB_TOKEN holds a token that may read and write
/// the webhook. With --direct they are fetched and posted with the replay token. For --app, GITHUB_APP_ID and
/// GITHUB_APP_PRIVATE_KEY (PEM, or a file's path) take the token's place.
#[derive(Debug, Args)]
pub(crate) struct Github {
    #[command(flatten)]
    hook: Hook,
    #[command(flatten)]
    span: SpanArguments,
    /// Fetch them and post them with the replay token, instead of having them delivered again
    #[arg(long)]
    direct: bool,
    /// Requests a second to GitHub
    #[arg(long, default_value_t = 5.0, value_name = "N")]
    rate: f64,
    /// Where the API is; of GitHub Enterprise Server, https://HOST/api/v3/
    #[arg(long, default_value = "https://api.github.com/", value_name = "URL")]
    api: String,
    #[command(flatten)]
    posting: Posting,
}

#[derive(Debug, Args)]
struct Hook {
    /// Of a repository's webhook
    #[arg(long, value_name = "OWNER/NAME", required_unless_present_any = ["org", "app"], conflicts_with_all = ["org", "app"])]
    repo: Option<String>,
    /// Of an organisation's webhook
    #[arg(long, value_name = "NAME", conflicts_with = "app")]
    org: Option<String>,
    /// Of a GitHub App's webhook
    #[arg(long)]
    app: bool,
    /// The webhook's id, where there are several
    #[arg(long = "hook", value_name = "ID")]
    id: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
struct Listed {
    id: u64,
    guid: String,
    delivered_at: Timestamp,
    status: String,
    event: String,
    action: Option<String>,
}

pub(crate) async fn run(arguments: Github, session: &mut Session) -> Result<Ended> {
    let Github { hook, span, direct, rate, api, posting } = arguments;
    let bearer = format!("Bearer {}", if hook.app { app::token(session)? } else { token(session)? });
    let api = Api::new(&api, rate, ("authorization", bearer))?
        .with("accept", "application/vnd.github+json")
        .with("x-github-api-version", "2022-11-28");
    let deliveries = deliveries_path(&api, &hook).await?;
    if direct || posting.dry_run {
        let run = Run::new(session, "GitHub", posting, span.into(), Some(HORIZON_DAYS), vec![deliveries.clone()]).await?;
        let since = run.since.unwrap_or_default();
        let (missed, _) = missed(list(&api, &deliveries, since).await?, since, run.until);
        return run.all(&[Missed { api: &api, path: deliveries, missed }], session).await;
    }
    let (since, until) = (span.since.at, span.until.map_or(Micros::MAX, |until| until.at));
    tell_horizon(session, "GitHub", HORIZON_DAYS, since);
    let (missed, delivered) = missed(list(&api, &deliveries, since).await?, since, until);
    let wanted = missed.into_iter().map(|one| Wanted {
        at: Some(one.delivered_at.as_microsecond()),
        event_type: one.event_type(),
        path: format!("{deliveries}/{}/attempts", one.id),
        id: one.guid,
    });
    again::ask(session, &api, "GitHub", since, delivered, wanted.collect(), posting.report.as_ref()).await
}

fn token(session: &Session) -> Result<String> {
    let what = "a token that may administer the webhook";
    let token = session.terminal.secret(&session.env, "GITHUB_TOKEN", what)?;
    Ok(String::from_utf8_lossy(token.expose()).into_owned())
}

/// Relative, so that an API below a path is asked there.
async fn deliveries_path(api: &Api, hook: &Hook) -> Result<String> {
    let hooks = match (&hook.repo, &hook.org) {
        (Some(repo), _) if repo.split('/').filter(|part| !part.is_empty()).count() == 2 => format!("repos/{repo}/hooks"),
        (Some(_), _) => return Err(BadInput("--repo is an owner and a name: octo-org/octo-repo".to_owned()).into()),
        (None, Some(org)) => format!("orgs/{org}/hooks"),
        (None, None) => return Ok("app/hook/deliveries".to_owned()),
    };
    let id = match hook.id {
        Some(id) => id,
        None => only_hook(api, &hooks).await?,
    };
    Ok(format!("{hooks}/{id}/deliveries"))
}

async fn only_hook(api: &Api, hooks: &str) -> Result<u64> {
    #[derive(Deserialize)]
    struct One {
        id: u64,
        config: Config,
    }
    #[derive(Deserialize)]
    struct Config {
        url: Option<String>,
    }
    let response = api.get(hooks, &[("per_page", "100".to_owned())], &[]).await.context("cannot list the webhooks")?;
    let all: Vec<One> =
        serde_json::from_slice(&body(response).await?).context("GitHub answered something else than webhooks")?;
    match all.as_slice() {
        [one] => Ok(one.id),
        [] => Err(BadInput("there is no webhook here that this token may see".to_owned()).into()),
        several => {
            let shown = |one: &One| format!("{} ({})", one.id, safe(one.config.url.as_deref().unwrap_or("no address")));
            let shown: Vec<String> = several.iter().map(shown).collect();
            Err(BadInput(format!("there are several webhooks: say --hook with one of {}", shown.join(", "))).into())
        }
    }
}

/// The newest first, back to `since`.
async fn list(api: &Api, path: &str, since: Micros) -> Result<Vec<Listed>> {
    let mut all: Vec<Listed> = Vec::new();
    let (mut path, mut query) = (path.to_owned(), vec![("per_page", "100".to_owned())]);
    loop {
        let response = api.get(&path, &query, &[]).await.context("cannot list GitHub's deliveries")?;
        let next = next_link(&response);
        let page: Vec<Listed> =
            serde_json::from_slice(&body(response).await?).context("GitHub answered something else than deliveries")?;
        let past = page.last().is_none_or(|last| last.delivered_at.as_microsecond() < since);
        all.extend(page);
        match next {
            Some(next) if !past => (path, query) = (next, Vec::new()),
            Some(_) | None => return Ok(all),
        }
    }
}

/// One delivery of each event that never arrived, the oldest first, and how many events did arrive.
fn missed(all: Vec<Listed>, since: Micros, until: Micros) -> (Vec<Listed>, u64) {
    let mut events: BTreeMap<String, Vec<Listed>> = BTreeMap::new();
    for one in all.into_iter().filter(|one| one.event != "ping") {
        events.entry(one.guid.clone()).or_default().push(one);
    }
    let (mut missed, mut arrived) = (Vec::new(), 0);
    for deliveries in events.into_values() {
        // A redelivery within the span of an event before it belongs to that event's time.
        let Some(first) = deliveries.iter().min_by_key(|one| one.delivered_at) else { continue };
        if !(since..=until).contains(&first.delivered_at.as_microsecond()) {
            continue;
        }
        if deliveries.iter().any(|one| one.status == "OK") {
            arrived += 1;
        } else {
            missed.push(first.clone());
        }
    }
    missed.sort_by_key(|one| (one.delivered_at, one.id));
    (missed, arrived)
}

impl Listed {
    fn event_type(&self) -> String {
        self.action.as_ref().map_or_else(|| self.event.clone(), |action| format!("{}.{action}", self.event))
    }
}

/// Missed events with their bodies; a cursor is a place in the list.
struct Missed<'a> {
    api: &'a Api,
    path: String,
    missed: Vec<Listed>,
}

#[derive(Deserialize)]
struct Detail {
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    headers: Option<BTreeMap<String, String>>,
    payload: Box<RawValue>,
}

impl Feed for Missed<'_> {
    const NEWEST_FIRST: bool = false;

    fn name(&self) -> String {
        format!("GitHub {}", self.path)
    }

    async fn page(&self, cursor: Option<&str>) -> Result<Page> {
        let start: usize = cursor.unwrap_or("0").parse()?;
        let end = (start + PAGE_DELIVERIES).min(self.missed.len());
        let mut deliveries = Vec::new();
        for one in &self.missed[start..end] {
            let response = self.api.get(&format!("{}/{}", self.path, one.id), &[], &[]).await;
            let detail = body(response.with_context(|| format!("cannot fetch the delivery {}", one.id))?).await?;
            deliveries.push(delivery(one, &detail)?);
        }
        Ok(Page { deliveries, next: (end < self.missed.len()).then(|| end.to_string()) })
    }
}

/// Signed headers are left out: GitHub gives the payload as it stands in its database, not the bytes that were signed.
fn delivery(one: &Listed, detail: &[u8]) -> Result<Delivery> {
    let Detail { request } = serde_json::from_slice(detail).context("GitHub answered something else than a delivery")?;
    let mut headers = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        ("x-github-event".to_owned(), one.event.clone()),
        ("x-github-delivery".to_owned(), one.guid.clone()),
    ];
    for (name, value) in request.headers.unwrap_or_default() {
        let name = name.to_ascii_lowercase();
        if name.starts_with("x-github-hook-") {
            headers.push((name, value));
        }
    }
    Ok(Delivery {
        id: one.guid.clone(),
        at: Some(one.delivered_at.as_microsecond()),
        event_type: one.event_type(),
        headers,
        body: Bytes::copy_from_slice(request.payload.get().as_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: u64, guid: &str, second: i64, status: &str, event: &str) -> Listed {
        let delivered_at = Timestamp::from_second(second).unwrap();
        Listed { id, guid: guid.into(), delivered_at, status: status.into(), event: event.into(), action: None }
    }

    #[test]
    fn an_event_is_missed_where_no_delivery_of_it_arrived() {
        let all = vec![
            listed(9, "e", 90, "failed to connect to host", "push"),
            listed(8, "d", 80, "Found", "push"),
            listed(7, "c", 70, "OK", "push"),
            listed(6, "b", 60, "Service Unavailable", "push"),
            listed(5, "c", 50, "Internal Server Error", "push"),
            listed(4, "ping", 40, "timed out", "ping"),
            listed(3, "b", 30, "timed out", "push"),
            listed(2, "old", 5, "timed out", "push"),
        ];
        let (missed, arrived) = missed(all, 10_000_000, 85_000_000);
        let ids: Vec<_> = missed.iter().map(|one| (one.id, one.guid.as_str())).collect();
        assert_eq!((ids, arrived), (vec![(3, "b"), (8, "d")], 1));
    }
}
