//! Every test vector under `vectors/`, through the whole of `verify`. Where a vector is from stands in it: constants are the
//! provider's own (`official`), or computed beside a provider's constants by a program that shares nothing with this one. So were
//! the identities, field by field out of the provider's documentation (`identity` in each file).

use hookledger_core::{Secret, Via};
use hookledger_providers::{SignedRequest, Verified, verify};
use http::{HeaderMap, HeaderValue};

use crate::delivery::REPLAY_TOKEN;
use crate::told::told;
use crate::vector::{Prepared, vectors};

#[test]
fn every_vector_ends_as_it_says() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (provider, vector) in vectors() {
        count += 1;
        let (outcome, genuine) = match Prepared::of(&provider, &vector) {
            Ok(prepared) => {
                let verified = prepared.verify(&prepared.request);
                (told(&verified), verified.map_or_else(|rejection| rejection.status() == 400, |_| true))
            }
            Err(told) => (told, false),
        };
        if outcome != vector.outcome || genuine != vector.valid {
            failures
                .push(format!("{provider}\t{}\t{outcome}\twanted {}, valid {}", vector.name, vector.outcome, vector.valid));
        }
    }
    assert!(failures.is_empty(), "of {count} vectors failed:\n{}", failures.join("\n"));
    assert!(count > 250, "only {count} vectors were found");
}

#[test]
fn what_is_stored_of_an_event_is_enough_to_replay_it() {
    let token = Secret::new(REPLAY_TOKEN).unwrap();
    let mut events_replayed = 0;
    for (provider, vector) in vectors().into_iter().filter(|(_, vector)| vector.valid) {
        let prepared = Prepared::of(&provider, &vector).unwrap();
        let Ok(Verified::Events(events)) = prepared.verify(&prepared.request) else { continue };
        for event in events {
            let headers = event.headers().iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            let mut headers: HeaderMap = headers.collect();
            headers.insert("x-replay-token", HeaderValue::from_static(REPLAY_TOKEN));
            let request = SignedRequest { headers, body: event.body().clone(), query: None, ..prepared.request.clone() };
            let replayed = verify(&prepared.source, &request, &[], Some(&token), prepared.now_s);
            let Ok(Verified::Events(replayed)) = replayed else { panic!("{provider} {}: {replayed:?}", vector.name) };
            assert_eq!(replayed.len(), 1, "{provider} {}", vector.name);
            let (first, mut again) = (event.identity().clone(), replayed[0].identity().clone());
            if provider == "plaid" {
                // Its id is of a token that is not kept, and it is a signal: a replay is another.
                again.event_id = first.event_id.clone();
            }
            assert_eq!(first, again, "{provider} {}", vector.name);
            assert_eq!(replayed[0].body(), event.body(), "{provider} {}", vector.name);
            assert_eq!(replayed[0].via(), Via::Replay);
            events_replayed += 1;
        }
    }
    assert!(events_replayed > 100, "only {events_replayed} events were replayed");
}
