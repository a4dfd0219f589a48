//! What a machine lacks is told in one sentence that names it and the command that mends it.

use std::os::unix::fs::symlink;
use std::process::Command;

/// Runs `cargo xtask test` as on a machine that has only these programs.
#[track_caller]
fn check(programs: &[&str], expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for program in programs {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
        symlink(String::from_utf8(found.stdout).unwrap().trim(), folder.path().join(program)).unwrap();
    }
    let output =
        Command::new(env!("CARGO_BIN_EXE_xtask")).arg("test").env("PATH", folder.path()).env_remove("CC").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{said}");
    let error = said.lines().find(|line| line.starts_with("error:")).unwrap_or(&said).to_owned();
    for part in expected {
        assert!(error.contains(part), "{part:?} is not in: {said}");
    }
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
