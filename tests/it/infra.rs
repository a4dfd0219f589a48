//! The deployed template: linted, held to rules, and each rule shown to notice a template that breaks it.
//! Invariant: no number or permission of infra/ changes without a line changing here.

mod breaks;
mod rules;
mod template;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use hookledger_harness::{root, venv};
use template::Template;

use breaks::BREAKS;
use rules::RULES;

fn application() -> anyhow::Result<String> {
    fs::read_to_string(root().join("infra/template.yaml")).context("read infra/template.yaml")
}

/// What cfn-lint finds in a template; empty if nothing.
fn lint(file: &Path) -> anyhow::Result<String> {
    let output =
        Command::new(venv()?.program("cfn-lint")).arg(file).output().context("cfn-lint is missing from target/venv")?;
    let findings = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(if output.status.success() { findings } else { format!("{findings}{}", String::from_utf8_lossy(&output.stderr)) })
}

#[test]
fn the_template_passes_cfn_lint() {
    assert_eq!(lint(&root().join("infra/template.yaml")).unwrap(), "");
}

#[test]
fn cfn_lint_sees_inside_a_serverless_function() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("template.yaml");
    for (sound, broken) in [("Timeout: 30", "Timeout: 9999"), ("Runtime: provided.al2023", "Runtime: provided.al1")] {
        assert!(application().unwrap().contains(sound));
        fs::write(&file, application().unwrap().replace(sound, broken)).unwrap();
        assert_ne!(lint(&file).unwrap(), "", "cfn-lint lets `{broken}` pass");
    }
}

#[test]
fn the_template_keeps_every_rule() {
    let template = Template::expand(&[application().unwrap()]).unwrap().remove(0);
    let complaints: Vec<_> = RULES.iter().flat_map(|rule| (rule.complaints)(&template)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn each_rule_notices_a_template_that_breaks_it() {
    let template = application().unwrap();
    let copies: Vec<_> = BREAKS
        .iter()
        .map(|b| {
            assert!(template.contains(b.sound), "`{}` is not in the template", b.sound);
            template.replacen(b.sound, b.broken, 1)
        })
        .collect();
    let unnoticed: Vec<_> = BREAKS
        .iter()
        .zip(Template::expand(&copies).unwrap())
        .filter(|(b, copy)| {
            let rule = RULES.iter().find(|rule| rule.name == b.rule).unwrap_or_else(|| panic!("no rule {:?}", b.rule));
            (rule.complaints)(copy).is_empty()
        })
        .map(|(b, _)| format!("{}: `{}` for `{}`", b.rule, b.broken, b.sound))
        .collect();
    assert!(unnoticed.is_empty(), "unnoticed:\n{}", unnoticed.join("\n"));
    let untried: Vec<_> = RULES.iter().map(|r| r.name).filter(|name| BREAKS.iter().all(|b| b.rule != *name)).collect();
    assert!(untried.is_empty(), "rules that nothing breaks: {untried:?}");
}
