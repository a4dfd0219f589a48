//! Running cargo from a program that cargo itself runs.

use std::process::Command;

use crate::place::{root, setting};

/// A cargo command in the repository's root.
pub fn cargo() -> Command {
    let mut command = Command::new(setting("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_our_package(&mut command).current_dir(root());
    command
}

/// Takes what cargo told us about our own package out of a command's environment: build scripts that watch those variables
/// would run again, and half the tree be built twice.
pub(crate) fn forget_our_package(command: &mut Command) -> &mut Command {
    let ours = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| ours.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}
