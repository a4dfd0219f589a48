//! The deployed template: linted, held to rules, and each rule shown to notice a template that breaks it.
//! Invariant: no number or permission of infra/ changes without a line changing here.

mod breaks;
mod rules;
mod template;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use hookledger_harness::{root, venv};
use template::Template;

use breaks::BREAKS;
use rules::{Dimensions, RULES, answers_within, published_under};

const FILES: [&str; 4] = ["template", "database", "egress", "monitoring"];

fn text(file: &str) -> anyhow::Result<String> {
    let path = format!("infra/{file}.yaml");
    fs::read_to_string(root().join(&path)).with_context(|| format!("read {path}"))
}

/// What cfn-lint finds in a template; empty if nothing.
fn lint(file: &Path) -> anyhow::Result<String> {
    let output =
        Command::new(venv()?.program("cfn-lint")).arg(file).output().context("cfn-lint is missing from target/venv")?;
    let findings = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(if output.status.success() { findings } else { format!("{findings}{}", String::from_utf8_lossy(&output.stderr)) })
}

#[test]
fn the_templates_pass_cfn_lint() {
    for file in FILES {
        assert_eq!(lint(&root().join(format!("infra/{file}.yaml"))).unwrap(), "");
    }
}

#[test]
fn cfn_lint_sees_inside_a_serverless_function() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("template.yaml");
    let template = text("template").unwrap();
    for (sound, broken) in [("Timeout: 30", "Timeout: 9999"), ("Runtime: provided.al2023", "Runtime: provided.al1")] {
        assert!(template.contains(sound));
        fs::write(&file, template.replace(sound, broken)).unwrap();
        assert_ne!(lint(&file).unwrap(), "", "cfn-lint lets `{broken}` pass");
    }
}

#[test]
fn the_templates_keep_every_rule() {
    let texts: Vec<_> = FILES.iter().map(|file| text(file).unwrap()).collect();
    let templates = Template::expand(&texts).unwrap();
    let complaints: Vec<_> = FILES
        .iter()
        .zip(&templates)
        .flat_map(|(file, template)| {
            RULES.iter().filter(|rule| rule.file == *file).flat_map(|rule| (rule.complaints)(template))
        })
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn each_rule_notices_a_template_that_breaks_it() {
    let copies: Vec<_> = BREAKS
        .iter()
        .map(|b| {
            let text = text(b.file).unwrap();
            assert!(text.contains(b.sound), "`{}` is not in infra/{}.yaml", b.sound, b.file);
            text.replacen(b.sound, b.broken, 1)
        })
        .collect();
    let unnoticed: Vec<_> = BREAKS
        .iter()
        .zip(Template::expand(&copies).unwrap())
        .filter(|(b, copy)| {
            let rule = RULES.iter().find(|rule| (rule.file, rule.name) == (b.file, b.rule));
            let rule = rule.unwrap_or_else(|| panic!("no rule {:?} for {}", b.rule, b.file));
            (rule.complaints)(copy).is_empty()
        })
        .map(|(b, _)| format!("{}: `{}` for `{}`", b.rule, b.broken, b.sound))
        .collect();
    assert!(unnoticed.is_empty(), "unnoticed:\n{}", unnoticed.join("\n"));
    let untried = RULES.iter().filter(|r| BREAKS.iter().all(|b| (b.file, b.rule) != (r.file, r.name)));
    let untried: Vec<_> = untried.map(|rule| rule.name).collect();
    assert!(untried.is_empty(), "rules that nothing breaks: {untried:?}");
}

/// The one rule about a number of the code's own that no edit of a template can break.
#[test]
fn a_receiver_slower_than_the_providers_patience_is_noticed() {
    let template = Template::expand(&[text("template").unwrap()]).unwrap().remove(0);
    let complaints = answers_within(Duration::from_secs(3), &template);
    assert!(complaints.iter().any(|complaint| complaint.contains("providers wait")), "{complaints:?}");
}

/// Nor a change of what the code's records carry.
#[test]
fn records_that_no_alarm_looks_for_are_noticed() {
    let template = Template::expand(&[text("monitoring").unwrap()]).unwrap().remove(0);
    let without_a_deployment = |function: &'static str| Dimensions::from([("function".to_owned(), function.to_owned())]);
    let complaints = published_under(without_a_deployment, &template);
    for metric in ["dead_letters", "rejected_bad_signature", "settled"] {
        let named = format!("nothing reports {metric} under");
        assert!(complaints.iter().any(|complaint| complaint.starts_with(&named)), "{metric}: {complaints:?}");
    }
}
