//! A test of what stands somewhere in a delivery.

use serde::Deserialize;

use crate::facts::{Facts, Wanted};
use crate::place::Place;
use hookledger_json::Malformed;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    at: Place,
    /// The text it has to be; without it, any.
    is: Option<String>,
    /// Holds where nothing stands there.
    #[serde(default)]
    absent: bool,
}

/// A pattern over event types: a star stands for anything, at the beginning or at the end.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct Glob(String);

impl Condition {
    pub(crate) fn bind(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        self.at.bind(wanted)
    }

    pub(crate) fn is_in_body(&self) -> bool {
        self.at.is_in_body()
    }

    pub(crate) fn is_in_json(&self) -> bool {
        self.at.is_in_json()
    }

    pub(crate) fn holds(&self, facts: &Facts<'_>) -> Result<bool, Malformed> {
        let text = self.at.text(facts)?;
        Ok(match (text, &self.is) {
            (None, _) => self.absent,
            (Some(_), None) => !self.absent,
            (Some(text), Some(is)) => !self.absent && text == is.as_str(),
        })
    }
}

impl Glob {
    pub(crate) fn fits(&self, event_type: &str) -> bool {
        match (self.0.strip_prefix('*'), self.0.strip_suffix('*')) {
            (Some(end), _) => event_type.ends_with(end),
            (None, Some(start)) => event_type.starts_with(start),
            (None, None) => event_type == self.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_at_one_end() {
        for (pattern, fits, fails) in [
            ("*.deleted", "customer.subscription.deleted", "customer.deleted.x"),
            ("issues.*", "issues.opened", "issue_comment.created"),
            ("push", "push", "pushed"),
            ("*", "", "-"),
        ] {
            let glob = Glob(pattern.to_owned());
            assert!(glob.fits(fits), "{pattern} {fits}");
            assert!(pattern == "*" || !glob.fits(fails), "{pattern} {fails}");
        }
    }
}
