//! Running cargo from a program that cargo itself runs.

use std::path::PathBuf;
use std::process::Command;

use crate::place::{root, setting};
use crate::venv::venv;

/// A cargo command in the repository's root.
pub fn cargo() -> Command {
    let mut command = Command::new(setting("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_our_package(&mut command).current_dir(root());
    command
}

/// A `cargo lambda` command in the repository's root, of the version that is pinned. For another architecture it links with the zig
/// that was installed beside it, which it looks for on the path.
pub fn cargo_lambda() -> anyhow::Result<Command> {
    let program = venv()?.program("cargo-lambda");
    let beside = program.parent().map(PathBuf::from);
    let path = setting("PATH").unwrap_or_default();
    let mut command = Command::new(&program);
    command.env("PATH", std::env::join_paths(beside.into_iter().chain(std::env::split_paths(&path)))?);
    forget_our_package(&mut command).current_dir(root()).arg("lambda");
    Ok(command)
}

/// Takes what cargo told us about our own package out of a command's environment: build scripts that watch those variables
/// would run again, and half the tree be built twice.
fn forget_our_package(command: &mut Command) -> &mut Command {
    let ours = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| ours.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}
