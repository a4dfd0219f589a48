//! The sources of this deployment: the repository's `sources.toml`, compiled in.

use std::path::PathBuf;

use hookledger_providers::{Sources, SourcesError};

use crate::env::{Env, EnvError};

/// Compiled in rather than shipped beside the binary: one file less to open at a cold start, or to forget.
const SOURCES: &str = include_str!("../../../sources.toml");

#[derive(Debug, thiserror::Error)]
pub enum LoadSourcesError {
    #[error(transparent)]
    Env(#[from] EnvError),
    #[error("cannot read {path} (SOURCES_FILE)")]
    File { path: PathBuf, source: std::io::Error },
    #[error("cannot use {origin}")]
    Content { origin: String, source: SourcesError },
}

/// `SOURCES_FILE` names another file, for local use and tests.
pub fn load_sources(env: &Env) -> Result<Sources, LoadSourcesError> {
    let Some(path) = env.optional("SOURCES_FILE")? else { return parse(SOURCES, "sources.toml") };
    let text =
        std::fs::read_to_string(&path).map_err(|source| LoadSourcesError::File { path: PathBuf::from(&path), source })?;
    parse(&text, &path)
}

fn parse(text: &str, origin: &str) -> Result<Sources, LoadSourcesError> {
    Sources::parse(text).map_err(|source| LoadSourcesError::Content { origin: origin.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tests::env;

    #[test]
    fn the_repository_s_own_sources_load() {
        load_sources(&env(&[])).unwrap();
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = load_sources(&env(&[("SOURCES_FILE", "/nowhere/sources.toml")])).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /nowhere/sources.toml (SOURCES_FILE)");
    }
}
