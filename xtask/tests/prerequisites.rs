//! What a machine lacks is told in one sentence that names it and the command that mends it.

use std::os::unix::fs::symlink;
use std::process::Command;

use anyhow::Context;

/// Runs `cargo xtask test` as on a machine that has only these programs, and looks for `expected` in its error.
#[track_caller]
fn check(programs: &[&str], expected: &[&str]) {
    let error = error_with_only(programs).expect("run the command");
    for part in expected {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
}

fn error_with_only(programs: &[&str]) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    for program in programs {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output()?;
        symlink(String::from_utf8(found.stdout)?.trim(), folder.path().join(program))?;
    }
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = xtask.arg("test").env("PATH", folder.path()).env_remove("CC").output()?;
    let said = String::from_utf8(output.stderr)?;
    anyhow::ensure!(!output.status.success(), "it succeeds: {said}");
    said.lines().find(|line| line.starts_with("error:")).map(str::to_owned).context("it tells no error")
}

#[test]
fn a_missing_c_compiler_is_named() {
    check(&[], &["no C compiler", "install it with"]);
}

#[test]
fn a_missing_make_is_named() {
    check(&["cc"], &["`make` is not on PATH", "install it with"]);
}

#[test]
fn a_missing_perl_is_named() {
    check(&["cc", "make"], &["`perl` is not on PATH", "install it with"]);
}

#[test]
fn a_missing_python_is_named() {
    check(&["cc", "make", "perl"], &["`python3` is not on PATH", "install it with"]);
}
