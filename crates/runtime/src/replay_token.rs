//! The replay token, from the environment or, as in a deployment, from Secrets Manager. Invariant: one that is set and cannot be
//! used stops the start; none means that nothing can be replayed without a signature.

use hookledger_core::{REPLAY_TOKEN_BYTES_MIN, Secret};

use crate::env::{Env, EnvError};
use crate::vault::{Vault, VaultError};

#[derive(Debug, thiserror::Error)]
pub enum ReplayTokenError {
    #[error(transparent)]
    Env(#[from] EnvError),
    #[error("cannot fetch the replay token (REPLAY_TOKEN_SECRET_ARN)")]
    Vault(#[from] VaultError),
}

/// `REPLAY_TOKEN`, or the text of the secret that `REPLAY_TOKEN_SECRET_ARN` names.
pub async fn replay_token(env: &Env, vault: &Vault) -> Result<Option<Secret>, ReplayTokenError> {
    let text = env.optional("REPLAY_TOKEN")?;
    match (text, env.optional("REPLAY_TOKEN_SECRET_ARN")?) {
        (None, None) => Ok(None),
        (Some(text), None) => Ok(Some(token("REPLAY_TOKEN", text)?)),
        (None, Some(id)) => Ok(Some(token("REPLAY_TOKEN_SECRET_ARN", vault.fetch(&id).await?.current)?)),
        (Some(_), Some(_)) => Err(EnvError::invalid("REPLAY_TOKEN", "unset where REPLAY_TOKEN_SECRET_ARN is set").into()),
    }
}

fn token(name: &str, text: String) -> Result<Secret, EnvError> {
    let token = Secret::new(text).ok().filter(|token| token.expose().len() >= REPLAY_TOKEN_BYTES_MIN);
    token.ok_or_else(|| EnvError::invalid(name, "a token of at least 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tests::env;

    async fn read(variables: &[(&str, &str)]) -> Result<Option<Secret>, String> {
        replay_token(&env(variables), &Vault::new()).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_short_replay_token_stops_the_start() {
        assert_eq!(read(&[]).await, Ok(None));
        assert!(read(&[("REPLAY_TOKEN", &"t".repeat(32))]).await.unwrap().is_some());
        let refusal = read(&[("REPLAY_TOKEN", &"t".repeat(31))]).await.unwrap_err();
        assert_eq!(refusal, "REPLAY_TOKEN must be a token of at least 32 bytes");
    }

    #[tokio::test]
    async fn the_replay_token_comes_from_one_place() {
        let both = [("REPLAY_TOKEN", &*"t".repeat(32)), ("REPLAY_TOKEN_SECRET_ARN", "arn")];
        assert_eq!(read(&both).await.unwrap_err(), "REPLAY_TOKEN must be unset where REPLAY_TOKEN_SECRET_ARN is set");
    }
}
