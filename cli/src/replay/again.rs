//! Having a provider deliver again: it signs what it sends, so the receiver needs no replay token. What comes of it shows in the
//! ledger later.

use std::path::PathBuf;

use anyhow::Result;
use hookledger_core::Micros;
use hookledger_runtime::{error_chain, now};

use crate::ended::Ended;
use crate::events::retry::plural;
use crate::replay::api::Api;
use crate::replay::journal::Entry;
use crate::replay::page;
use crate::replay::receiver::Answered;
use crate::replay::report::Report;
use crate::replay::tally::Tally;
use crate::session::Session;

/// An event to be delivered again, and where to ask for it.
pub(crate) struct Wanted {
    pub(crate) id: String,
    pub(crate) at: Option<Micros>,
    pub(crate) event_type: String,
    pub(crate) path: String,
}

/// Asks for each, one after the other. `delivered` events need nothing.
pub(crate) async fn ask(
    session: &Session,
    api: &Api,
    provider: &'static str,
    since: Micros,
    delivered: u64,
    wanted: Vec<Wanted>,
    report: Option<&PathBuf>,
) -> Result<Ended> {
    let count = wanted.len() as u64;
    let what = format!("{provider} will be asked to deliver {count} {} again", plural(count));
    if count > 0 && !session.terminal.confirm(&what)? {
        return Ok(Ended::Declined);
    }
    let mut tally = Tally { known: delivered, ..Tally::default() };
    let mut progress = session.terminal.progress();
    for Wanted { id, at, event_type, path } in wanted {
        let answer = match api.post(&path).await {
            Ok(_) => Answered::New,
            Err(error) => Answered::Rejected(error_chain(error.as_ref())),
        };
        tally.add(Entry { id, at, event_type, answer });
        progress.show(&format!("{} of {count} asked for", tally.new));
    }
    progress.clear();
    let report_of = Report::new(provider, provider.to_owned(), false, Some(since), now(), tally);
    let asked = Report { redelivered: true, ..report_of };
    asked.print(&session.terminal)?;
    if let Some(path) = report {
        page::write(&asked, path)?;
    }
    Ok(if asked.rejected > 0 { Ended::InPart } else { Ended::Done })
}
