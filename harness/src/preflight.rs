//! What a machine must have. Each error is one sentence that names what is missing and the command that mends it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};

use crate::place::{on_path, setting};
use crate::step::run_for_output;

/// Everything that building and running the functions needs.
pub fn all() -> anyhow::Result<()> {
    c_toolchain()?;
    python()
}

/// What the tests run besides: any one of these programs, and the package that brings it on Debian and on macOS.
const RUN_BY_TESTS: [(&[&str], &str, &str); 4] = [
    (&["c++"], "g++", "gcc"),
    (&["pgbouncer"], "pgbouncer", "pgbouncer"),
    (&["redis-server"], "redis-server", "redis"),
    (&["chromium", "chromium-browser", "google-chrome"], "chromium", "chromium"),
];

/// Everything that the checks need: told now and not by a test that fails after half an hour.
pub fn for_tests() -> anyhow::Result<()> {
    all()?;
    let missing: Vec<_> = RUN_BY_TESTS.iter().filter(|(programs, ..)| !programs.iter().any(|name| is_there(name))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|(programs, ..)| format!("`{}`", programs[0])).collect();
    let debian: Vec<_> = missing.iter().map(|(_, debian, _)| *debian).collect();
    let macos: Vec<_> = missing.iter().map(|(.., macos)| *macos).collect();
    let mend = mend(&debian.join(" "), &format!("brew install {}", macos.join(" ")));
    bail!("the tests run what is not on PATH here: {}; {mend}", names.join(", "))
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
    // Debian packages these apart from Python itself.
    let complete = run("python3", &["-c", "import venv, ensurepip"])?;
    if !complete.status.success() {
        bail!("`python3` has no venv module; {}", mend("python3-venv", "brew install python"));
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
    let made = run_for_output(Command::new("python3").args(["-m", "venv", "--clear", folder]))?;
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stdout) + String::from_utf8_lossy(&made.stderr);
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

/// On PATH, or where Debian keeps what only root's PATH leads to.
fn is_there(program: &str) -> bool {
    on_path(program).is_some() || Path::new("/usr/sbin").join(program).is_file()
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<Output> {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().with_context(|| format!("run {program}"))
}
