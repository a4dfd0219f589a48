//! Sends the story and reads back what became of it: answers, ledger rows, business rows and every write to them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures_util::future::try_join_all;
use hookledger_harness::since_epoch;
use hookledger_harness::subscription::{Effect, effects, record_effects};
use serde_json::Value;
use tokio_postgres::{Client, NoTls};

use super::story::{STORY, Scene};
use crate::stage::Stage;

/// Long enough for the worker's first start and a retry after it.
const SETTLE_BOUND: Duration = Duration::from_secs(60);

/// A scene, and what was seen of it.
pub(super) struct Played {
    pub(super) scene: &'static Scene,
    /// How many copies got each answer.
    pub(super) answers: BTreeMap<Answer, usize>,
    pub(super) row: Option<Row>,
    /// How often a row of the business table was written for this event.
    pub(super) effects: usize,
    /// From sending it until it was settled.
    pub(super) took: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// `accepted` or `duplicate`, where it is one of them.
    pub(super) outcome: Option<String>,
}

/// The columns of the ledger row that tell how the event is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) status: String,
    pub(super) outcome: Option<String>,
    pub(super) attempts: i32,
}

/// A row of the business table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) id: String,
    pub(super) plan: String,
    pub(super) state: String,
    /// Microseconds since 1970.
    pub(super) version: i64,
}

pub(super) async fn play(stage: &Stage) -> anyhow::Result<(Vec<Played>, Vec<Subscription>)> {
    let (client, connection) = tokio_postgres::connect(&stage.database_url, NoTls).await.context("connect to Postgres")?;
    let work = async move {
        record_effects(&client).await?;
        let story_s = since_epoch().as_secs() as i64;
        let mut played = Vec::new();
        for scene in STORY {
            played.push(send(scene, story_s, &stage.watch.url(), &client).await.with_context(|| scene.name)?);
        }
        // Looked at in the end: a second effect could come late.
        let effects = effects(&client).await?;
        for one in &mut played {
            one.row = row(one.scene, &client).await?;
            one.effects = effects.iter().filter(|effect| is_of(effect, one.scene, story_s)).count();
        }
        Ok((played, subscriptions(&client).await?))
    };
    let (told, connection) = tokio::join!(work, connection);
    connection.context("the connection to Postgres broke")?;
    told
}

async fn send(scene: &'static Scene, story_s: i64, url: &str, client: &Client) -> anyhow::Result<Played> {
    let start = Instant::now();
    let request = scene.request(story_s);
    let http = reqwest::Client::new();
    let copies = (0..scene.copies).map(|_| async {
        let mut post = http.post(format!("{url}/webhooks/{}", scene.source())).body(request.body.clone());
        for (name, value) in &request.headers {
            post = post.header(*name, value);
        }
        let response = post.send().await?;
        let status = response.status().as_u16();
        let body: Value = serde_json::from_str(&response.text().await?).unwrap_or_default();
        anyhow::Ok(Answer { status, outcome: body["outcome"].as_str().map(str::to_owned) })
    });
    let mut answers = BTreeMap::new();
    for answer in try_join_all(copies).await? {
        *answers.entry(answer).or_insert(0) += 1;
    }
    settled(client).await?;
    Ok(Played { scene, answers, row: None, effects: 0, took: start.elapsed() })
}

/// Until nothing waits for anything.
async fn settled(client: &Client) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        let unsettled =
            client.query("SELECT event_id, status, last_error FROM webhook_event WHERE settled_at IS NULL", &[]).await?;
        let Some(first) = unsettled.first() else { return Ok(()) };
        if start.elapsed() > SETTLE_BOUND {
            let (id, status, error): (String, String, Option<String>) =
                (first.try_get(0)?, first.try_get(1)?, first.try_get(2)?);
            bail!("event {id} is still {status} after {} s; last error: {error:?}", SETTLE_BOUND.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn row(scene: &Scene, client: &Client) -> anyhow::Result<Option<Row>> {
    let sql = "SELECT status, outcome, attempts FROM webhook_event WHERE source = $1 AND event_id = $2";
    let found = client.query_opt(sql, &[&scene.source(), &scene.event_id]).await?;
    let read = |row: &tokio_postgres::Row| {
        anyhow::Ok(Row { status: row.try_get(0)?, outcome: row.try_get(1)?, attempts: row.try_get(2)? })
    };
    found.as_ref().map(read).transpose()
}

fn is_of(effect: &Effect, scene: &Scene, story_s: i64) -> bool {
    let event = scene.event(story_s);
    event.is_some_and(|event| event.subscription == effect.subscription && event.version() == effect.version)
}

async fn subscriptions(client: &Client) -> anyhow::Result<Vec<Subscription>> {
    let sql = "SELECT subscription_id, plan, state, version FROM subscription ORDER BY subscription_id";
    let rows = client.query(sql, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(Subscription { id: row.try_get(0)?, plan: row.try_get(1)?, state: row.try_get(2)?, version: row.try_get(3)? })
        })
        .collect()
}
