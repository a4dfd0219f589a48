//! The documentation holds the table of what is built in.

#[test]
fn the_table_in_the_documentation_is_the_programs() {
    let docs = include_str!("../../../../docs/providers.md");
    let (_, rest) = docs.split_once("--example table) -->\n").unwrap();
    let (table, _) = rest.split_once("<!-- providers: end -->").unwrap();
    assert!(
        table == hookledger_providers::table(),
        "put what `cargo run -p hookledger-providers --example table` prints there"
    );
}

#[test]
fn every_built_in_definition_is_good_and_told() {
    for about in hookledger_providers::about() {
        let source = crate::malformed::source_of(about.name);
        assert!(source.get("s").is_some());
        for (what, text) in [("title", &about.title), ("docs", &about.docs), ("notes", &about.notes), ("id", &about.id)] {
            assert!(!text.is_empty(), "{} has no {what}", about.name);
        }
        assert!(about.docs.starts_with("https://"), "{}", about.name);
        // A provider that publishes its key has no secret.
        assert!(
            !about.secret.is_empty() || about.definition.contains("kind = \"certificate\""),
            "{} has no secret",
            about.name
        );
    }
    assert_eq!(
        hookledger_providers::about().count(),
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/definitions")).unwrap().count()
    );
}
