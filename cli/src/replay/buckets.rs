//! New events over time, for a bar chart.

use hookledger_core::Micros;
use serde::Serialize;

/// Minutes that a bar can stand for: five, or as many more as it takes for the chart to fit.
const WIDTHS_MIN: [i64; 7] = [5, 15, 60, 360, 1_440, 10_080, 43_200];
const BARS_MAX: i64 = 96;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Buckets {
    pub(crate) minutes: i64,
    pub(crate) bars: Vec<Bar>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Bar {
    /// Its beginning, a whole multiple of the width since 1970 UTC.
    pub(crate) from: Micros,
    pub(crate) new: u64,
}

impl Buckets {
    /// From the first to the last of `times`, empty bars between them included.
    pub(crate) fn of(times: &[Micros]) -> Self {
        let (Some(first), Some(last)) = (times.iter().min(), times.iter().max()) else {
            return Self { minutes: WIDTHS_MIN[0], bars: Vec::new() };
        };
        let bars_at = |minutes: i64| last.div_euclid(minutes * 60_000_000) - first.div_euclid(minutes * 60_000_000) + 1;
        let minutes = WIDTHS_MIN.into_iter().find(|minutes| bars_at(*minutes) <= BARS_MAX).unwrap_or(WIDTHS_MIN[6]);
        let width = minutes * 60_000_000;
        let start = first.div_euclid(width);
        let bars = (0..bars_at(minutes).min(10 * BARS_MAX)).map(|n| {
            let new = times.iter().filter(|at| at.div_euclid(width) == start + n).count() as u64;
            Bar { from: (start + n) * width, new }
        });
        Self { minutes, bars: bars.collect() }
    }

    pub(crate) fn highest(&self) -> u64 {
        self.bars.iter().map(|bar| bar.new).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Micros = 60_000_000;

    #[test]
    fn bars_stand_for_five_minutes_of_the_clock() {
        let times: Vec<Micros> = [12, 14, 15, 29].map(|minute| minute * MINUTE).into();
        let buckets = Buckets::of(&times);
        let bars: Vec<_> = buckets.bars.iter().map(|bar| (bar.from / MINUTE, bar.new)).collect();
        assert_eq!((buckets.minutes, bars), (5, vec![(10, 2), (15, 1), (20, 0), (25, 1)]));
        assert_eq!(Buckets::of(&[]).bars, []);
    }

    #[test]
    fn a_long_outage_gets_wider_bars() {
        let day = 24 * 60 * MINUTE;
        assert_eq!(Buckets::of(&[0, day / 4]).minutes, 5);
        assert_eq!(Buckets::of(&[0, day]).minutes, 60);
        let month = Buckets::of(&[0, 30 * day]);
        assert!(month.bars.len() <= 97, "{}", month.bars.len());
        assert_eq!(month.bars.iter().map(|bar| bar.new).sum::<u64>(), 2);
    }
}
