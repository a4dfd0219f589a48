//! The counts that were kept, and what changed since.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use anyhow::{Context, ensure};
use hookledger_harness::root;
use serde_json::{Value, json};

use super::{Counts, count_all};
use crate::report::{Cell, Report, Table};

const FILE: &str = "bench/baseline.json";
/// A change by more than this is told: more than another order of fields in memory makes, less than anybody would want to pay unseen.
const CHANGE: f64 = 0.03;

/// Another compiler makes other instructions, so it is part of what was counted.
#[derive(Debug, PartialEq, Eq)]
struct Baseline {
    rustc: String,
    target: String,
    instructions: Counts,
}

/// Counts, and writes what was counted over what was kept.
pub(crate) async fn keep() -> anyhow::Result<Report> {
    let baseline = Baseline::count().await?;
    fs::write(root().join(FILE), format!("{:#}\n", baseline.json()))?;
    Ok(baseline.report())
}

/// Counts, and compares with what was kept. An error if any request takes more than 3 % more.
pub(crate) async fn check() -> anyhow::Result<()> {
    let text = fs::read_to_string(root().join(FILE)).with_context(|| format!("read {FILE}; `--baseline` makes it"))?;
    let kept = Baseline::parse(&text).with_context(|| format!("{FILE} has another form; `--baseline` makes it anew"))?;
    let now = Baseline::count().await?;
    ensure!(kept.target == now.target, "{FILE} is of {}, and this is {}", kept.target, now.target);
    if kept.rustc != now.rustc {
        println!("The counts that were kept are of {}, these are of {}.", kept.rustc, now.rustc);
    }
    let (text, more) = compare(&kept.instructions, &now.instructions);
    print!("{text}");
    ensure!(
        more == 0,
        "{more} kinds of requests take more instructions than {FILE} says; if they should, keep them by `--baseline`"
    );
    Ok(())
}

/// A line for each, and how many take more.
fn compare(kept: &Counts, now: &Counts) -> (String, usize) {
    let (mut text, mut more) = (String::new(), 0);
    for (name, count) in now {
        let change = kept.get(name).map(|before| *count as f64 / *before as f64 - 1.0);
        let verdict = match change {
            Some(change) if change > CHANGE => {
                more += 1;
                "MORE"
            }
            Some(change) if change < -CHANGE => "less",
            Some(_) => "same",
            None => "new",
        };
        let change = change.map_or_else(String::new, |change| format!(" ({:+.1} %)", change * 100.0));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {verdict} {name}: {count} instructions{change}");
    }
    (text, more)
}

impl Baseline {
    async fn count() -> anyhow::Result<Self> {
        let output = Command::new("rustc").arg("-vV").output().context("run rustc")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rustc = text.lines().next().context("rustc tells no version")?.to_owned();
        let target = text.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc tells no host")?.to_owned();
        Ok(Self { rustc, target, instructions: count_all().await? })
    }

    fn parse(text: &str) -> Option<Self> {
        let json: Value = serde_json::from_str(text).ok()?;
        let word = |name: &str| json[name].as_str().map(str::to_owned);
        let counts = json["instructions"].as_object()?.iter().map(|(name, count)| Some((name.clone(), count.as_u64()?)));
        Some(Self { rustc: word("rustc")?, target: word("target")?, instructions: counts.collect::<Option<_>>()? })
    }

    fn report(&self) -> Report {
        let row = |(name, count): (&String, &u64)| (name.clone(), vec![Cell::Number(*count as f64, 0)]);
        let rows = self.instructions.iter().map(row).collect();
        let table = Table { title: format!("{}, {}", self.rustc, self.target), head: vec!["instructions"], rows };
        Report { name: "instructions", tables: vec![table], targets: Vec::new(), notes: Vec::new() }
    }

    fn json(&self) -> Value {
        json!({ "rustc": self.rustc, "target": self.target, "instructions": self.instructions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(claim: u64, lease: u64) -> Counts {
        [("claim".to_owned(), claim), ("lease".to_owned(), lease)].into()
    }

    #[test]
    fn only_an_increase_by_more_than_three_percent_is_too_much() {
        assert_eq!(compare(&counts(1000, 1000), &counts(1029, 900)).1, 0);
        let (text, more) = compare(&counts(1000, 1000), &counts(1031, 900));
        assert_eq!(more, 1);
        assert_eq!(text, "- MORE claim: 1031 instructions (+3.1 %)\n- less lease: 900 instructions (-10.0 %)\n");
    }

    #[test]
    fn what_was_not_counted_before_is_new_and_no_increase() {
        let (text, more) = compare(&Counts::new(), &counts(5, 5));
        assert_eq!((text.lines().next(), more), (Some("- new claim: 5 instructions"), 0));
    }

    #[test]
    fn a_baseline_that_was_written_is_read_back() {
        let baseline = Baseline { rustc: "rustc 1".into(), target: "x".into(), instructions: counts(1, 2) };
        assert_eq!(Baseline::parse(&baseline.json().to_string()), Some(baseline));
        assert_eq!(Baseline::parse("{}"), None);
    }
}
