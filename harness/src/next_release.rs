//! The next release of this repository: the same code with one more migration, and the operator that is built from it.
//! Invariant: the repository stays as it is, and a build takes every dependency that was built already.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::built::target;
use crate::cargo::cargo;
use crate::place::root;
use crate::step::run_to_end;

/// Not the release's code: what was built, installed or belongs to git.
const LEFT_OUT: [&str; 5] = ["target", ".git", ".aws-sam", "node_modules", "__pycache__"];

/// Beside `operator`, whose place in the folder of built programs stays its own.
const PROGRAM: &str = "operator-of-the-next-release";

/// The operator of a release that has one more migration than this one, `name`, which runs `sql`. Two at once would write into one
/// folder.
pub fn operator_with_migration(name: &str, sql: &str) -> anyhow::Result<PathBuf> {
    let folder = target().join("next-release");
    let number = 1 + migrations()?;
    let migration = folder.join(format!("migrations/V{number}__{name}.sql"));
    let (workspace, manifest) = (folder.join("Cargo.toml"), folder.join("functions/operator/Cargo.toml"));
    let text = |file: &str| fs::read_to_string(root().join(file)).with_context(|| format!("read {file}"));
    // Cargo tells packages apart by name and version, not by their folder: with the same one it would take what it built here for there.
    let (version, next) = (
        concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "\"\n"),
        concat!("\nversion = \"", env!("CARGO_PKG_VERSION"), "-next\"\n"),
    );
    let this = text("Cargo.toml")?;
    ensure!(this.contains(version), "Cargo.toml does not say its version");
    let released = this.replacen(version, next, 1);
    let renamed = text("functions/operator/Cargo.toml")?.replacen("[package]", "[package]\nautobins = false", 1)
        + &format!("\n[[bin]]\nname = \"{PROGRAM}\"\npath = \"src/main.rs\"\n");

    mirror(&root(), &folder, &[&migration, &workspace, &manifest])?;
    write_if_new(&migration, sql.as_bytes())?;
    write_if_new(&workspace, released.as_bytes())?;
    write_if_new(&manifest, renamed.as_bytes())?;
    let mut build = cargo();
    build.current_dir(&folder).env("CARGO_TARGET_DIR", target()).args(["build", "--quiet", "--bin", PROGRAM]);
    ensure!(run_to_end(&build).context("run cargo")?.success(), "the next release's operator does not build: see above");
    Ok(target().join("debug").join(PROGRAM))
}

/// The highest number of a migration.
fn migrations() -> anyhow::Result<u32> {
    let files = fs::read_dir(root().join("migrations")).context("read the folder of migrations")?;
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let numbers = names.filter_map(|name| name.strip_prefix('V')?.split_once("__")?.0.parse().ok());
    numbers.max().context("there are no migrations")
}

/// Makes `to` what `from` is, without touching the files that are the same: cargo builds what is newer. `but` stays.
fn mirror(from: &Path, to: &Path, but: &[&Path]) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    for entry in fs::read_dir(to)? {
        let there = entry?;
        if !from.join(there.file_name()).exists() && !but.contains(&there.path().as_path()) {
            if there.file_type()?.is_dir() { fs::remove_dir_all(there.path())? } else { fs::remove_file(there.path())? }
        }
    }
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let (here, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        let there = to.join(here.file_name().unwrap_or_default());
        if LEFT_OUT.iter().any(|name| here.ends_with(name)) || but.contains(&there.as_path()) {
            continue;
        }
        if kind.is_dir() {
            mirror(&here, &there, but)?;
        } else if kind.is_file() {
            write_if_new(&there, &fs::read(&here).with_context(|| format!("read {}", here.display()))?)?;
        }
    }
    Ok(())
}

fn write_if_new(file: &Path, text: &[u8]) -> anyhow::Result<()> {
    if fs::read(file).is_ok_and(|there| there == text) {
        return Ok(());
    }
    fs::write(file, text).with_context(|| format!("write {}", file.display()))
}
