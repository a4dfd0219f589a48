//! How an event's id is formed. Invariant: a hash is over parts with their lengths, so that no two lists of parts hash alike.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::facts::Facts;
use crate::place::Place;
use hookledger_json::Malformed;

/// Where an id stands, or what it is made of.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "IdRuleForm")]
pub(crate) enum IdRule {
    At(Place),
    /// For providers without an id: a hash over what is the same at every delivery.
    Hash {
        /// All have to be there for the rule to apply.
        of: Vec<Place>,
        /// These may be missing.
        with: Vec<Place>,
    },
}

#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "an id is a place such as \"body:/id\", or { hash = [places], with = [places] }"
)]
enum IdRuleForm {
    At(Place),
    Hash {
        hash: Vec<Place>,
        #[serde(default)]
        with: Vec<Place>,
    },
}

impl TryFrom<IdRuleForm> for IdRule {
    type Error = &'static str;

    fn try_from(form: IdRuleForm) -> Result<Self, &'static str> {
        let rule = match form {
            IdRuleForm::At(place) if place.is_constant() => return Err("a constant is the id of no event"),
            IdRuleForm::At(place) => Self::At(place),
            IdRuleForm::Hash { hash, .. } if hash.iter().all(Place::is_constant) => {
                return Err("a hash of nothing, or of constants, is the id of no event");
            }
            IdRuleForm::Hash { hash, with } => Self::Hash { of: hash, with },
        };
        Ok(rule)
    }
}

impl IdRule {
    pub(crate) fn places(&mut self) -> Vec<&mut Place> {
        match self {
            Self::At(place) => vec![place],
            Self::Hash { of, with } => of.iter_mut().chain(with).collect(),
        }
    }

    /// `None` where the rule does not apply. `number` says that an id may be a number in the body.
    pub(crate) fn form(&self, facts: &Facts<'_>, number: bool) -> Result<Option<String>, Malformed> {
        match self {
            Self::At(place) if number => Ok(place.text(facts)?.map(Cow::into_owned)),
            Self::At(place) => Ok(place.string(facts)?.map(Cow::into_owned)),
            Self::Hash { of, with } => {
                let mut hash = Sha256::new();
                for (place, required) in of.iter().map(|place| (place, true)).chain(with.iter().map(|place| (place, false)))
                {
                    let text = place.text(facts)?;
                    if text.is_none() && required {
                        return Ok(None);
                    }
                    // One more than the length, and nothing for what is missing.
                    let bytes = text.as_ref().map_or(&[][..], |text| text.as_bytes());
                    hash.update((bytes.len() as u64 + u64::from(text.is_some())).to_be_bytes());
                    hash.update(bytes);
                }
                // As text without a formatter: some deliveries carry a hundred events.
                let mut digits = [0; 64];
                hex::encode_to_slice(hash.finalize(), &mut digits).map_err(|_| Malformed)?;
                Ok(Some(["h_", str::from_utf8(&digits).map_err(|_| Malformed)?].concat()))
            }
        }
    }
}

impl fmt::Display for IdRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(place) => place.fmt(f),
            Self::Hash { of, with } => {
                let parts: Vec<String> = of.iter().chain(with).map(Place::to_string).collect();
                write!(f, "hash of ({})", parts.join(", "))
            }
        }
    }
}
