//! Reads the text of an element out of XML, as far as Braintree's notifications need it. Invariant: whatever it is given, it
//! ends, allocates no more than its input, and resolves no entity but the five of XML itself.

use std::borrow::Cow;

/// The text of the first element at `path`, in which a star stands for any name. `None` where there is none, or where it
/// holds elements.
pub(crate) fn text<'a>(xml: &'a str, path: &[String]) -> Option<Cow<'a, str>> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some((before, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>')?;
        rest = after;
        if tag.starts_with(['?', '!']) {
            continue;
        }
        if tag.starts_with('/') {
            if fits(&open, path) {
                return Some(plain(before));
            }
            open.pop();
        } else if !tag.ends_with('/') {
            open.push(tag.split_ascii_whitespace().next().unwrap_or_default());
        }
        if fits(&open, path) && rest.split_once('<').is_none_or(|(_, next)| !next.starts_with('/')) {
            return None;
        }
    }
    None
}

fn fits(open: &[&str], path: &[String]) -> bool {
    open.len() == path.len() && open.iter().zip(path).all(|(name, wanted)| wanted == "*" || name == wanted)
}

fn plain(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    Cow::Owned(text.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(xml: &str, path: &str, expected: Option<&str>) {
        let path: Vec<String> = path.split('/').map(str::to_owned).collect();
        assert_eq!(text(xml, &path).as_deref(), expected);
    }

    const NOTIFICATION: &str = r#"<?xml version="1.0"?><!-- x -->
        <notification><timestamp type="datetime">2014-01-01T00:00:00Z</timestamp><kind>a &amp;lt;</kind><empty/>
        <subject><subscription><id> s1 </id><more><id>no</id></more></subscription></subject></notification>"#;

    #[test]
    fn an_element_is_found_by_its_path() {
        check(NOTIFICATION, "notification/timestamp", Some("2014-01-01T00:00:00Z"));
        check(NOTIFICATION, "notification/kind", Some("a &lt;"));
        check(NOTIFICATION, "notification/subject/*/id", Some("s1"));
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for path in ["notification/none", "kind", "notification/subject", "notification/empty", ""] {
            check(NOTIFICATION, path, None);
        }
        for xml in ["", "<", "<a", "<a>", "</a>", "<a></a></a></a>", "<a><b></a>"] {
            check(xml, "a/b/c", None);
        }
    }
}
