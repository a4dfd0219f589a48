//! `cargo xtask demo`: a story of webhooks, sent to the real thing, and what became of each.
//!
//! The story is in `story`, what must become of it in `check`, how it is shown in `table` and `json`.

mod check;
mod json;
mod play;
mod story;
mod table;

use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use hookledger_harness::{Watch, block_on, root};

use crate::paint;
use crate::progress::{note, step};
use crate::stage::Stage;
use story::{GITHUB_SECRET, STRIPE_SECRET};
pub(crate) use table::how_to_go_on;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Print the result for a program
    #[arg(long)]
    json: bool,
    /// Leave everything running afterwards, with the URLs and commands to try, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// What a run shows.
struct Report {
    played: Vec<play::Played>,
    subscriptions: Vec<play::Subscription>,
    complaints: Vec<String>,
    took: Duration,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    eprintln!("\n{}\n", paint::stderr().bold("hookledger: a signed webhook in, exactly one effect out"));
    let start = Instant::now();
    // Its own list of sources: the repository's may name some whose secrets only its owner has.
    let sources = root().join("xtask/src/demo/sources.toml").display().to_string();
    let mut settings = secrets();
    settings.push(("SOURCES_FILE".to_owned(), sources));
    let stage = Stage::start(&settings, Watch::start)?;
    let (played, subscriptions) = step("the story sent and settled", || block_on(play::play(&stage)))?;
    let complaints = check::complaints(&played, &subscriptions);
    let report = Report { played, subscriptions, complaints, took: start.elapsed() };
    if arguments.json {
        println!("{}", json::render(&report, &stage));
    } else {
        print!("\n{}", table::render(&report, paint::stdout()));
    }
    if arguments.keep {
        eprint!("\n{}", table::how_to_go_on(&stage));
        note("Ctrl-C stops it all");
        loop {
            thread::park();
        }
    }
    match report.complaints.as_slice() {
        [] => Ok(()),
        complaints => {
            bail!("not as it must be: {}\nthe functions' last words:\n{}", complaints.join("; "), last_words(&stage))
        }
    }
}

/// The secrets that the story is signed with, as the functions' settings.
pub(crate) fn secrets() -> Vec<(String, String)> {
    let secrets = [("STRIPE_WEBHOOK_SECRET", STRIPE_SECRET), ("GITHUB_WEBHOOK_SECRET", GITHUB_SECRET)];
    secrets.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn last_words(stage: &Stage) -> String {
    let log = std::fs::read_to_string(stage.watch.log()).unwrap_or_default();
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
