//! The application as `sam deploy` takes it: functions built for this machine and zipped, and the templates beside them.
//! Invariant: nothing of infra/ is changed except where the code is found, as `sam build` does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use crate::built::built;
use crate::place::root;
use crate::venv::venv;

const FUNCTIONS: [&str; 4] = ["receiver", "worker", "sweeper", "operator"];

/// Stored and not deflated: they go no further than this machine.
const ZIP: &str = "import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as zip:
    zip.write(sys.argv[2], 'bootstrap')
    zip.writestr('version', sys.argv[3])";

/// A folder that is removed with it.
#[derive(Debug)]
pub struct Application {
    folder: TempDir,
}

impl Application {
    /// Another `version` is a new deployment of the same code.
    pub fn package(version: &str) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("hookledger-package-").tempdir().context("make a temporary folder")?;
        let application = Self { folder };
        for name in ["template", "database", "egress", "monitoring"] {
            let file = format!("{name}.yaml");
            fs::copy(root().join("infra").join(&file), application.folder.path().join(&file))
                .with_context(|| format!("copy infra/{file}"))?;
        }
        for name in FUNCTIONS {
            application.put(name, &built(name)?, version)?;
            let function = format!("BuildProperties: {{Binary: {name}}}\n    Properties:\n");
            application.edit(&function, &format!("{function}      CodeUri: {name}.zip\n"))?;
        }
        Ok(application)
    }

    /// Puts a program in a function's place.
    pub fn put(&self, function: &str, program: &Path, version: &str) -> anyhow::Result<()> {
        let zip = self.folder.path().join(format!("{function}.zip"));
        let mut python = Command::new(venv()?.program("python"));
        let output = python.args(["-c", ZIP]).arg(&zip).arg(program).arg(version).output()?;
        ensure!(output.status.success(), "cannot zip {function}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    pub fn template(&self) -> PathBuf {
        self.folder.path().join("template.yaml")
    }

    /// Puts a text of the application's template in another's place.
    pub fn edit(&self, what: &str, with: &str) -> anyhow::Result<()> {
        let template = fs::read_to_string(self.template())?;
        ensure!(template.matches(what).count() == 1, "infra/template.yaml does not have `{what}` once");
        Ok(fs::write(self.template(), template.replacen(what, with, 1))?)
    }
}
