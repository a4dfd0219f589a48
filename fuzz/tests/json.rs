//! What is read out of a body, held against `serde_json`: over JSON and over what is nearly JSON.

use hookledger_fuzz::json as check;
use proptest::prelude::*;

/// JSON as people write it and as nobody does, so small that keys meet what is looked for.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,9})?",
        "(true|false|null)",
        "\"[ -!#-\\[\\]-~é\u{1f600}]{0,40}\"",
        "\"([a-z]{0,9}\\\\([\"\\\\/bfnrt]|u[0-9a-fA-F]{4}|ud8[0-9a-f]{2}))*\"",
    ];
    let key = "(\"a\"|\"b\"|\"0\"|\"\\\\u0061\"|\"\\\\u006[12]\"|\"\\\\ud800\"|\"[a-z_]{0,20}\")";
    let space = || "(( |\n {0,20}|\r\n|\t){0,2}|\n {0,20})";
    leaf.prop_recursive(5, 60, 5, move |inner| {
        let member = (space(), key, space(), space(), inner.clone(), space());
        let member = member.prop_map(|(a, key, b, c, value, d)| format!("{a}{key}{b}:{c}{value}{d}"));
        prop_oneof![
            prop::collection::vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(","))),
            (prop::collection::vec(inner, 0..4), space()).prop_map(|(items, space)| format!("[{space}{}]", items.join(","))),
        ]
    })
}

/// Bytes that mean something in JSON, and some that are nowhere allowed.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        prop::sample::select(b"{}[]\",:\\/ \n\t\r-+.0123456789eEutrfalsn\0\x1f\x7f\x80\xc3\xff".to_vec()),
        any::<u8>()
    ]
}

proptest! {
    #[test]
    fn the_same_is_found_in_json(before in "[ \n]{0,9}", json in json(), after in "[ \n]{0,9}") {
        let json = format!("{before}{json}{after}");
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok());
        check(json.as_bytes());
    }

    #[test]
    fn the_same_is_refused_in_what_is_nearly_json(
        json in json(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3, byte()), 1..4),
    ) {
        let mut json = json.into_bytes();
        for (at, change, byte) in changes {
            let at = at.index(json.len() + 1);
            match change {
                0 => json.insert(at, byte),
                1 => json.truncate(at.max(1)),
                _ => json.splice(at.min(json.len().saturating_sub(1))..json.len().min(at + 1), [byte]).for_each(drop),
            }
        }
        check(&json);
    }

    #[test]
    fn any_bytes_are_read_the_same(json in prop::collection::vec(byte(), 0..40)) {
        check(&json);
    }
}
