//! `cargo xtask deploy-local`: the templates deployed onto the AWS emulator, and what the deployment then does.
//!
//! It is a test, so that `cargo xtask test` runs it too; here its lines are shown as they come.

use anyhow::bail;
use hookledger_harness::{cargo, preflight, run_to_end, sam_with_progress, venv_with_progress};

use crate::progress::{loud_step, note, step};

const TEST: &str = "deploy::a_deployed_stack_takes_signed_events_to_their_effects";

pub(crate) fn run() -> anyhow::Result<()> {
    step("this machine has what it takes", preflight::all)?;
    step("tools in target/venv", || venv_with_progress(note))?;
    step("sam in target/venv-sam", || sam_with_progress(note))?;
    let mut test = cargo();
    test.args(["test", "--quiet", "--workspace", "--test", "it", "--", "--exact", TEST, "--nocapture"]);
    loud_step("deployed, tried, updated, taken down", || match run_to_end(&test)?.success() {
        true => Ok(()),
        false => bail!("the deployment does not do what it should: see above"),
    })
}
