//! What a machine lacks is told in one sentence that names it and the command that mends it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use hookledger_harness::free_port;

/// Runs `cargo xtask test` as on a machine that has only these programs, and looks for `expected` in its error.
#[track_caller]
fn check(programs: &[&str], expected: &[&str]) {
    let folder = tempfile::tempdir().expect("make a folder");
    only(programs, folder.path()).expect("link the programs");
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    check_error(xtask.arg("test").env("PATH", folder.path()).env_remove("CC"), expected);
}

/// The command fails with an error of one line that has all the `expected` in it.
#[track_caller]
fn check_error(command: &mut Command, expected: &[&str]) {
    let error = error_of(command).expect("run the command");
    for part in expected {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
}

fn error_of(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output()?;
    let said = String::from_utf8(output.stderr)?;
    anyhow::ensure!(!output.status.success(), "it succeeds: {said}");
    let (_, error) = said.split_once("error: ").context("it tells no error")?;
    anyhow::ensure!(error.trim().lines().count() == 1, "more than a sentence: {error}");
    Ok(error.trim().to_owned())
}

/// Links these programs, as they are found here, into `folder`.
fn only(programs: &[&str], folder: &Path) -> anyhow::Result<()> {
    for program in programs {
        // What is on PATH may be a script that looks for the real one.
        let find = match *program {
            "python3" => "python3 -c 'import sys; print(sys.executable)'".to_owned(),
            other => format!("command -v {other}"),
        };
        let found = Command::new("sh").args(["-c", &find]).output()?;
        symlink(String::from_utf8(found.stdout)?.trim(), folder.join(program))?;
    }
    Ok(())
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

/// As Debian's without the package `python3-venv`.
#[test]
fn a_python_without_venv_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ensurepip.py"), "raise ImportError").unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_xtask"));
    check_error(demo.arg("demo").env("PYTHONPATH", folder.path()), &["`python3` has no venv module", "install it with"]);
}

/// PgBouncer may be where Debian keeps it, off the PATH.
#[test]
fn all_that_the_tests_run_and_is_missing_is_named_at_once() {
    let there = ["cc", "make", "perl", "python3", "c++"];
    check(&there, &["`redis-server`, `chromium`; install it with"]);
}

#[test]
fn a_postgres_that_refuses_is_named_before_anything_is_built() {
    let url = format!("postgres://nobody@127.0.0.1:{}/nothing", free_port().unwrap());
    let mut demo = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let mend = "start it, correct the URL, or unset it and a server is started here";
    check_error(demo.arg("demo").env("DATABASE_URL", url), &["cannot use the Postgres of DATABASE_URL", mend]);
}
