//! `hookledger providers`: what is built in, out of the definitions themselves.

use anyhow::Result;
use clap::Args;
use hookledger_providers::{About, about};
use serde_json::{Value, json};

use crate::ended::{BadInput, Ended};
use crate::session::Session;
use crate::table::{Cell, Table};

/// See which providers are built in, and how each signs, names and repeats its events
#[derive(Debug, Args)]
pub(crate) struct Providers {
    /// One of them, with all that is known of it
    name: Option<String>,
}

pub(crate) fn run(arguments: &Providers, session: &mut Session) -> Result<Ended> {
    let terminal = &session.terminal;
    let Some(name) = &arguments.name else {
        let mut table = Table::new(&["NAME", "PROVIDER", "VERIFIED BY"]);
        for about in about() {
            if terminal.json {
                terminal.json(&as_json(&about))?;
            }
            table.row([Cell::new(about.name), Cell::new(&about.title), Cell::new(&about.verified)]);
        }
        if !terminal.json {
            for line in table.lines(terminal.paint) {
                terminal.line(&line)?;
            }
        }
        return Ok(Ended::Done);
    };
    let unknown = || BadInput(format!("no provider of the name {name}: `hookledger providers` lists them"));
    let about = about().find(|about| about.name == name).ok_or_else(unknown)?;
    if terminal.json {
        terminal.json(&as_json(&about))?;
        return Ok(Ended::Done);
    }
    terminal.line(&format!("{} ({})", terminal.paint.bold(&about.title), about.name))?;
    terminal.line(&format!("\n{}\n", about.notes))?;
    for (what, text) in parts(&about) {
        if !text.is_empty() {
            terminal.line(&format!("{:<9} {text}", format!("{what}:")))?;
        }
    }
    Ok(Ended::Done)
}

fn parts(about: &About) -> [(&'static str, &str); 7] {
    [
        ("secret", &about.secret),
        ("verified", &about.verified),
        ("id", &about.id),
        ("version", &about.version),
        ("retries", &about.retries),
        ("resend", &about.resend),
        ("docs", &about.docs),
    ]
}

fn as_json(about: &About) -> Value {
    let mut value = json!({ "name": about.name, "title": about.title, "notes": about.notes });
    for (what, text) in parts(about) {
        value[what] = json!(text);
    }
    value
}
