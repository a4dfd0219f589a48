//! A function under valgrind's callgrind, which counts its instructions.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use hookledger_harness::lambda::Function;

use crate::stage::Stage;

pub(super) struct Counter {
    function: Function,
    folder: PathBuf,
}

impl Counter {
    /// A function that will have one environment.
    pub(super) fn start(stage: &Stage, name: &str) -> anyhow::Result<Self> {
        let Ok(valgrind) = Command::new("valgrind").arg("--version").output() else {
            bail!("`valgrind` is not on PATH, and it counts instructions; install it with `apt-get install valgrind`");
        };
        ensure!(valgrind.status.success(), "valgrind fails: {}", String::from_utf8_lossy(&valgrind.stderr).trim());
        let folder = stage.new_folder()?;
        let shown = folder.display();
        let valgrind = format!("valgrind --tool=callgrind --callgrind-out-file={shown}/counts --vgdb-prefix={shown}/vgdb");
        let function = stage.built_under(&valgrind, name)?;
        Ok(Self { function, folder })
    }

    pub(super) fn function(&self) -> &Function {
        &self.function
    }

    /// The instructions since this was called last.
    pub(super) fn take(&self) -> anyhow::Result<u64> {
        let pid = *self.function.process_ids().first().with_context(|| self.function.output())?;
        let mut dump = Command::new("vgdb");
        // Without its variables, as the function was started: they are part of the name of the pipe between the two.
        dump.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        dump.arg(format!("--vgdb-prefix={}/vgdb", self.folder.display())).arg(format!("--pid={pid}")).arg("dump");
        let output = dump.output().context("run vgdb, which comes with valgrind")?;
        ensure!(output.status.success(), "vgdb fails: {}", String::from_utf8_lossy(&output.stderr).trim());
        let mut counts = 0;
        for file in fs::read_dir(&self.folder)? {
            let file = file?.path();
            // Every dump has a file, and begins the count anew.
            if file.extension().is_some_and(|part| part.to_string_lossy().parse::<u32>().is_ok()) {
                counts +=
                    totals(&fs::read_to_string(&file)?).with_context(|| format!("{} has no totals", file.display()))?;
                fs::remove_file(file)?;
            }
        }
        ensure!(counts > 0, "callgrind counted nothing");
        Ok(counts)
    }
}

fn totals(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_of_a_profile_are_read() {
        assert_eq!(totals("events: Ir\nfn=(1)\n12 5\n\ntotals: 125195\n"), Some(125_195));
        assert_eq!(totals("events: Ir\n"), None);
    }
}
