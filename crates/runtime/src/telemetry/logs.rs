//! The libraries' own log lines, beside our records.

use lambda_runtime::tracing::subscriber;
use subscriber::filter::LevelFilter;

use crate::env::{Env, EnvError};

/// Sends `tracing` to standard output as JSON, one object a line, from `LOG_LEVEL` up: `error`, `warn` (default) or `info`.
///
/// `debug` and `trace` are refused: at those levels the AWS SDK and the Lambda runtime print requests, which hold bodies and
/// signatures. Our own records do not go through here, so that no level hides them.
pub(super) fn init(env: &Env) -> Result<(), EnvError> {
    let level = level(env)?;
    let lines = subscriber::fmt().json().flatten_event(true).with_current_span(false).with_span_list(false);
    // A second call finds the first one's subscriber in place, and nothing is lost by leaving it there.
    let _ = lines.with_max_level(level).try_init();
    Ok(())
}

fn level(env: &Env) -> Result<LevelFilter, EnvError> {
    match env.optional("LOG_LEVEL")?.as_deref() {
        Some("error") => Ok(LevelFilter::ERROR),
        None | Some("warn") => Ok(LevelFilter::WARN),
        Some("info") => Ok(LevelFilter::INFO),
        Some(_) => Err(EnvError::invalid("LOG_LEVEL", "error, warn or info")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tests::env;

    #[test]
    fn no_level_that_prints_requests_can_be_set() {
        assert_eq!(level(&env(&[])), Ok(LevelFilter::WARN));
        assert_eq!(level(&env(&[("LOG_LEVEL", "info")])), Ok(LevelFilter::INFO));
        for refused in ["debug", "trace", "INFO", "hookledger=trace"] {
            assert!(level(&env(&[("LOG_LEVEL", refused)])).is_err(), "{refused}");
        }
    }
}
