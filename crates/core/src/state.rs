//! The states of a ledger row and the results that move it. The words are those of the `status` and `outcome` columns.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The state of a ledger row: `claimed → processing → settled`, `processing → failed → processing`,
/// `failed → dead_letter` (and `dead_letter → claimed` when somebody asks for it again).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Claimed,
    Processing,
    Failed,
    Settled,
    DeadLetter,
}

/// How a settled event ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The handler's writes are committed.
    Applied,
    /// A newer version of the object was there already: nothing was written.
    Stale,
    /// No handler takes events of this type, or the handler had nothing to do.
    Ignored,
}

/// What a claim found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// First delivery: the row is ours and has to be enqueued.
    New,
    /// The event is known; `status` is what it was found in. `requeue` says that its id has to go to the queue again: it
    /// waits for something that should have happened by now, or is asked for anew.
    Duplicate { status: Status, requeue: bool },
}

/// What a duplicate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimMode {
    /// It is answered and not processed.
    #[default]
    Enforce,
    /// It is counted and processed all the same: for moving a live endpoint over and looking first.
    Observe,
}

/// A word that is no state or outcome: the database and this program are of different versions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {word:?} in the ledger")]
pub struct UnknownWord {
    pub what: &'static str,
    pub word: String,
}

macro_rules! words {
    ($type:ident, $what:literal, $($variant:ident = $word:literal),*) => {
        impl $type {
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
        impl std::str::FromStr for $type {
            type Err = UnknownWord;
            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    other => Err(UnknownWord { what: $what, word: other.to_owned() }),
                }
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
words!(
    Status,
    "status",
    Claimed = "claimed",
    Processing = "processing",
    Failed = "failed",
    Settled = "settled",
    DeadLetter = "dead_letter"
);
words!(Outcome, "outcome", Applied = "applied", Stale = "stale", Ignored = "ignored");
