//! A header that holds several things: `t=1,v1=ab,v1=cd`. Invariant: what does not fit is skipped, and never ends the list.

use serde::Deserialize;

/// Most items that are looked at. DocuSign signs with up to 100 keys; a longer list is nobody's.
const ITEMS_MAX: usize = 128;

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct List {
    /// Between the items; without it there is one.
    separator: Option<char>,
    /// What counts of an item comes after this character (Braintree's public key stands before it).
    after: Option<char>,
    /// What an item of ours begins with.
    #[serde(default)]
    prefix: String,
    /// Whether an item without the prefix counts too (Mollie).
    #[serde(default)]
    prefix_optional: bool,
}

impl List {
    pub(crate) fn prefix_is_optional(&mut self, optional: bool) {
        self.prefix_optional |= optional;
    }

    /// An item as the provider writes it. `public_key` is what stands before an item of a list that has something there.
    pub(crate) fn written(&self, item: &str, public_key: Option<&str>) -> String {
        let before = self.after.map(|after| format!("{}{after}", public_key.unwrap_or_default())).unwrap_or_default();
        format!("{before}{}{item}", self.prefix)
    }

    pub(crate) fn joined(&self, first: &str, second: &str) -> String {
        self.separator.map_or_else(|| second.to_owned(), |separator| format!("{first}{separator}{second}"))
    }

    /// The items that count, without their prefix.
    pub(crate) fn items<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let mut rest = Some(text);
        std::iter::from_fn(move || {
            let text = rest?;
            let (item, after) = match self.separator.and_then(|separator| text.split_once(separator)) {
                Some((item, after)) => (item, Some(after)),
                None => (text, None),
            };
            rest = after;
            Some(item)
        })
        .take(ITEMS_MAX)
        .filter_map(|item| match item.strip_prefix(self.prefix.as_str()) {
            None if self.prefix_optional => Some(item),
            stripped => stripped,
        })
        .filter_map(|item| match self.after {
            Some(after) => item.split_once(after).map(|(_, item)| item),
            None => Some(item),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(separator: Option<char>, prefix: &str, text: &str, expected: &[&str]) {
        let list = List { separator, prefix: prefix.to_owned(), ..List::default() };
        assert_eq!(list.items(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn items_of_other_schemes_are_skipped() {
        check(Some(','), "v1=", "t=1,v1=a,,v0=b,v1,v1=c", &["a", "c"]);
        check(Some(','), "t=", "t=1,v1=a,t=2", &["1", "2"]);
        check(None, "sha256=", "sha256=a,b", &["a,b"]);
        check(None, "sha256=", "sha1=a", &[]);
        check(Some(' '), "v1,", "v1,a v2,b v1,c", &["a", "c"]);
        check(Some(','), "", "", &[""]);
    }

    #[test]
    fn a_list_without_end_is_cut() {
        let list = List { separator: Some(','), ..List::default() };
        assert_eq!(list.items(&",".repeat(100_000)).count(), ITEMS_MAX);
    }
}
