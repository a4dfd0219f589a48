//! `cargo xtask dev`: everything running for daily work. Functions are rebuilt when their code is saved; what they print is
//! shown until Ctrl-C. Settings of your own, such as secrets, are read from `.env.local` in the root, `NAME=value` lines.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use hookledger_harness::{Watch, root};
use serde_json::Value;

use crate::demo;
use crate::paint::{self, Paint};
use crate::stage::Stage;

const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn run() -> anyhow::Result<()> {
    eprintln!("\n{}\n", paint::stderr().bold("hookledger: everything, for daily work"));
    let mut stage = Stage::start(&settings()?, Watch::start_and_reload)?;
    eprint!("\n{}", demo::how_to_go_on(&stage));
    let mut log = BufReader::new(File::open(stage.watch.log()).context("open the functions' log")?);
    let mut line = String::new();
    loop {
        // A line may be half written when it is read: the rest comes with the next look.
        log.read_line(&mut line)?;
        if line.ends_with('\n') {
            println!("{}", readable(line.trim_end(), paint::stdout()));
            line.clear();
        } else if stage.watch.ended() {
            bail!("cargo lambda watch has ended");
        } else {
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// The demo's secrets, unless `.env.local` has others.
fn settings() -> anyhow::Result<Vec<(String, String)>> {
    let mut settings = demo::secrets();
    let own = fs::read_to_string(root().join(".env.local")).unwrap_or_default();
    for line in own.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, value) = line.split_once('=').with_context(|| format!(".env.local: {line:?} is not NAME=value"))?;
        settings.retain(|(known, _)| known != name);
        settings.push((name.to_owned(), value.trim_matches('"').to_owned()));
    }
    Ok(settings)
}

/// A JSON record as `name=value` pairs; other lines as they are.
fn readable(line: &str, paint: Paint) -> String {
    let Ok(Value::Object(record)) = serde_json::from_str(line) else { return line.to_owned() };
    let fields = record.iter().filter(|(name, _)| *name != "_aws");
    let pairs = fields.map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}{value}", paint.dim(&format!("{name}=")))
    });
    pairs.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_as_pairs_without_its_envelope() {
        let record = r#"{"_aws":{"Timestamp":1},"event.source":"stripe","accepted":1}"#;
        assert_eq!(readable(record, paint::plain()), "accepted=1 event.source=stripe");
        assert_eq!(readable(" INFO starting", paint::plain()), " INFO starting");
    }
}
