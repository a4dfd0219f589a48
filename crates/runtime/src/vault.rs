//! Secrets Manager. Its client is built at the first use: a deployment whose secrets are all in the environment pays nothing.

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::{ProvideErrorMetadata, SdkError};
use hookledger_aws::{Aws, RootsError};
use tokio::sync::OnceCell;

/// Answers about the secret itself, and not about the service's health.
const REFUSALS: [&str; 5] = [
    "AccessDeniedException",
    "DecryptionFailure",
    "InvalidParameterException",
    "InvalidRequestException",
    "ResourceNotFoundException",
];

#[derive(Debug, Default)]
pub struct Vault {
    client: OnceCell<Client>,
}

/// A secret's live texts.
#[derive(Clone, PartialEq, Eq)]
pub struct Versions {
    /// Staged as `AWSCURRENT`.
    pub current: String,
    /// Staged as `AWSPREVIOUS`: what `current` replaced.
    pub previous: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// Secrets Manager answered that it will not give this secret out: it does not exist, is being deleted, or is not
    /// for this function.
    #[error("secret {id} is not available: {code}")]
    Refused { id: String, code: String },
    /// There was no answer, or one that says to come again.
    #[error("cannot fetch secret {id}")]
    Unreachable { id: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("secret {id} has no text")]
    NotText { id: String },
}

impl Vault {
    pub fn new() -> Self {
        Self::default()
    }

    pub async fn fetch(&self, id: &str) -> Result<Versions, VaultError> {
        let (current, previous) = futures_util::join!(self.version(id, "AWSCURRENT"), self.version(id, "AWSPREVIOUS"));
        let previous = match previous {
            Ok(text) => Some(text),
            // Never rotated, or the old version's label was taken away. If the whole secret were refused, current says so.
            Err(VaultError::Refused { .. } | VaultError::NotText { .. }) => None,
            Err(error @ VaultError::Unreachable { .. }) => return Err(error),
        };
        Ok(Versions { current: current?, previous })
    }

    async fn version(&self, id: &str, stage: &str) -> Result<String, VaultError> {
        let client = async || Ok::<_, RootsError>(Client::new(&Aws::of_function("SECRETS_MANAGER")?.config));
        let client = self.client.get_or_try_init(client).await;
        let client = client.map_err(|error| VaultError::Unreachable { id: id.to_owned(), source: error.into() })?;
        let asked = Box::pin(client.get_secret_value().secret_id(id).version_stage(stage).send());
        let answer = asked.await.map_err(|error| failure(id, error))?;
        let text = answer.secret_string.filter(|text| !text.is_empty());
        text.ok_or_else(|| VaultError::NotText { id: id.to_owned() })
    }
}

impl From<&Aws> for Vault {
    fn from(aws: &Aws) -> Self {
        Self { client: OnceCell::new_with(Some(Client::new(&aws.config))) }
    }
}

fn failure<E>(id: &str, error: SdkError<E>) -> VaultError
where
    E: std::error::Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    let id = id.to_owned();
    match error.code() {
        Some(code) if REFUSALS.contains(&code) => VaultError::Refused { id, code: code.to_owned() },
        // Too busy, a wrong clock, expired credentials: nothing was said about the secret.
        Some(_) | None => VaultError::Unreachable { id, source: error.into() },
    }
}
