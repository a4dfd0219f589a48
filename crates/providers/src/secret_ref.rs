//! Where a secret is kept. Invariant: `sources.toml` holds references and never a secret.

use std::fmt;
use std::str::FromStr;

/// Parsed from `env:NAME` or `secretsmanager:ID`, the latter optionally with `#json-key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    /// The name of an environment variable.
    Env(String),
    SecretsManager {
        /// A name or an ARN.
        id: String,
        /// The key to take when the secret's text is a JSON object.
        json_key: Option<String>,
    },
}

/// The text is not shown: it may be the secret itself, pasted where its reference belongs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a secret is referred to as \"env:NAME\" or \"secretsmanager:ID#json-key\", never written out")]
pub struct InvalidSecretRef;

impl FromStr for SecretRef {
    type Err = InvalidSecretRef;

    fn from_str(text: &str) -> Result<Self, InvalidSecretRef> {
        let filled = |part: &str| (!part.trim().is_empty()).then(|| part.to_owned()).ok_or(InvalidSecretRef);
        match text.split_once(':') {
            Some(("env", name)) => Ok(Self::Env(filled(name)?)),
            Some(("secretsmanager", rest)) => match rest.split_once('#') {
                Some((id, key)) => Ok(Self::SecretsManager { id: filled(id)?, json_key: Some(filled(key)?) }),
                None => Ok(Self::SecretsManager { id: filled(rest)?, json_key: None }),
            },
            Some(_) | None => Err(InvalidSecretRef),
        }
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::SecretsManager { id, json_key: None } => write!(f, "secretsmanager:{id}"),
            Self::SecretsManager { id, json_key: Some(key) } => write!(f, "secretsmanager:{id}#{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_prints_as_it_was_written() {
        for text in ["env:STRIPE", "secretsmanager:hooks", "secretsmanager:arn:aws:secretsmanager:eu-west-1:1:secret:a#key"]
        {
            assert_eq!(text.parse::<SecretRef>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused_without_being_shown() {
        for text in ["whsec_hunter2", "env:", "env: ", "file:x", "secretsmanager:", "secretsmanager:#k", "secretsmanager:a#"]
        {
            let error = text.parse::<SecretRef>().unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{text}");
        }
    }
}
