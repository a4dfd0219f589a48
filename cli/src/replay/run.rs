//! What the replays from providers share: where to, how fast, from when to when, and how it ends.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hookledger_core::{Micros, Secret, SourceName};
use hookledger_runtime::now;

use crate::ended::{BadInput, Ended};
use crate::filter::source_name;
use crate::replay::dry_run;
use crate::replay::engine::Engine;
use crate::replay::feed::Feed;
use crate::replay::journal::{Head, Journal};
use crate::replay::page;
use crate::replay::receiver::Receiver;
use crate::replay::report::{Report, thousands};
use crate::replay::tally::Tally;
use crate::session::Session;
use crate::when::{self, When};

#[derive(Debug, Args)]
#[command(next_help_heading = "Receiver")]
pub(crate) struct Posting {
    /// The deployment's address, or a source's own: https://hooks.example.com; REPLAY_TOKEN holds its token
    #[arg(long, value_name = "URL")]
    pub(crate) to: Option<String>,
    /// The source's name, where it is not the provider's
    #[arg(long, value_parser = source_name)]
    pub(crate) source: Option<SourceName>,
    /// Deliveries that are posted at once; 1 keeps the provider's order to the letter
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    concurrency: u8,
    /// Where to note what is done, so that the same command goes on after a Ctrl-C or a crash; no payload is written there
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Ask the ledger which are missing, and post nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write the report as a web page, too
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
}

/// From when to when.
#[derive(Debug, Default)]
pub(crate) struct Span {
    pub(crate) since: Option<When>,
    pub(crate) until: Option<When>,
}

impl From<SpanArguments> for Span {
    fn from(arguments: SpanArguments) -> Self {
        Self { since: Some(arguments.since), until: arguments.until }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SpanArguments {
    /// From this time on: 2026-07-01T14:10Z, 2026-07-01, or 24h for a day ago
    #[arg(long, value_name = "TIME", value_parser = when::when)]
    pub(crate) since: When,
    /// Until this time, or until now
    #[arg(long, value_name = "TIME", value_parser = when::when)]
    pub(crate) until: Option<When>,
}

/// A replay that is about to run.
pub(crate) struct Run {
    provider: &'static str,
    posting: Posting,
    source: SourceName,
    to: Option<Receiver>,
    journal: Option<Journal>,
    /// The times that hold: those of the run that began it.
    pub(crate) since: Option<Micros>,
    pub(crate) until: Micros,
}

impl Run {
    /// `asked` tells this replay from others of the provider, besides times and target. `horizon_days` is how far back the
    /// provider goes.
    pub(crate) async fn new(
        session: &Session,
        provider: &'static str,
        posting: Posting,
        span: Span,
        horizon_days: Option<i64>,
        mut asked: Vec<String>,
    ) -> Result<Self> {
        let default_source = SourceName::new(provider.to_lowercase())?;
        let source = posting.source.clone().unwrap_or(default_source);
        let (mut since, mut until) =
            (span.since.as_ref().map(|since| since.at), span.until.as_ref().map_or_else(now, |until| until.at));
        let (mut to, mut journal) = (None, None);
        if !posting.dry_run {
            let nowhere = || BadInput("say where to with --to URL, or only count with --dry-run".to_owned());
            let url = posting.to.as_deref().ok_or_else(nowhere)?;
            let token = replay_token(session).await?;
            let receiver = Receiver::new(url, &source, token)?;
            asked.push(receiver.url().to_owned());
            asked.extend([span.since, span.until].into_iter().map(|time| time.map(|time| time.text).unwrap_or_default()));
            let default_path = || PathBuf::from(format!("hookledger-replay-{source}.checkpoint"));
            let path = posting.checkpoint.clone().unwrap_or_else(default_path);
            let begun = Journal::open(&path, Head { asked, since, until })?;
            if begun.resumed {
                let done = thousands(begun.tally.fetched());
                session.terminal.note(&format!("going on from {}: {done} are done", path.display()));
                (since, until) = (begun.head.since, begun.head.until);
            }
            (to, journal) = (Some(receiver), Some(begun));
        }
        if since.is_some_and(|since| since >= until) {
            return Err(BadInput("--since must be before --until, and not in the future".to_owned()).into());
        }
        if let (Some(days), Some(since)) = (horizon_days, since) {
            tell_horizon(session, provider, days, since);
        }
        Ok(Self { provider, posting, source, to, journal, since, until })
    }

    /// Replays all feeds, one after the other, and reports.
    pub(crate) async fn all<F: Feed>(mut self, feeds: &[F], session: &mut Session) -> Result<Ended> {
        let (to, tally) = match (&self.to, self.journal.take()) {
            (Some(receiver), Some(journal)) => {
                let tally = post(receiver, journal, usize::from(self.posting.concurrency), feeds, session).await?;
                (receiver.url().to_owned(), tally)
            }
            (_, _) => (self.source.to_string(), dry_run::count(&self.source, feeds, session).await?),
        };
        let report = Report::new(self.provider, to, self.posting.dry_run, self.since, self.until, tally);
        report.print(&session.terminal)?;
        if let Some(path) = &self.posting.report {
            page::write(&report, path)?;
            session.terminal.note(&format!("written to {}", path.display()));
        }
        if report.failed > 0 {
            session.terminal.warn("the same command posts the failed ones again");
        }
        Ok(if report.rejected + report.failed > 0 { Ended::InPart } else { Ended::Done })
    }
}

/// From where the deployment has it, if that is named, else from the environment or the terminal.
async fn replay_token(session: &Session) -> Result<Secret> {
    match session.env.optional("REPLAY_TOKEN_SECRET_ARN")? {
        Some(id) => Ok(Secret::new(session.vault("REPLAY_TOKEN_SECRET_ARN").await?.fetch(&id).await?.current.trim())?),
        None => session.terminal.secret(&session.env, "REPLAY_TOKEN", "the deployment's replay token"),
    }
}

/// How far back the provider goes, said aloud.
pub(crate) fn tell_horizon(session: &Session, provider: &str, days: i64, since: Micros) {
    let horizon = now() - days * 86_400_000_000;
    let said = format!("{provider} goes back {days} days, to {}", when::show(horizon));
    if since < horizon {
        session.terminal.warn(&format!("{said}: what is older is not there any more"));
    } else {
        session.terminal.note(&said);
    }
}

async fn post<F: Feed>(
    receiver: &Receiver,
    mut journal: Journal,
    concurrency: usize,
    feeds: &[F],
    session: &Session,
) -> Result<Tally> {
    let mut engine = Engine { receiver, journal: &mut journal, concurrency, progress: session.terminal.progress() };
    let work = async {
        for feed in feeds {
            engine.replay(feed).await?;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        done = work => done?,
        // What was answered is noted already.
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            anyhow::bail!("interrupted; the same command goes on from here");
        }
    }
    drop(engine);
    journal.finish()
}
