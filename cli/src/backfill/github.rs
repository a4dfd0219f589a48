//! `hookledger backfill-versions github`: the objects of a repository (docs.github.com/rest), each as an event would carry it, so
//! that the provider's definition says what its version is.

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::learn::{Learning, learn};
use crate::ended::{BadInput, Ended};
use crate::replay::api::{Api, body, next_link};
use crate::replay::feed::{Delivery, Feed, Page};
use crate::session::Session;

/// A sort of object: its name, the list below the repository, and the event and the member of its body that carry one.
type Kind = (&'static str, &'static str, &'static str, &'static str);

const KINDS: [Kind; 8] = [
    ("issue", "issues", "issues", "issue"),
    ("pull_request", "pulls", "pull_request", "pull_request"),
    ("issue_comment", "issues/comments", "issue_comment", "comment"),
    ("pull_request_review_comment", "pulls/comments", "pull_request_review_comment", "comment"),
    ("commit_comment", "comments", "commit_comment", "comment"),
    ("release", "releases", "release", "release"),
    ("milestone", "milestones", "milestone", "milestone"),
    ("deployment", "deployments", "deployment", "deployment"),
];

/// From the objects of a repository
///
/// The version is when the object changed last, as it is for the receiver. What was deleted is not listed, nor are branches,
/// whose version is in the push alone. GITHUB_TOKEN holds a token that may read the repository.
#[derive(Debug, Args)]
pub(crate) struct Github {
    #[arg(long, value_name = "OWNER/NAME")]
    repo: String,
    /// What to list; may be given several times
    #[arg(long, required = true, value_delimiter = ',', value_parser = PossibleValuesParser::new(KINDS.map(|kind| kind.0)))]
    kind: Vec<String>,
    /// Requests a second to GitHub
    #[arg(long, default_value_t = 5.0, value_name = "N")]
    rate: f64,
    /// Where the API is; of GitHub Enterprise Server, https://HOST/api/v3/
    #[arg(long, default_value = "https://api.github.com/", value_name = "URL")]
    api: String,
    #[command(flatten)]
    learning: Learning,
}

/// One list. A cursor is the address of a page.
struct Objects<'a> {
    api: &'a Api,
    repo: &'a str,
    kind: Kind,
}

/// Pull requests are listed among the issues too, but their events are not issues'.
#[derive(Deserialize)]
struct Head {
    id: u64,
    pull_request: Option<serde::de::IgnoredAny>,
}

pub(super) async fn run(arguments: Github, session: &mut Session) -> Result<Ended> {
    let Github { repo, kind: names, rate, api, learning } = arguments;
    if repo.split('/').filter(|part| !part.is_empty()).count() != 2 {
        return Err(BadInput("--repo is an owner and a name: octo-org/octo-repo".to_owned()).into());
    }
    let token = session.terminal.secret(&session.env, "GITHUB_TOKEN", "a token that may read the repository")?;
    let bearer = format!("Bearer {}", String::from_utf8_lossy(token.expose()));
    let api = Api::new(&api, rate, ("authorization", bearer))?
        .with("accept", "application/vnd.github+json")
        .with("x-github-api-version", "2022-11-28");
    let wanted = KINDS.into_iter().filter(|kind| names.iter().any(|name| name == kind.0));
    let feeds: Vec<Objects> = wanted.map(|kind| Objects { api: &api, repo: &repo, kind }).collect();
    learn("github", &learning, &feeds, &format!("the {} of {repo}", names.join(", ")), session).await
}

impl Feed for Objects<'_> {
    const NEWEST_FIRST: bool = true;

    fn name(&self) -> String {
        format!("GitHub {}", self.kind.1)
    }

    async fn page(&self, cursor: Option<&str>) -> Result<Page> {
        let first = format!("repos/{}/{}", self.repo, self.kind.1);
        // Closed ones too, where there are such.
        let all = [("state", "all".to_owned()), ("per_page", "100".to_owned())];
        let query = if cursor.is_some() { &[][..] } else { &all };
        let response = self.api.get(cursor.unwrap_or(&first), query, &[]).await;
        let response = response.with_context(|| format!("cannot list {first}"))?;
        let next = next_link(&response);
        let listed: Vec<Box<RawValue>> =
            serde_json::from_slice(&body(response).await?).context("GitHub answered something else than a list")?;
        let mut deliveries = Vec::new();
        for object in &listed {
            let head: Head = serde_json::from_str(object.get()).context("GitHub listed something without an id")?;
            if self.kind.0 != "issue" || head.pull_request.is_none() {
                deliveries.push(self.delivery(&head, object));
            }
        }
        Ok(Page { deliveries, next })
    }
}

impl Objects<'_> {
    fn delivery(&self, head: &Head, object: &RawValue) -> Delivery {
        let (_, _, event, member) = self.kind;
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("x-github-event", event.to_owned()),
            ("x-github-delivery", format!("{event}-{}", head.id)),
        ];
        Delivery {
            id: head.id.to_string(),
            at: None,
            event_type: event.to_owned(),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
            body: Bytes::from(format!(r#"{{"action":"edited","{member}":{}}}"#, object.get())),
        }
    }
}
