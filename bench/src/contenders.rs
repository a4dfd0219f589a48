//! What people run instead: the same receiver and worker in Python and in Node.js, installed under target/ the first time.
//!
//! Invariant: versions are those pinned in bench/python and bench/node; an installation is used again until its pins change.

mod node;
mod python;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Contender {
    /// Receiver and worker as a Python Lambda with awslambdaric, psycopg and boto3
    Python,
    /// The Python receiver behind the idempotency of AWS Lambda Powertools, which keeps its records in Redis
    Powertools,
    /// Receiver and worker as a Node.js Lambda with aws-lambda-ric, stripe, pg and the AWS SDK
    Node,
}

/// A contender that can be run.
#[derive(Debug, Clone)]
pub(crate) struct Installed {
    /// The words of a shell that a handler's name is put after.
    pub(crate) command: String,
    /// Where the handlers are.
    pub(crate) task_root: PathBuf,
}

impl Contender {
    pub(crate) const ALL: [Self; 3] = [Self::Python, Self::Powertools, Self::Node];

    /// All but those that are left out.
    pub(crate) fn all_without(without: &[Self]) -> Vec<Self> {
        Self::ALL.into_iter().filter(|contender| !without.contains(contender)).collect()
    }

    /// Takes minutes and the network the first time.
    pub(crate) fn install(self) -> anyhow::Result<Installed> {
        match self {
            Self::Python => python::install().context("no Python Lambda to measure; `--without python` leaves it out"),
            Self::Powertools => python::install().context("no Powertools to measure; `--without powertools` leaves it out"),
            Self::Node => node::install().context("no Node.js Lambda to measure; `--without node` leaves it out"),
        }
    }

    /// The name of one of its functions, as its runtime wants it.
    pub(crate) fn handler(self, function: &str) -> String {
        match self {
            Self::Python | Self::Node => format!("seed.{function}"),
            Self::Powertools => format!("seed_with_powertools.{function}"),
        }
    }
}

/// Whether `folder` holds what `pins` say.
fn holds(folder: &Path, pins: &str) -> bool {
    fs::read_to_string(folder.join("pins.txt")).is_ok_and(|there| there == pins)
}

/// From now on it does.
fn keep(folder: &Path, pins: &str) -> anyhow::Result<()> {
    fs::write(folder.join("pins.txt"), pins).with_context(|| format!("write to {}", folder.display()))
}

/// What a program prints, when it ends well.
fn run(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("run {}", command.get_program().display()))?;
    ensure!(output.status.success(), "{command:?} fails: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
