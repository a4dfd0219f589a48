//! `cargo xtask fuzz`: libFuzzer over what reads deliveries, on stable Rust. As a check it is a fixed number of inputs from a
//! fixed seed, so that it tells the same thing twice.

use std::fs;
use std::process::Command;

use anyhow::{Context, bail};
use hookledger_harness::{cargo, root, run_to_end};

use crate::progress::loud_step;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How long each of the targets is fuzzed
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

const TARGETS: [&str; 3] = ["headers", "deliveries", "identity"];

/// Some seconds for each target.
const CHECK: [&str; 3] = ["-seed=1", "-runs=20000", "-max_total_time=40"];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    build()?;
    let time = format!("-max_total_time={}", arguments.seconds);
    TARGETS.iter().try_for_each(|target| fuzz(target, target, &[&time]))
}

pub(crate) fn check() -> anyhow::Result<()> {
    build()?;
    for target in TARGETS {
        let folder = format!("check-{target}");
        let found = root().join("target/fuzz").join(&folder);
        if found.exists() {
            fs::remove_dir_all(&found).with_context(|| format!("empty {}", found.display()))?;
        }
        fuzz(target, &folder, &CHECK)?;
    }
    Ok(())
}

/// The whole workspace, as the other builds: a package alone would choose other features and compile its dependencies again.
fn build() -> anyhow::Result<()> {
    let mut build = cargo();
    build.args(["build", "--workspace", "--features", "hookledger-fuzz/libfuzzer"]);
    build.args(TARGETS.iter().map(|target| format!("--bin=fuzz-{target}")));
    build.env("RUSTC_WORKSPACE_WRAPPER", root().join("fuzz/rustc-with-coverage"));
    loud_step("fuzzers built", || match run_to_end(&build)?.success() {
        true => Ok(()),
        false => bail!("the fuzzers cannot be built: libFuzzer needs a C++ compiler (g++)"),
    })
}

/// What is found to be new is kept in `folder`, and what fails beside it.
fn fuzz(target: &str, folder: &str, limits: &[&str]) -> anyhow::Result<()> {
    let found = root().join("target/fuzz").join(folder);
    fs::create_dir_all(&found).with_context(|| format!("make {}", found.display()))?;
    let mut fuzzer = Command::new(root().join(format!("target/debug/fuzz-{target}")));
    fuzzer.arg(&found).arg(root().join("fuzz/seeds"));
    fuzzer.args(["-verbosity=0", "-timeout=10", "-artifact_prefix=target/fuzz/"]).args(limits);
    loud_step(&format!("fuzzed: {target}"), || match run_to_end(fuzzer.current_dir(root()))?.success() {
        true => Ok(()),
        false => {
            bail!("{target} fails on an input: it stands in target/fuzz, and `target/debug/fuzz-{target} FILE` repeats it")
        }
    })
}
