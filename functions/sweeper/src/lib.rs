//! The sweeper: once a minute, recovers what fell through and keeps house.
//!
//! Invariant: it only moves rows that nobody holds, so two sweeps at once do no harm; each run is bounded in rows and time.

mod report;
mod start;
mod sweep;

pub use sweep::Sweeper;
