//! The application as it is handed to CloudFormation: functions built for this machine and zipped, templates that point at them.
//! Invariant: nothing of infra/ is changed except where the code and the nested templates are found, as packaging does.

use std::fs;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::built::built;
use crate::emulator::Emulator;
use crate::place::root;
use crate::venv::venv;

const FUNCTIONS: [&str; 4] = ["receiver", "worker", "sweeper", "operator"];

/// Stored and not deflated: they go no further than this machine.
const ZIP: &str = "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').write(sys.argv[2], 'bootstrap')";

/// Uploads functions and nested templates, and gives the application's template that refers to them. Another `version` is a
/// new deployment of the same code.
pub async fn package(emulator: &Emulator, version: &str) -> anyhow::Result<String> {
    let folder = tempfile::Builder::new().prefix("hookledger-package-").tempdir().context("make a temporary folder")?;
    let mut template = read("template")?;
    for name in FUNCTIONS {
        let zip = folder.path().join(name);
        let output = Command::new(venv()?.program("python")).args(["-c", ZIP]).arg(&zip).arg(built(name)?).output()?;
        ensure!(output.status.success(), "cannot zip {name}: {}", String::from_utf8_lossy(&output.stderr));
        let (place, _) = emulator.upload(&format!("{version}/{name}.zip"), fs::read(&zip)?).await?;
        let function = format!("BuildProperties: {{Binary: {name}}}\n    Properties:\n");
        template = replace(&template, &function, &format!("{function}      CodeUri: {place}\n"))?;
    }
    for name in ["database", "monitoring"] {
        let (_, url) = emulator.upload(&format!("{version}/{name}.yaml"), read(name)?.into_bytes()).await?;
        template = replace(&template, &format!("TemplateURL: {name}.yaml"), &format!("TemplateURL: {url}"))?;
    }
    Ok(template)
}

fn read(name: &str) -> anyhow::Result<String> {
    fs::read_to_string(root().join(format!("infra/{name}.yaml"))).with_context(|| format!("read infra/{name}.yaml"))
}

fn replace(template: &str, what: &str, with: &str) -> anyhow::Result<String> {
    if template.matches(what).count() != 1 {
        bail!("infra/template.yaml does not have `{what}` once");
    }
    Ok(template.replacen(what, with, 1))
}
