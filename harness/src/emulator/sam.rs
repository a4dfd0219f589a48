//! `sam deploy` onto the emulator, as people deploy, with the settings of infra/samconfig.toml.
//! Invariant: sam speaks to the emulator alone, and reads and writes no settings of the person's.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::{Emulator, Stack};
use crate::place::root;
use crate::venv::sam_with_progress;

/// Else sam asks the package index whether there is a newer one: this says that it did, in 2100.
const NO_NEWS: &str = r#"{"lastVersionCheck": 4102444800}"#;

impl Emulator {
    /// Creates a stack, or updates it if there is one of this name, from a template with what it refers to beside it, and waits
    /// for the end of it, whichever that is. A parameter of an update that is not given stays as it is.
    pub async fn sam_deploy(&self, name: &str, template: &Path, parameters: &[(&str, &str)]) -> anyhow::Result<Stack> {
        let home = self.folder().join("sam");
        fs::create_dir_all(&home).context("make a folder for sam")?;
        fs::write(home.join("metadata.json"), NO_NEWS).context("write sam's settings")?;
        let mut sam = Command::new(sam_with_progress(|_| ())?.program("sam"));
        sam.args(["deploy", "--no-confirm-changeset", "--no-progressbar", "--config-env", "dev", "--config-file"]);
        sam.arg(root().join("infra/samconfig.toml"));
        sam.args(["--stack-name", name, "--template-file"]).arg(template).arg("--parameter-overrides");
        for (key, value) in parameters {
            ensure!(!value.contains(['"', '\\']), "{key} needs quoting");
            sam.arg(format!("{key}=\"{value}\""));
        }
        sam.current_dir(&home).env("HOME", &home).env("__SAM_CLI_APP_DIR", &home).env("SAM_CLI_TELEMETRY", "0");
        sam.env("SAM_CLI_POLL_DELAY", "0.2").env("AWS_ENDPOINT_URL", self.endpoint()).envs(Self::CREDENTIALS);
        let output = tokio::task::spawn_blocking(move || sam.output()).await?.context("run sam")?;
        let stack = self.at_rest(name).await;
        match stack {
            Ok(stack) if output.status.success() || stack.status.contains("ROLLBACK") => Ok(stack),
            Ok(_) | Err(_) => {
                let (said, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
                bail!("sam deploy of {name}: {}\n{said}{complaint}", output.status)
            }
        }
    }
}
