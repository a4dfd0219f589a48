//! How `main` waits for what serves invocations.

use std::panic::resume_unwind;

use tokio::task::spawn_local;

/// Polls `serving` as a task of its own. What `main` awaits itself is polled by the runtime between two looks for events at the
/// operating system: one needless system call each time that an answer of Postgres or SQS wakes it. Panics outside of a
/// runtime whose flavor is `local`, which asks nothing to be `Send`.
pub async fn on_a_task<T: 'static>(serving: impl Future<Output = T> + 'static) -> T {
    spawn_local(serving).await.unwrap_or_else(|panicked| resume_unwind(panicked.into_panic()))
}
