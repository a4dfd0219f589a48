//! An error with all its causes on one line, for the one place that prints it: the edge.

use std::error::Error;

/// `operation: cause: cause of the cause`. A cause whose words the one above it already ends with is said once.
pub fn error_chain(error: &dyn Error) -> String {
    let mut chain = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !chain.ends_with(&text) {
            chain.push_str(": ");
            chain.push_str(&text);
        }
        cause = error.source();
    }
    chain
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
