//! The shape of the house, held by tests: who may know whom, and how large a `main` may be.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use hookledger_harness::root;
use serde_json::Value;

/// Each package's direct dependencies, without those for its tests.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let direct = package["dependencies"].as_array().unwrap().iter().filter(|dependency| dependency["kind"] != "dev");
            (name(package), direct.map(name).collect())
        })
        .collect()
}

fn name(value: &Value) -> String {
    value["name"].as_str().unwrap().to_owned()
}

#[test]
fn the_core_depends_on_nothing_that_does_io() {
    const DOES_IO: [&str; 12] = [
        "tokio",
        "tokio-postgres",
        "reqwest",
        "hyper",
        "lambda_runtime",
        "lambda_http",
        "aws-config",
        "aws-sdk-sqs",
        "aws-sdk-secretsmanager",
        "native-tls",
        "tracing",
        "anyhow",
    ];
    let core = &dependencies()["hookledger-core"];
    assert!(!core.is_empty());
    for crate_name in DOES_IO {
        assert!(!core.contains(crate_name), "crates/core depends on {crate_name}");
    }
    assert!(!core.iter().any(|dependency| dependency.starts_with("hookledger")), "crates/core depends on another of ours");
}

#[test]
fn the_adapters_do_not_know_one_another() {
    let all = dependencies();
    let adapters = ["hookledger-ledger", "hookledger-providers", "hookledger-queue"];
    // What adapters are made of is no adapter, and knows none.
    let parts = ["hookledger-aws", "hookledger-json"];
    let allowed = ["hookledger-aws", "hookledger-core", "hookledger-json"];
    for adapter in adapters.iter().chain(&parts) {
        let mut ours = all[*adapter].iter().filter(|dependency| dependency.starts_with("hookledger"));
        assert!(ours.all(|dependency| allowed.contains(&dependency.as_str())), "{adapter}");
    }
}

#[test]
fn a_functions_main_fits_on_a_screen() {
    let functions = std::fs::read_dir(root().join("functions")).unwrap();
    for function in functions {
        let main = function.unwrap().path().join("src/main.rs");
        let lines = std::fs::read_to_string(&main).unwrap().lines().count();
        assert!(lines <= 40, "{} has {lines} lines", main.display());
    }
}
