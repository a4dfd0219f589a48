//! Where things are on this machine: the repository, a free port, a setting of the developer's environment.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use anyhow::Context;

/// The repository's root folder.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

/// A loopback port that nobody listens on at this moment; another process may take it before it is used.
pub fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .context("no free port on 127.0.0.1: close something that listens, `ss -ltn` shows what does")?;
    Ok(listener.local_addr()?.port())
}

/// An environment variable of whoever runs the checks; unset and empty are the same.
#[expect(clippy::disallowed_methods, reason = "the developer's environment, not a function's settings")]
pub fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The file that typing `program` runs.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
