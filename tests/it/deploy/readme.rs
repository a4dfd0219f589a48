//! The README's way from an empty account to a first event.

use std::fs;
use std::process::Command;

use hookledger_harness::root;

/// The first block of commands under Deploy, one command an entry.
fn commands() -> Vec<String> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap_or_default();
    let deploy = readme.split("\n## Deploy\n").nth(1).unwrap_or_default();
    let block = deploy.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    block.replace("\\\n", " ").lines().map(str::to_owned).collect()
}

#[test]
fn a_first_event_takes_at_most_six_commands() {
    let commands = commands();
    assert!((1..=6).contains(&commands.len()), "{commands:#?}");
    for tool in ["aws secretsmanager create-secret", "sam build", "sam deploy", "curl"] {
        assert!(commands.iter().any(|command| command.contains(tool)), "no {tool}: {commands:#?}");
    }
}

#[test]
fn the_readme_s_edit_names_the_secret_where_it_has_to_be_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("infra")).unwrap();
    for file in ["sources.toml", "infra/samconfig.toml"] {
        fs::copy(root().join(file), folder.path().join(file)).unwrap();
    }
    let commands = commands();
    let edit = commands.iter().find(|command| command.starts_with("sed ")).unwrap();
    let arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:hookledger/webhooks-AbCdEf";
    let status = Command::new("sh").args(["-c", edit]).env("arn", arn).current_dir(folder.path()).status().unwrap();
    assert!(status.success());

    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap().parse::<toml::Table>().unwrap();
    let sources = read("sources.toml");
    for source in ["stripe", "github"] {
        let secret = sources[source]["secrets"][0].as_str().unwrap();
        assert_eq!(secret, format!("secretsmanager:hookledger/webhooks#{source}"));
    }
    let settings = read("infra/samconfig.toml");
    for environment in ["dev", "prod"] {
        let overrides = settings[environment]["deploy"]["parameters"]["parameter_overrides"].as_array().unwrap();
        assert!(overrides.iter().any(|o| o.as_str() == Some(&format!("SourceSecretArns={arn}"))), "{overrides:?}");
    }
}
