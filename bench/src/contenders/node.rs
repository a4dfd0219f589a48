//! A Node.js Lambda's folder in target/bench-node: bench/node with its modules, as they would be zipped. Its runtime client,
//! aws-lambda-ric, is compiled as it is installed.

use std::fs;
use std::process::Command;

use anyhow::{Context, ensure};
use hookledger_harness::root;

use super::{Installed, holds, keep, run};

/// What stripe and the AWS SDK ask for.
const MAJOR_MIN: u32 = 20;
const NEEDED: &str = "the Node.js Lambda needs Node.js 20 or later with npm";
/// For aws-lambda-ric, which brings the sources of curl and of AWS's runtime client.
const BUILDERS: [&str; 5] = ["cmake", "autoconf", "automake", "libtoolize", "make"];

pub(super) fn install() -> anyhow::Result<Installed> {
    let (folder, source) = (root().join("target/bench-node"), root().join("bench/node"));
    let node = run(Command::new("node").args(["--print", "process.execPath"])).context(NEEDED)?;
    let version = run(Command::new(&node).args(["--print", "process.versions.node"]))?;
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok()).unwrap_or_default();
    ensure!(major >= MAJOR_MIN, "{NEEDED}, and `node` is {version}");
    let pins = format!("{}node {version}\n", fs::read_to_string(source.join("package-lock.json"))?);
    if !holds(&folder, &pins) {
        for builder in BUILDERS {
            run(Command::new(builder).arg("--version")).context(
                "building aws-lambda-ric takes `apt-get install cmake autoconf automake libtool build-essential`",
            )?;
        }
        eprintln!("  installing what a Node.js Lambda has in target/bench-node (some three minutes, once)");
        fs::create_dir_all(&folder)?;
        for file in ["package.json", "package-lock.json"] {
            fs::copy(source.join(file), folder.join(file))?;
        }
        run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder)).context(NEEDED)?;
        ensure!(
            folder.join("node_modules/aws-lambda-ric/dist/rapid-client.node").exists(),
            "npm did not build aws-lambda-ric: does its configuration forbid install scripts?"
        );
        keep(&folder, &pins)?;
    }
    fs::copy(source.join("seed.mjs"), folder.join("seed.mjs"))?;
    let client = folder.join("node_modules/aws-lambda-ric/bin/index.mjs");
    Ok(Installed { command: format!("{node} {}", client.display()), task_root: folder })
}
