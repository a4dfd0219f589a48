//! The hot path's statements as they are sent, for whoever measures what Postgres itself takes for them.

use crate::claim::CLAIM;
use crate::guard::GUARD;
use crate::lease::LEASE;
use crate::work::SETTLE;

/// Each takes its parameters as `$1`, `$2`, …
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Statements {
    pub claim: &'static str,
    pub lease: &'static str,
    pub guard: &'static str,
    pub settle: &'static str,
}

#[doc(hidden)]
pub const STATEMENTS: Statements = Statements { claim: CLAIM, lease: LEASE, guard: GUARD, settle: SETTLE };
