//! `hookledger verify`: whether a captured delivery is genuine, what is in it, and if it is not, why. Asks nobody.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hookledger_core::{Identity, Lifecycle, Secret};
use hookledger_providers::{Rejection, Verified, explain, key_fetch, verify};
use serde_json::{Value, json};

use crate::delivery::{Delivery, read};
use crate::ended::{BadInput, Ended};
use crate::session::Session;

/// Look why a signature fails, or what a delivery is about
///
/// Takes a delivery as it was captured, with nothing changed in its body. Exit codes: 0 genuine, 1 not, 2 not understood.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    delivery: Delivery,
    /// The signing secret; several while it is rotated. Better set as WEBHOOK_SECRET: other users of a machine see arguments
    #[arg(long = "secret", value_name = "SECRET")]
    secrets: Vec<String>,
    /// What stands under the key's URL, where the provider publishes its key
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Verify, session: &mut Session) -> Result<Ended> {
    let source = arguments.delivery.source(None)?;
    let texts = match &arguments.key {
        Some(_) => arguments.secrets.clone(),
        None => arguments.delivery.secrets(&arguments.secrets, session)?,
    };
    let request = arguments.delivery.request(None)?;
    let now_s = arguments.delivery.now_s();
    let secrets = texts.iter().map(|text| source.secret(text)).collect::<Result<Vec<Secret>, _>>();
    let secrets = secrets.map_err(|error| BadInput(format!("a secret cannot be used: {error}")))?;
    let verified = match key_fetch(&source, &request) {
        Ok(None) => verify(&source, &request, &secrets, None, now_s),
        Ok(Some(fetch)) => {
            let missing = || BadInput(format!("save what stands under {} and name the file with --key", fetch.url()));
            let key = read(arguments.key.as_deref().ok_or_else(missing)?)?;
            let key = fetch.key(&key, now_s).map_err(|error| BadInput(format!("the key cannot be used: {error}")))?;
            verify(&source, &request, &[key], None, now_s)
        }
        Err(rejection) => Err(rejection),
    };
    let mut hints: Vec<&str> = Vec::new();
    if let Err(rejection) = &verified {
        hints.extend(texts.iter().flat_map(|text| explain(&source, &request, text, now_s)));
        hints.dedup();
        if hints.is_empty() && *rejection == Rejection::BadSignature {
            hints.push("nothing that was tried helps: it is another secret, or another body than the one that was signed");
        }
    }
    tell(&verified, &hints, session)
}

fn tell(verified: &Result<Verified, Rejection>, hints: &[&str], session: &Session) -> Result<Ended> {
    let events: Vec<&Identity> = match verified {
        Ok(Verified::Events(events)) => events.iter().map(|event| event.identity()).collect(),
        Ok(Verified::Handshake(_) | Verified::Ignored { .. }) | Err(_) => Vec::new(),
    };
    // What is proven and cannot be used is genuine all the same.
    let valid = verified.as_ref().map_or_else(|rejection| rejection.status() == 400, |_| true);
    let ended = if valid { Ended::Done } else { Ended::Declined };
    let terminal = &session.terminal;
    if terminal.json {
        let reason = verified.as_ref().err().map(Rejection::reason);
        let events: Vec<Value> = events.iter().map(|identity| as_json(identity)).collect();
        terminal.json(&json!({ "valid": valid, "reason": reason, "hints": hints, "events": events }))?;
        return Ok(ended);
    }
    match verified {
        Ok(Verified::Events(_)) => terminal.line(&terminal.paint.green("valid"))?,
        Ok(Verified::Handshake(answer)) => {
            terminal.line(&format!("valid: a handshake, which is answered with {}", answer.status))?;
        }
        Ok(Verified::Ignored { reason }) => terminal.line(&format!("valid, with nothing to process: {reason}"))?,
        Err(rejection) if valid => terminal.line(&format!("valid, but refused: {}", rejection.message()))?,
        Err(rejection) => {
            terminal.line(&format!("{}: {}", terminal.paint.red("not valid"), rejection.reason().replace('_', " ")))?;
        }
    }
    for hint in hints {
        terminal.line(&format!("  {hint}"))?;
    }
    for identity in events {
        let object = identity.object.as_ref().map(|object| format!("{} {}", object.kind, object.id)).unwrap_or_default();
        let version = identity.version.map_or_else(String::new, |version| version.to_string());
        let told = [identity.event_id.as_str(), &identity.event_type, &object, &version].map(crate::terminal::safe);
        terminal.line(&format!("  {}", told.join("  ").trim_end()))?;
    }
    Ok(ended)
}

fn as_json(identity: &Identity) -> Value {
    let object = identity.object.as_ref();
    let object = object.map(|object| json!({ "account": object.account, "kind": object.kind, "id": object.id }));
    let lifecycle = match identity.lifecycle {
        Lifecycle::Created => "created",
        Lifecycle::Updated => "updated",
        Lifecycle::Deleted => "deleted",
    };
    json!({
        "event_id": identity.event_id.as_str(), "event_type": identity.event_type, "object": object,
        "version": identity.version, "lifecycle": lifecycle,
    })
}
