//! The way to AWS's services, the one HTTPS client of all that is not Postgres, and a kept connection for what each event costs.
//!
//! Invariants: TLS is OpenSSL's, as Postgres's is, so that a function carries one such library; a server is trusted under the
//! roots that are named here and no others; no call of an SDK's takes longer than [`OPERATION_MAX`], whatever the network does. How long an
//! exchange over a [`Connection`] may take is its caller's affair.

mod connection;
mod connector;
mod identity;
mod roots;
mod trace;

pub use connection::{Answer, Connection, PlainConnection};
pub use connector::Connector;
pub use identity::{ATTEMPT_MAX, Aws, OPERATION_MAX, credentials};
pub use roots::{Roots, RootsError};
pub use trace::{trace_id, traced};
