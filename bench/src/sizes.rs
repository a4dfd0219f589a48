//! What Lambda loads before it starts a function: the zip, built as for a deployment.

use std::path::Path;

use anyhow::{Context, ensure};
use hookledger_harness::{cargo_lambda, run_to_end};

use crate::report::{Cell, Limit, Report, Table, Target};

/// All that the way of an event takes.
const FUNCTIONS: [&str; 3] = ["receiver", "worker", "sweeper"];
const ZIP_MB_MAX: f64 = 5.0;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// What the functions are built for
    #[arg(long, value_enum, default_value_t = Architecture::Arm64)]
    architecture: Architecture,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Architecture {
    /// What infra/template.yaml asks for; needs `rustup target add aarch64-unknown-linux-gnu`
    Arm64,
    #[value(name = "x86-64")]
    X86,
}

impl Architecture {
    fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86 => "x86-64",
        }
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir()?;
    let architecture = options.architecture.name();
    let mut build = cargo_lambda()?;
    // Whether the standard library is there the compiler says itself; the check asks rustup, which not every Rust comes from.
    build.args(["build", "--release", "--output-format", "zip", "--skip-target-check"]).arg(format!("--{architecture}"));
    build.arg("--lambda-dir").arg(folder.path());
    for function in FUNCTIONS {
        build.args(["-p", function]);
    }
    ensure!(run_to_end(&build)?.success(), "the functions cannot be built for {architecture}: cargo says why above");
    let weigh = |function: &'static str| Ok((function, megabytes(&folder.path().join(function).join("bootstrap.zip"))?));
    let zips: Vec<(&str, f64)> = FUNCTIONS.into_iter().map(weigh).collect::<anyhow::Result<_>>()?;
    let table = Table {
        title: format!("built by `cargo lambda build --release --{architecture}`"),
        head: vec!["MB as a zip"],
        rows: zips.iter().map(|(function, mb)| ((*function).to_owned(), vec![Cell::Number(*mb, 2)])).collect(),
    };
    let target = |(function, value): &(&str, f64)| Target {
        what: format!("MB of {function}, {architecture}"),
        limit: ZIP_MB_MAX,
        value: *value,
        kind: Limit::AtMost,
    };
    Ok(Report { name: "sizes", tables: vec![table], targets: zips.iter().map(target).collect(), notes: Vec::new() })
}

/// Of a million bytes.
fn megabytes(file: &Path) -> anyhow::Result<f64> {
    let bytes = file.metadata().with_context(|| format!("weigh {}", file.display()))?.len();
    Ok(bytes as f64 / 1e6)
}
