//! The programs of this repository, built.

use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, bail};

use crate::cargo::cargo;
use crate::place::{root, setting};
use crate::step::run_to_end;

const PROGRAMS: [&str; 6] = ["receiver", "worker", "sweeper", "operator", "hookledger", "xtask"];

/// The path of a built program, `receiver` for example. The first call in a process asks cargo to build what has changed.
pub fn built(program: &str) -> anyhow::Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder = BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}")));
    match (folder, PROGRAMS.contains(&program)) {
        (Ok(folder), true) => Ok(folder.join(program)),
        (Ok(_), false) => bail!("{program} is none of the programs that are built"),
        (Err(error), _) => bail!("{error}"),
    }
}

/// Binaries by name rather than packages: naming packages would choose other features of shared dependencies than
/// `cargo build --bins` does, and build those a second time.
fn build() -> anyhow::Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--quiet"]);
    for program in PROGRAMS {
        build.args(["--bin", program]);
    }
    if !run_to_end(&build).context("run cargo")?.success() {
        bail!("the programs do not build: see above, and `cargo build --bins`");
    }
    Ok(target().join("debug"))
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    setting("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
