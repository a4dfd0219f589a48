//! The figures of a replay. Invariant: fetched is the sum of the others.

use hookledger_core::Micros;
use serde::Serialize;

use crate::replay::journal::Entry;
use crate::replay::receiver::Answered;

/// Problems that are kept with their reasons; the others are counted.
const PROBLEMS_MAX: usize = 100;

#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) known: u64,
    pub(crate) new: u64,
    pub(crate) ignored: u64,
    pub(crate) rejected: u64,
    pub(crate) failed: u64,
    pub(crate) recovered: Vec<Recovered>,
    pub(crate) problems: Vec<Problem>,
}

/// An event that was not there before.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Recovered {
    pub(crate) id: String,
    pub(crate) at: Option<Micros>,
    #[serde(rename = "type")]
    pub(crate) event_type: String,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Problem {
    pub(crate) id: String,
    pub(crate) why: String,
}

impl Tally {
    pub(crate) fn fetched(&self) -> u64 {
        self.known + self.new + self.ignored + self.rejected + self.failed
    }

    pub(crate) fn add(&mut self, entry: Entry) {
        let Entry { id, at, event_type, answer } = entry;
        match answer {
            Answered::New => {
                self.new += 1;
                self.recovered.push(Recovered { id, at, event_type });
            }
            Answered::Known => self.known += 1,
            Answered::Ignored => self.ignored += 1,
            Answered::Rejected(why) => {
                self.rejected += 1;
                self.problem(id, why);
            }
            Answered::Failed(why) => {
                self.failed += 1;
                self.problem(id, why);
            }
        }
    }

    fn problem(&mut self, id: String, why: String) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { id, why });
        }
    }
}
