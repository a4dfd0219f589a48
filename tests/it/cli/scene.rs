//! A ledger, and the program that asks it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Stdio;

use hookledger_core::{ClaimMode, Lifecycle, Settlement, VerifiedEvent};
use hookledger_harness::built;
use serde_json::Value;
use tokio::process::Command;

use crate::ground::{Ground, event_with};

/// What a run of the program gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// A JSON object to a line.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) struct Cli {
    variables: Vec<(String, String)>,
}

impl Cli {
    pub(crate) fn on(ground: &Ground) -> Self {
        Self::with(&[("DATABASE_URL", &ground.url), ("DATABASE_TLS", "disable")])
    }

    /// Exactly these variables and the name of a user.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self { variables: variables.iter().chain(&[("USER", "alice")]).map(owned).collect() }
    }

    pub(crate) fn and(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(built("hookledger").unwrap());
        command.args(arguments.split_whitespace()).env_clear().envs(self.variables.clone());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Runs with arguments that are parted by spaces.
    pub(crate) async fn run(&self, arguments: &str) -> Ran {
        let output = self.command(arguments).output().await.unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ground {
    pub(crate) async fn claim_all(&mut self, events: &[VerifiedEvent]) {
        self.ledger.claim(events, ClaimMode::Enforce).await.unwrap();
    }

    /// An event that failed for good.
    pub(crate) async fn dead_letter(&mut self, id: &str, error: &str) {
        let lease = self.leased(id).await;
        self.ledger.fail(lease, Settlement::DeadLetter, error).await.unwrap();
    }
}

/// About the subscription `sub_1` of the customer `customer`.
pub(crate) fn update(id: &str, version: i64, customer: &str) -> VerifiedEvent {
    let body = format!(r#"{{"id":"{id}","data":{{"object":{{"id":"sub_1","customer":"{customer}"}}}}}}"#);
    event_with(id, Some(version * 1_000_000), Lifecycle::Updated, body.as_bytes())
}
