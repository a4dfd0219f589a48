//! What a replay found, in figures and a bar chart.

use anyhow::Result;
use hookledger_core::Micros;
use serde::Serialize;

use crate::replay::buckets::Buckets;
use crate::replay::tally::{Problem, Recovered, Tally};
use crate::table::{Cell, Table};
use crate::terminal::{Paint, Terminal, safe};
use crate::when;

/// Bars are drawn in eighths of a character, so that a small difference shows.
const BAR_CHARS: u64 = 48;
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) provider: &'static str,
    pub(crate) to: String,
    /// Whether the provider delivers the new ones again, instead of their having been posted here.
    pub(crate) redelivered: bool,
    pub(crate) dry_run: bool,
    pub(crate) since: Option<Micros>,
    pub(crate) until: Micros,
    pub(crate) fetched: u64,
    pub(crate) known: u64,
    pub(crate) new: u64,
    pub(crate) ignored: u64,
    pub(crate) rejected: u64,
    pub(crate) failed: u64,
    pub(crate) buckets: Buckets,
    pub(crate) recovered: Vec<Recovered>,
    pub(crate) problems: Vec<Problem>,
}

impl Report {
    pub(crate) fn new(
        provider: &'static str,
        to: String,
        dry_run: bool,
        since: Option<Micros>,
        until: Micros,
        tally: Tally,
    ) -> Self {
        let times: Vec<Micros> = tally.recovered.iter().filter_map(|event| event.at).collect();
        let mut recovered = tally.recovered.clone();
        recovered.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        Self {
            provider,
            to,
            redelivered: false,
            dry_run,
            since,
            until,
            fetched: tally.fetched(),
            known: tally.known,
            new: tally.new,
            ignored: tally.ignored,
            rejected: tally.rejected,
            failed: tally.failed,
            buckets: Buckets::of(&times),
            recovered,
            problems: tally.problems,
        }
    }

    /// The one sentence to pass on.
    pub(crate) fn headline(&self) -> String {
        let events = if self.new == 1 { "event" } else { "events" };
        let span = self.buckets.bars.first().zip(self.buckets.bars.last()).map(|(first, last)| {
            let end = last.from + self.buckets.minutes * 60_000_000;
            let (day, last_day) = (when::day(first.from), when::day(end));
            if day == last_day {
                format!(" between {} and {} UTC on {day}", when::clock(first.from), when::clock(end))
            } else {
                format!(" between {} and {} UTC", show_minute(first.from), show_minute(end))
            }
        });
        let span = span.unwrap_or_default();
        match (self.dry_run, self.new) {
            (true, 0) => "nothing is missing".to_owned(),
            (true, new) => format!("{} {events} missing{span}", thousands(new)),
            (false, 0) => "nothing was missing".to_owned(),
            (false, new) if self.redelivered => {
                format!("{} {events} missed{span} will be delivered again", thousands(new))
            }
            (false, new) => format!("{} {events} recovered{span}", thousands(new)),
        }
    }

    pub(crate) fn figures(&self) -> Vec<(&'static str, u64)> {
        let new = if self.dry_run { "missing" } else { "new" };
        let mut figures = vec![("fetched", self.fetched), ("already known", self.known), (new, self.new)];
        if self.ignored > 0 {
            figures.push(("ignored", self.ignored));
        }
        if !self.dry_run {
            figures.extend([("rejected", self.rejected), ("failed", self.failed)]);
        }
        figures
    }

    /// On standard output, as JSON or for people.
    pub(crate) fn print(&self, terminal: &Terminal) -> Result<()> {
        if terminal.json {
            return terminal.json(self);
        }
        let paint = terminal.paint;
        let mut table = Table::new(&["", ""]);
        for (name, figure) in self.figures() {
            let cell = Cell::number(thousands(figure));
            let cell = match (name, figure) {
                ("new" | "missing", 1..) => cell.painted(Paint::green),
                ("rejected" | "failed", 1..) => cell.painted(Paint::red),
                _ => cell,
            };
            table.row([Cell::new(name), cell]);
        }
        terminal.line(&paint.bold(&self.headline()))?;
        for line in table.lines(paint).iter().skip(1) {
            terminal.line(&format!("  {line}"))?;
        }
        if !self.buckets.bars.is_empty() {
            let word = if self.dry_run { "missing" } else { "new" };
            terminal.line("")?;
            terminal.line(&paint.dim(&format!("  {word} per {}, UTC", self.width())))?;
        }
        for line in self.chart() {
            terminal.line(&format!("  {line}"))?;
        }
        for Problem { id, why } in self.problems.iter().take(10) {
            terminal.warn(&format!("{}: {}", safe(id), safe(why)));
        }
        Ok(())
    }

    pub(crate) fn width(&self) -> String {
        match self.buckets.minutes {
            5 => "five minutes".to_owned(),
            15 => "quarter of an hour".to_owned(),
            60 => "hour".to_owned(),
            minutes => format!("{} hours", minutes / 60),
        }
    }

    fn chart(&self) -> Vec<String> {
        let highest = self.buckets.highest().max(1);
        let with_day = self
            .buckets
            .bars
            .first()
            .zip(self.buckets.bars.last())
            .is_some_and(|(first, last)| first.from.div_euclid(86_400_000_000) != last.from.div_euclid(86_400_000_000));
        let scale = BAR_CHARS.min(highest * 6);
        let bars = self.buckets.bars.iter().map(|bar| {
            let eighths = bar.new * scale * 8 / highest;
            let text = "█".repeat((eighths / 8) as usize) + EIGHTHS[(eighths % 8) as usize];
            let label = if with_day { show_minute(bar.from) } else { when::clock(bar.from) };
            let count = if bar.new == 0 { String::new() } else { format!(" {}", bar.new) };
            format!("{label}  {text}{count}").trim_end().to_owned()
        });
        bars.collect()
    }
}

/// `2026-07-01 14:10`.
pub(crate) fn show_minute(at: Micros) -> String {
    when::show(at).get(..16).unwrap_or_default().replacen('T', " ", 1)
}

/// `4812` as `4,812`.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 22 new events in 40 minutes, of 4,812.
    pub(crate) fn an_outage() -> Report {
        let start: Micros = 1_782_915_000_000_000;
        let mut tally = Tally { known: 4_790, new: 22, ..Tally::default() };
        for (bucket, new) in [2_i64, 3, 5, 4, 3, 3, 1, 1].into_iter().enumerate() {
            for n in 0..new {
                let at = Some(start + bucket as i64 * 300_000_000 + n * 1_000_000);
                let id = format!("evt_{bucket}_{n}");
                tally.recovered.push(Recovered { id, at, event_type: "invoice.paid".into() });
            }
        }
        Report::new("Stripe", "https://h.example/webhooks/stripe".into(), false, Some(start), start + 1, tally)
    }

    #[test]
    fn an_outage_ends_in_one_sentence_and_a_chart() {
        let report = an_outage();
        assert_eq!(report.headline(), "22 events recovered between 14:10 and 14:50 UTC on 2026-07-01");
        let figures = [("fetched", 4_812), ("already known", 4_790), ("new", 22), ("rejected", 0), ("failed", 0)];
        assert_eq!(report.figures(), figures);
        assert_eq!(report.buckets.bars.iter().map(|bar| bar.new).collect::<Vec<_>>(), [2, 3, 5, 4, 3, 3, 1, 1]);
        let chart = report.chart();
        assert_eq!(chart[2], format!("14:20  {} 5", "█".repeat(30)));
        assert_eq!(chart[7], format!("14:45  {} 1", "█".repeat(6)));
    }

    #[test]
    fn large_figures_can_be_read() {
        assert_eq!([0, 999, 1_000, 4_812, 1_234_567].map(thousands), ["0", "999", "1,000", "4,812", "1,234,567"]);
    }
}
