//! `cargo xtask bench`: builds everything in release, and has the benchmark program do the rest.
//!
//! It is a program of its own, in bench/, because what measures has to be built in release too.

use std::path::PathBuf;

use anyhow::{bail, ensure};
use hookledger_harness::{cargo, preflight, root, run_to_end, setting};

use crate::progress::{loud_step, note, step};

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// receiver, worker, storm, growth, sizes or all, and its options; `--help` shows them, and how long each takes
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// In two goes, so that the functions are built with their own features, as for a deployment, and not with what the
/// benchmark program adds to those.
const BUILDS: [&[&str]; 2] = [&["receiver", "worker", "sweeper", "answer200", "bare", "one-by-one"], &["hookledger-bench"]];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    step("this machine has what it takes", preflight::all)?;
    note("building takes up to half an hour the first time");
    loud_step("functions and benchmark built in release", || BUILDS.into_iter().try_for_each(build))?;
    let target = setting("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let mut bench = std::process::Command::new(target.join("release/hookledger-bench"));
    ensure!(run_to_end(bench.args(&arguments.arguments))?.success(), "the benchmark says why above");
    Ok(())
}

fn build(packages: &[&str]) -> anyhow::Result<()> {
    let mut build = cargo();
    build.args(["build", "--release", "--quiet"]);
    for package in packages {
        build.args(["-p", package]);
    }
    if !run_to_end(&build)?.success() {
        bail!("{} cannot be built: cargo says why above", packages.join(", "));
    }
    Ok(())
}
