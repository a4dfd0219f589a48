//! What became of a delivery, in one line.

use hookledger_providers::{Rejection, Verified};

/// `id type account/kind/id @version lifecycle` for each event.
pub(crate) fn told(verified: &Result<Verified, Rejection>) -> String {
    match verified {
        Ok(Verified::Events(events)) => {
            let events = events.iter().map(|event| {
                let identity = event.identity();
                let object =
                    identity.object.as_ref().map(|o| format!(" {}/{}/{}", o.account, o.kind, o.id)).unwrap_or_default();
                let version = identity.version.map(|v| format!(" @{v}")).unwrap_or_default();
                format!("{} {}{object}{version} {}", identity.event_id, identity.event_type, identity.lifecycle.as_str())
            });
            events.collect::<Vec<_>>().join("; ")
        }
        Ok(Verified::Handshake(answer)) => {
            format!("handshake {} {} {}", answer.status, answer.content_type, String::from_utf8_lossy(&answer.body))
        }
        Ok(Verified::Ignored { reason }) => format!("ignored {reason}"),
        Err(rejection) => format!("rejected {}", rejection.reason()),
    }
}
