//! A measurement that was made several times. Invariant: at least one, and all are finite.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of nothing it is all zeros.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or_default();
        let (lower, upper) = (at(values.len().saturating_sub(1) / 2), at(values.len() / 2));
        Self { median: (lower + upper) / 2.0, min: at(0), max: at(values.len().saturating_sub(1)) }
    }

    /// How each of `values` compares with its partner of the same round.
    pub(crate) fn of_ratios(values: &[f64], partners: &[f64]) -> Self {
        Self::of(values.iter().zip(partners).map(|(value, partner)| value / partner))
    }

    pub(crate) fn json(self) -> Value {
        json!({ "median": self.median, "min": self.min, "max": self.max })
    }
}

/// With the precision asked for, two digits unless told otherwise.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        write!(f, "{:.digits$} ({:.digits$}–{:.digits$})", self.median, self.min, self.max)
    }
}

/// The value below which `part` of them lie; `values` need not be sorted.
pub(crate) fn quantile(values: &mut [Duration], part: f64) -> Duration {
    values.sort();
    let index = (values.len() as f64 * part) as usize;
    values.get(index.min(values.len().saturating_sub(1))).copied().unwrap_or_default()
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(Spread::of([4.0, 1.0, 3.0, 2.0]), Spread { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!(Spread::of([7.0]), Spread { median: 7.0, min: 7.0, max: 7.0 });
        assert_eq!(format!("{:.1}", Spread::of([1.0, 2.0, 9.0])), "2.0 (1.0–9.0)");
    }

    #[test]
    fn ratios_are_those_of_partners() {
        assert_eq!(Spread::of_ratios(&[2.0, 9.0], &[1.0, 3.0]), Spread { median: 2.5, min: 2.0, max: 3.0 });
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let mut values: Vec<_> = (1..=100).rev().map(Duration::from_micros).collect();
        assert_eq!(quantile(&mut values, 0.5), Duration::from_micros(51));
        assert_eq!(quantile(&mut values, 0.99), Duration::from_micros(100));
        assert_eq!(quantile(&mut [], 0.5), Duration::ZERO);
    }
}
