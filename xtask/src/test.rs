//! `cargo xtask test`: every check, the quick ones first. The tests come last, so that the output ends with the test
//! runner's own closing line.

use std::process::Command;

use anyhow::bail;
use hookledger_harness::{cargo, preflight, run_to_end, sam_with_progress, venv_with_progress};

use crate::fuzz;
use crate::progress::{loud_step, note, step};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only tests whose names contain this, and only the tests
    filter: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // A few tests may need less.
    let needed = if arguments.filter.is_none() { preflight::for_tests } else { preflight::all };
    step("this machine has what it takes", needed)?;
    step("tools in target/venv", || venv_with_progress(note))?;
    step("sam in target/venv-sam", || sam_with_progress(note))?;
    if arguments.filter.is_none() {
        check("format", "cargo fmt --all", cargo().args(["fmt", "--all", "--check"]))?;
        let mut clippy = cargo();
        clippy.args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]);
        check("lints", "cargo clippy --workspace --all-targets", &clippy)?;
        let mut doc = cargo();
        doc.args(["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "--deny warnings");
        check("documentation", "cargo doc --no-deps --workspace", &doc)?;
        fuzz::check()?;
    }
    // As `cargo lambda watch` asks for them, so that no test waits for a build inside it.
    check("functions built", "cargo build --bins", cargo().args(["build", "--bins"]))?;
    // Examples in the documentation first: where there are none, the last line would say that no test ran.
    for targets in [&["--doc"][..], &["--lib", "--bins", "--tests"]] {
        let mut test = cargo();
        test.args(["test", "--workspace"]).args(targets).args(&arguments.filter);
        if !run_to_end(&test)?.success() {
            bail!("tests fail");
        }
    }
    Ok(())
}

/// `to_repeat` is what a person types to see or mend it alone.
fn check(title: &str, to_repeat: &str, command: &Command) -> anyhow::Result<()> {
    loud_step(title, || match run_to_end(command)?.success() {
        true => Ok(()),
        false => bail!("the check {title:?} fails: see above, and `{to_repeat}`"),
    })
}
