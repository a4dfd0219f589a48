//! An error with all its causes on one line, for the one place that prints it: the edge.
//! Invariant: the database's own errors are told without what they quote from rows.

use std::error::Error;

use hookledger_ledger::without_values;

/// `operation: cause: cause of the cause`. A cause whose words the one above it already ends with is said once.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut chain = words(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = words(error);
        if !chain.ends_with(&text) {
            chain.push_str(": ");
            chain.push_str(&text);
        }
        cause = error.source();
    }
    chain
}

fn words(error: &(dyn Error + 'static)) -> String {
    without_values(error).unwrap_or_else(|| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open the door")]
    struct Door(#[source] Key);

    #[derive(Debug, thiserror::Error)]
    #[error("the key broke: {0}")]
    struct Key(#[source] std::fmt::Error);

    #[test]
    fn each_cause_is_said_once_in_order() {
        let said = error_chain(&Door(Key(std::fmt::Error)));
        assert_eq!(said, format!("cannot open the door: the key broke: {}", std::fmt::Error));
    }
}
