//! Which events a proven delivery carries, and what each is about.
//!
//! Invariants: an event's id depends only on what is the same at every delivery of it; a version is the provider's clock at
//! the change, never the time of delivery; an event whose object cannot be named surely has none, so that it is never
//! taken for an older state of something else.

use std::borrow::Cow;

use hookledger_core::{EventId, Identity, Lifecycle, ObjectKey, has_control};
use serde::Deserialize;

use crate::condition::{Condition, Glob};
use crate::facts::{Facts, Wanted};
use crate::id_rule::IdRule;
use crate::instant::{self, Unit};
use crate::one_or_many::one_or_many;
use crate::place::Place;
use crate::rejection::Rejection;
use hookledger_json::Malformed;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
    /// The array of events: `root:/events`, or `root:` where the body is the array.
    pub(crate) events: Option<Place>,
    /// Arrays within one of them, the outer first, of which each member is an event with the rest of what surrounds it. Of
    /// alternatives, all that are there count.
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) split: Vec<Place>,
    /// The first that applies forms the id.
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) id: Vec<IdRule>,
    /// Whether an id may be a number in the body.
    #[serde(default)]
    id_number: bool,
    /// Joined with dots; all but the first may be missing.
    #[serde(rename = "type", deserialize_with = "one_or_many")]
    event_type: Vec<Place>,
    account: Option<Place>,
    version: Option<Place>,
    #[serde(default)]
    version_unit: Unit,
    /// Where `true` or `false` says whether an event is live.
    pub(crate) livemode: Option<Place>,
    /// Where `true` or `false` says whether an event is a test.
    pub(crate) testmode: Option<Place>,
    #[serde(default)]
    created: Vec<Glob>,
    #[serde(default)]
    deleted: Vec<Glob>,
    deleted_when: Option<Condition>,
    /// The first that applies names the object.
    #[serde(default)]
    object: Vec<ObjectRule>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObjectRule {
    /// The event types it is for; all where there are none.
    #[serde(default)]
    on: Vec<Glob>,
    kind: Place,
    /// The kind begins after this, where it is there.
    kind_after: Option<String>,
    /// The kind ends before this character: `subscription.updated` is about a `subscription`.
    kind_until: Option<char>,
    /// The provider's two formats write one kind in two ways (QuickBooks).
    #[serde(default)]
    kind_lowercase: bool,
    /// Joined with colons; all have to be there.
    #[serde(deserialize_with = "one_or_many")]
    id: Vec<Place>,
    account: Option<Place>,
    version: Option<Place>,
    version_unit: Option<Unit>,
    #[serde(flatten)]
    pub(crate) states: States,
}

/// Where the object's own state stands, for ties.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct States {
    pub(crate) state: Option<Place>,
    /// The changed fields as they were before.
    pub(crate) previous: Option<Place>,
    /// In `previous`, a field's former value stands under this key (GitHub's `from`).
    pub(crate) previous_under: Option<String>,
}

impl Envelope {
    pub(crate) fn bind(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        let ids = self.id.iter_mut().flat_map(IdRule::places);
        let own = [&mut self.events, &mut self.account, &mut self.version, &mut self.livemode, &mut self.testmode]
            .into_iter()
            .flatten();
        for place in ids.chain(&mut self.event_type).chain(&mut self.split).chain(own) {
            place.bind(wanted)?;
        }
        if let Some(condition) = &mut self.deleted_when {
            condition.bind(wanted)?;
        }
        for rule in &mut self.object {
            let own = [&mut rule.account, &mut rule.version].into_iter().flatten();
            for place in [&mut rule.kind].into_iter().chain(&mut rule.id).chain(own) {
                place.bind(wanted)?;
            }
        }
        Ok(())
    }

    /// As [`Envelope::bind`], with what only ties need.
    pub(crate) fn bind_states(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        self.bind(wanted)?;
        let states = self.object.iter_mut().flat_map(|rule| [&mut rule.states.state, &mut rule.states.previous]);
        states.flatten().try_for_each(|place| place.bind(wanted))
    }

    pub(crate) fn says_mode(&self) -> bool {
        self.livemode.is_some() || self.testmode.is_some()
    }

    /// Whether an event is of the mode that the source takes, if it takes only one.
    pub(crate) fn is_of_mode(&self, facts: &Facts<'_>, livemode: Option<bool>) -> Result<bool, Malformed> {
        let (place, wanted) = match (&self.livemode, &self.testmode, livemode) {
            (Some(place), _, Some(live)) => (place, live),
            (None, Some(place), Some(live)) => (place, !live),
            (None, None, _) | (_, _, None) => return Ok(true),
        };
        Ok(place.text(facts)?.is_none_or(|text| text == if wanted { "true" } else { "false" }))
    }

    pub(crate) fn identity(&self, facts: &Facts<'_>, id_rules: &[IdRule]) -> Result<Identity, Rejection> {
        let event_id = self.id(facts, id_rules)?;
        let event_type = self.event_type(facts)?;
        self.rest(facts, event_id, event_type).map_err(|Malformed| Rejection::MalformedBody)
    }

    pub(crate) fn id_in_words(&self) -> String {
        let rules = self.id.iter().map(IdRule::to_string);
        rules.collect::<Vec<_>>().join(", else ")
    }

    pub(crate) fn version_in_words(&self) -> String {
        let own = self.object.iter().filter_map(|rule| rule.version.as_ref());
        let mut places: Vec<String> = self.version.iter().chain(own).map(Place::to_string).collect();
        places.dedup();
        match places.as_slice() {
            [] => "none".to_owned(),
            few if few.len() <= 3 => few.join(", "),
            _ => "by object".to_owned(),
        }
    }

    fn id(&self, facts: &Facts<'_>, rules: &[IdRule]) -> Result<EventId, Rejection> {
        for rule in rules {
            if let Some(id) = rule.form(facts, self.id_number).map_err(|Malformed| Rejection::BadEventId)? {
                return EventId::new(id).map_err(|_| Rejection::BadEventId);
            }
        }
        Err(Rejection::NoEventId)
    }

    pub(crate) fn event_type(&self, facts: &Facts<'_>) -> Result<String, Rejection> {
        let mut words = self.event_type.iter().map(|place| place.text(facts).map_err(|Malformed| Rejection::MalformedBody));
        let first = words.next().transpose()?.flatten().ok_or(Rejection::NoEventType)?;
        let mut event_type = first.into_owned();
        for word in words {
            if let Some(word) = word? {
                event_type.push('.');
                event_type.push_str(&word);
            }
        }
        // It becomes a column, a metric's dimension and a log field.
        let plain = event_type.len() <= 255 && !has_control(&event_type);
        if plain { Ok(event_type) } else { Err(Rejection::MalformedBody) }
    }

    fn rest(&self, facts: &Facts<'_>, event_id: EventId, event_type: String) -> Result<Identity, Malformed> {
        let lifecycle = self.lifecycle(facts, &event_type)?;
        let (rule, object) = match self.object(facts, &event_type)? {
            Some((rule, object)) => (Some(rule), Some(object)),
            None => (None, None),
        };
        let place = rule.and_then(|rule| rule.version.as_ref()).or(self.version.as_ref());
        let unit = rule.and_then(|rule| rule.version_unit).unwrap_or(self.version_unit);
        // A time in a form nobody announced must not cost the event: it has no version then.
        let version = match place {
            Some(place) => place.text(facts)?.and_then(|text| instant::micros(&text, unit)),
            None => None,
        };
        Ok(Identity { event_id, event_type, object, version, lifecycle })
    }

    fn lifecycle(&self, facts: &Facts<'_>, event_type: &str) -> Result<Lifecycle, Malformed> {
        let fits = |globs: &[Glob]| globs.iter().any(|glob| glob.fits(event_type));
        let deleted = match &self.deleted_when {
            Some(condition) => condition.holds(facts)?,
            None => false,
        };
        Ok(if deleted || fits(&self.deleted) {
            Lifecycle::Deleted
        } else if fits(&self.created) {
            Lifecycle::Created
        } else {
            Lifecycle::Updated
        })
    }

    pub(crate) fn object(&self, facts: &Facts<'_>, event_type: &str) -> Result<Option<(&ObjectRule, ObjectKey)>, Malformed> {
        for rule in &self.object {
            if !rule.on.is_empty() && !rule.on.iter().any(|glob| glob.fits(event_type)) {
                continue;
            }
            let Some(kind) = rule.kind.text(facts)? else { continue };
            let Some(id) = rule.id(facts)? else { continue };
            let account = match rule.account.as_ref().or(self.account.as_ref()) {
                Some(place) => place.text(facts)?.map(Cow::into_owned).unwrap_or_default(),
                None => String::new(),
            };
            let kind = rule.kind_after.as_deref().and_then(|start| kind.strip_prefix(start)).unwrap_or(&kind);
            let kind = rule.kind_until.and_then(|end| kind.split_once(end)).map_or(kind, |(kind, _)| kind);
            let kind = if rule.kind_lowercase { kind.to_ascii_lowercase() } else { kind.to_owned() };
            return Ok(Some((rule, ObjectKey { account, kind, id })));
        }
        Ok(None)
    }
}

impl ObjectRule {
    fn id(&self, facts: &Facts<'_>) -> Result<Option<String>, Malformed> {
        let mut parts = self.id.iter().map(|place| place.text(facts));
        let Some(first) = parts.next().transpose()?.flatten() else { return Ok(None) };
        let mut id = first.into_owned();
        for part in parts {
            let Some(part) = part? else { return Ok(None) };
            id.push(':');
            id.push_str(&part);
        }
        Ok(Some(id))
    }
}
