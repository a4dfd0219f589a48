//! The sources of this deployment, as `sources.toml` declares them.

use hookledger_core::{RetryPolicy, Secret, SourceName};

use crate::secret_ref::SecretRef;

/// Every source that this deployment accepts.
#[derive(Debug)]
pub struct Sources(Vec<Source>);

/// One webhook source: a name, a provider's definition, and where its secrets are.
#[derive(Debug)]
pub struct Source {
    name: SourceName,
    secret_refs: Vec<SecretRef>,
    body_bytes_max: usize,
    retry: RetryPolicy,
}

/// What is wrong with `sources.toml`; names the source and the key.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    #[error("sources.toml is not TOML: {0}")]
    Syntax(String),
}

/// A secret's text is not of the kind that the source's provider uses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableSecret {
    #[error("the secret is empty")]
    Empty,
}

impl Sources {
    pub fn parse(_toml: &str) -> Result<Self, SourcesError> {
        Ok(Self(Vec::new()))
    }

    pub fn get(&self, name: &str) -> Option<&Source> {
        self.0.iter().find(|source| source.name.as_str() == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }
}

impl Source {
    pub fn name(&self) -> &SourceName {
        &self.name
    }

    /// Where the live secrets are: at least one.
    pub fn secret_refs(&self) -> &[SecretRef] {
        &self.secret_refs
    }

    /// A secret's text as key bytes for this source's algorithm. Trailing white space is no part of a secret.
    pub fn secret(&self, text: &str) -> Result<Secret, UnusableSecret> {
        Secret::new(text.trim_end()).map_err(|_| UnusableSecret::Empty)
    }

    /// Longest body in bytes: 1 MiB, but 6 MiB for GitHub, which sends up to 25 MB: a Lambda request ends at 6 MB.
    pub fn body_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    pub fn retry(&self) -> RetryPolicy {
        self.retry
    }
}
