//! Your business logic: a file per handler, and a line per handler here.

mod stripe_subscription;

use crate::route::Route;

/// The first route that takes an event has it. An event that none takes is settled as `ignored`.
pub const ROUTES: &[Route] = &[Route::snapshot("stripe", "customer.subscription.*", |transaction, event| {
    Box::pin(stripe_subscription::apply(transaction, event))
})];
