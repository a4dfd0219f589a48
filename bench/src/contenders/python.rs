//! A Python with what a Python Lambda has, in target/bench-venv. It runs bench/python where it is.

use std::fs;
use std::process::Command;

use hookledger_harness::{preflight, root};

use super::{Installed, holds, keep, run};

pub(super) fn install() -> anyhow::Result<Installed> {
    let (folder, task_root) = (root().join("target/bench-venv"), root().join("bench/python"));
    let (python, requirements) = (folder.join("bin/python"), task_root.join("requirements.txt"));
    let pins = fs::read_to_string(&requirements)?;
    if !holds(&folder, &pins) {
        preflight::python()?;
        eprintln!("  installing what a Python Lambda has in target/bench-venv (some 130 MB, once)");
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&requirements);
        run(&mut pip)?;
        keep(&folder, &pins)?;
    }
    // No bytecode beside the sources, which are the repository's.
    Ok(Installed { command: format!("{} -B -m awslambdaric", python.display()), task_root })
}
