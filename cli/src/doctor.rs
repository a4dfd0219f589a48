//! `hookledger doctor`: what can be seen from beside the database, and what can be seen from here.

mod send;

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use hookledger_commands as commands;
use hookledger_commands::{Finding, State};
use hookledger_core::Secret;
use hookledger_providers::{SecretRef, Source};
use hookledger_runtime::{Vault, error_chain, load_sources, now, replay_token};
use serde_json::Value;

use crate::aws::as_a_function;
use crate::ended::Ended;
use crate::reach::Reach;
use crate::replay::pace::http;
use crate::replay::receiver::secure_url;
use crate::session::Session;
use crate::terminal::{Paint, safe};

/// Look for what is wrong with a deployment
///
/// Connects to all that a deployment uses and says in a line each what is right, or how to mend it. Changes nothing, unless
/// --send says so. Secrets are looked at where this command runs, as the environment here names them, unless --stack is given.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The deployment's address, to see whether its receiver answers and refuses what is not signed
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Send a signed test event to each source, and see what becomes of it: each stays in the ledger, as ignored
    #[arg(long, requires = "to")]
    send: bool,
    /// How long a test event may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30, requires = "send")]
    within: u64,
}

pub(crate) async fn run(arguments: Doctor, session: &mut Session) -> Result<Ended> {
    if let (true, Some(to)) = (arguments.send, &arguments.to) {
        let what = format!("a signed test event is sent to each source of {to}, and makes a row in its ledger");
        if !session.terminal.confirm(&what)? {
            return Ok(Ended::Declined);
        }
    }
    let mut reach = session.reach().await?;
    let mut findings = reach.ask(commands::Doctor { now: now() }).await?;
    match &reach {
        Reach::Here(_) => findings.extend(sources(session).await),
        Reach::Function(_) => {
            findings.push(Finding::new(
                "secrets",
                State::Unknown,
                "only the receiver may read them: it refuses to start without",
            ));
        }
    }
    if let Some(to) = &arguments.to {
        findings.extend(receiver(to, session).await?);
        if arguments.send {
            findings.extend(send::send(to, Duration::from_secs(arguments.within), session, &mut reach).await?);
        }
    }
    let terminal = &session.terminal;
    for finding in &findings {
        if terminal.json {
            terminal.json(finding)?;
            continue;
        }
        let (mark, colour): (_, fn(Paint, &str) -> String) = match finding.state {
            State::Right => ("ok", Paint::green),
            State::Notice => ("note", Paint::yellow),
            State::Wrong => ("WRONG", Paint::red),
            State::Unknown => ("?", Paint::dim),
        };
        let mark = colour(terminal.paint, &format!("{mark:<5}"));
        terminal.line(&format!("{mark}  {:<20} {}", safe(&finding.subject), safe(&finding.told)))?;
    }
    let wrong = findings.iter().any(|finding| finding.state == State::Wrong);
    Ok(if wrong { Ended::InPart } else { Ended::Done })
}

async fn sources(session: &Session) -> Vec<Finding> {
    let mut findings = Vec::new();
    match load_sources(&session.env) {
        Ok(sources) => {
            for source in sources.iter() {
                for reference in source.secret_refs() {
                    let subject = format!("secret of {}", source.name());
                    findings.push(match secret(session, source, reference).await {
                        Ok(_) => Finding::new(subject, State::Right, format!("{reference} is of the right kind")),
                        Err(error) => Finding::new(subject, State::Wrong, error_chain(error.as_ref())),
                    });
                }
            }
        }
        Err(error) => findings.push(Finding::new("sources", State::Wrong, error_chain(&error))),
    }
    findings.push(match is_replay_token_set(session).await {
        Ok(true) => Finding::new("replay token", State::Right, "set"),
        Ok(false) => Finding::new("replay token", State::Notice, "REPLAY_TOKEN is not set: nothing can be replayed"),
        Err(error) => Finding::new("replay token", State::Wrong, error_chain(error.as_ref())),
    });
    findings
}

async fn is_replay_token_set(session: &Session) -> Result<bool> {
    Ok(replay_token(&session.env, &session.vault("REPLAY_TOKEN_SECRET_ARN").await?).await?.is_some())
}

async fn secret(session: &Session, source: &Source, reference: &SecretRef) -> Result<Secret> {
    let text = match reference {
        SecretRef::Env(name) => session.env.required(name)?,
        SecretRef::SecretsManager { id, json_key } => {
            let current = Vault::from(&as_a_function().await?).fetch(id).await?.current;
            match json_key {
                // Why it cannot be read is not told: that would show some of it.
                Some(key) => serde_json::from_str::<serde_json::Map<String, Value>>(&current)
                    .ok()
                    .and_then(|object| object.get(key)?.as_str().map(str::to_owned))
                    .with_context(|| format!("{reference} has no text under its key"))?,
                None => current,
            }
        }
    };
    Ok(source.secret(&text)?)
}

/// A delivery that nobody signed leaves no trace.
async fn receiver(to: &str, session: &Session) -> Result<Vec<Finding>> {
    let base = secure_url(to, "--to")?;
    let base = base.as_str().trim_end_matches('/');
    let http = http()?;
    let mut findings = Vec::new();
    findings.push(match http.get(format!("{base}/health")).send().await {
        Ok(response) if response.status().is_success() => Finding::new("receiver", State::Right, "it answers"),
        Ok(response) => Finding::new("receiver", State::Wrong, format!("GET {base}/health answers {}", response.status())),
        Err(error) => Finding::new("receiver", State::Wrong, error_chain(&error)),
    });
    let Ok(sources) = load_sources(&session.env) else { return Ok(findings) };
    for source in sources.iter() {
        let subject = format!("receiver for {}", source.name());
        let unsigned = http.post(format!("{base}/webhooks/{}", source.name())).body("{}").send().await;
        findings.push(match unsigned {
            Ok(response) if response.status() == 401 => Finding::new(subject, State::Right, "refuses what is not signed"),
            Ok(response) if response.status() == 404 => {
                Finding::new(subject, State::Wrong, "it does not know this source: deploy it with this sources.toml")
            }
            Ok(response) if response.status().is_server_error() => {
                let status = response.status();
                Finding::new(
                    subject,
                    State::Wrong,
                    format!("answers {status}: see the receiver's log, a secret may be missing"),
                )
            }
            Ok(response) => {
                Finding::new(subject, State::Notice, format!("answers {} to what is not signed", response.status()))
            }
            Err(error) => Finding::new(subject, State::Wrong, error_chain(&error)),
        });
    }
    Ok(findings)
}
