//! When a failed event is tried again. Pure: the caller brings the randomness.

use std::time::Duration;

use crate::handler::HandlerError;

/// Exponential backoff with full jitter: the n-th wait is drawn evenly from `0..=min(cap, base · 2ⁿ⁻¹)`, but never
/// below one second, which is the resolution of a queue's visibility timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, the first one included. The last failure goes to `dead_letter`.
    pub attempts_max: u32,
    pub base: Duration,
    /// At most 12 hours, the longest visibility timeout that SQS has.
    pub cap: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts_max: 5, base: Duration::from_secs(10), cap: Duration::from_secs(3600) }
    }
}

/// What becomes of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// `failed`, and due again after this time.
    RetryIn(Duration),
    DeadLetter,
}

impl RetryPolicy {
    /// `attempt` counts from 1; `jitter` is uniform in `0.0..1.0`.
    pub fn after(&self, attempt: u32, error: &HandlerError, jitter: f64) -> Settlement {
        match error {
            HandlerError::Permanent(_) => Settlement::DeadLetter,
            HandlerError::Retryable(_) if attempt >= self.attempts_max => Settlement::DeadLetter,
            HandlerError::Retryable(_) => Settlement::RetryIn(self.wait(attempt, jitter)),
        }
    }

    fn wait(&self, attempt: u32, jitter: f64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(30);
        let ceiling = self.base.saturating_mul(1 << doublings).min(self.cap);
        ceiling.mul_f64(jitter.clamp(0.0, 1.0)).max(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_s(attempt: u32, jitter: f64) -> u64 {
        let patient = RetryPolicy { attempts_max: u32::MAX, ..RetryPolicy::default() };
        match patient.after(attempt, &HandlerError::retryable("x"), jitter) {
            Settlement::RetryIn(wait) => wait.as_secs(),
            Settlement::DeadLetter => panic!("dead-lettered"),
        }
    }

    #[test]
    fn the_ceiling_doubles_up_to_the_cap() {
        assert_eq!([1, 2, 3, 4].map(|n| wait_s(n, 1.0)), [10, 20, 40, 80]);
        assert_eq!(wait_s(40, 1.0), 3600);
        assert_eq!(wait_s(u32::MAX - 1, 1.0), 3600);
    }

    #[test]
    fn jitter_spreads_over_the_whole_range_and_never_below_a_second() {
        assert_eq!(wait_s(3, 0.5), 20);
        assert_eq!(wait_s(3, 0.0), 1);
    }

    #[test]
    fn the_fifth_failure_and_any_permanent_one_are_dead_letters() {
        let policy = RetryPolicy::default();
        assert!(matches!(policy.after(4, &HandlerError::retryable("x"), 0.5), Settlement::RetryIn(_)));
        assert_eq!(policy.after(5, &HandlerError::retryable("x"), 0.5), Settlement::DeadLetter);
        assert_eq!(policy.after(1, &HandlerError::permanent("x"), 0.5), Settlement::DeadLetter);
    }
}
