//! `hookledger replay file`: one delivery to a line.

use std::fs;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use hookledger_core::SourceName;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ended::{BadInput, Ended};
use crate::replay::feed::{Delivery, Feed, Page};
use crate::replay::run::{Posting, Run, Span};
use crate::session::Session;

const PAGE_LINES: usize = 200;

/// Post events from a file
///
/// A line is an event as its provider sends it, or {"headers": {…}, "body": …} as `events show --json` gives it, where the provider
/// names events in a header. --source says whose they are.
#[derive(Debug, Args)]
pub(crate) struct File {
    /// One JSON object to a line
    path: PathBuf,
    #[command(flatten)]
    posting: Posting,
}

/// The file's lines; a cursor is a line's place in bytes.
struct Lines {
    path: PathBuf,
}

#[derive(Deserialize)]
struct Wrapped<'a> {
    headers: std::collections::BTreeMap<String, String>,
    #[serde(borrow)]
    body: &'a RawValue,
}

pub(crate) async fn run(arguments: File, session: &mut Session) -> Result<Ended> {
    let File { path, posting } = arguments;
    let Some(source) = posting.source.clone() else {
        return Err(BadInput("say whose events these are with --source".to_owned()).into());
    };
    let path = fs::canonicalize(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let asked = vec![path.display().to_string(), SourceName::as_str(&source).to_owned()];
    let run = Run::new(session, "file", posting, Span::default(), None, asked).await?;
    run.all(&[Lines { path }], session).await
}

impl Feed for Lines {
    const NEWEST_FIRST: bool = false;

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    async fn page(&self, cursor: Option<&str>) -> Result<Page> {
        let mut at: u64 = cursor.unwrap_or("0").parse()?;
        let mut file = fs::File::open(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?;
        file.seek(SeekFrom::Start(at))?;
        let mut lines = BufReader::new(file);
        let mut deliveries = Vec::new();
        for _ in 0..PAGE_LINES {
            let mut line = Vec::new();
            let read = lines.read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(Page { deliveries, next: None });
            }
            let text = line.trim_ascii();
            if !text.is_empty() {
                deliveries.push(delivery(text, at));
            }
            at += read as u64;
        }
        Ok(Page { deliveries, next: Some(at.to_string()) })
    }
}

fn delivery(line: &[u8], at: u64) -> Delivery {
    let (mut headers, body) = match serde_json::from_slice::<Wrapped<'_>>(line) {
        Ok(Wrapped { headers, body }) => {
            // A string is a body's text; anything else is the body.
            let text: Option<String> = serde_json::from_str(body.get()).ok();
            (headers.into_iter().collect(), Bytes::from(text.unwrap_or_else(|| body.get().to_owned())))
        }
        // Whatever else it is, the receiver says whether it can be used.
        Err(_) => (Vec::new(), Bytes::copy_from_slice(line)),
    };
    if !headers.iter().any(|(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    Delivery { id: format!("byte {at}"), at: None, event_type: String::new(), headers, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, headers: &[(&str, &str)], body: &str) {
        let delivery = delivery(line.as_bytes(), 7);
        let expected: Vec<_> = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        assert_eq!((delivery.headers, &delivery.body[..], delivery.id.as_str()), (expected, body.as_bytes(), "byte 7"));
    }

    #[test]
    fn a_line_is_an_event_or_one_with_its_headers() {
        let json = [("content-type", "application/json")];
        check(r#"{"id":"evt_1","n":1.50}"#, &json, r#"{"id":"evt_1","n":1.50}"#);
        check("no json", &json, "no json");
        let github = [("x-github-event", "push"), ("content-type", "application/json")];
        check(r#"{"headers":{"x-github-event":"push"},"body":{"ref":1.0}}"#, &github, r#"{"ref":1.0}"#);
        let form = [("content-type", "application/x-www-form-urlencoded")];
        check(
            r#"{"event_id":"x","headers":{"content-type":"application/x-www-form-urlencoded"},"body":"payload=%7B%7D"}"#,
            &form,
            "payload=%7B%7D",
        );
    }
}
