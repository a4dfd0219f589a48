//! What a machine must have. Each error is one sentence that names what is missing and the command that mends it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};

use crate::place::setting;

/// Everything that building and running the functions needs.
pub fn all() -> anyhow::Result<()> {
    c_toolchain()?;
    python()
}

/// A C compiler, and what building OpenSSL from its sources takes.
pub fn c_toolchain() -> anyhow::Result<()> {
    let compiler = setting("CC").unwrap_or_else(|| "cc".into());
    if !answers(&compiler, "--version") {
        bail!("no C compiler: `{compiler}` is not on PATH; {}", mend("build-essential", "xcode-select --install"));
    }
    for tool in ["make", "perl"] {
        if !answers(tool, "--version") {
            bail!("`{tool}` is not on PATH, and OpenSSL is built with it; {}", mend(tool, "xcode-select --install"));
        }
    }
    // Debian packages perl's core modules apart from perl itself, and OpenSSL's Configure uses these.
    let modules = run("perl", &["-MFindBin", "-MIPC::Cmd", "-MFile::Compare", "-e", "1"])?;
    if !modules.status.success() {
        bail!("perl lacks its core modules, which OpenSSL's build uses; {}", mend("perl", "brew install perl"));
    }
    Ok(())
}

pub fn python() -> anyhow::Result<()> {
    if !answers("python3", "--version") {
        bail!("`python3` is not on PATH; {}", mend("python3 python3-venv", "brew install python"));
    }
    let modern = run("python3", &["-c", "import sys; sys.exit(sys.version_info < (3, 10))"])?;
    if !modern.status.success() {
        bail!("`python3` is older than 3.10, which the tools need; {}", mend("python3 python3-venv", "brew install python"));
    }
    Ok(())
}

/// Makes a virtual environment at `folder`.
pub(crate) fn python_venv(folder: &Path) -> anyhow::Result<()> {
    let folder = folder.to_str().context("the repository's path is not UTF-8")?;
    let made = run("python3", &["-m", "venv", "--clear", folder])?;
    let said = String::from_utf8_lossy(&made.stdout) + String::from_utf8_lossy(&made.stderr);
    if said.contains("ensurepip") || said.contains("No module named venv") {
        bail!("this Python has no venv module; {}", mend("python3-venv", "brew install python"));
    }
    if !made.status.success() {
        bail!("`python3 -m venv {folder}` failed: {}", said.trim());
    }
    Ok(())
}

/// The sentence's second half: what to type.
pub(crate) fn mend(debian_packages: &str, on_macos: &str) -> String {
    if cfg!(target_os = "macos") {
        format!("install it with `{on_macos}`")
    } else {
        format!("install it with `apt-get install {debian_packages}`")
    }
}

fn answers(program: &str, argument: &str) -> bool {
    let status =
        Command::new(program).arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<Output> {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().with_context(|| format!("run {program}"))
}
