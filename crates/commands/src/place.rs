//! What a command has at hand where it runs.

use hookledger_ledger::Ledger;
use hookledger_queue::Queue;

pub struct Place {
    pub ledger: Ledger,
    /// Without one, events that are asked for again are left to the sweeper.
    pub queue: Option<Queue>,
}
