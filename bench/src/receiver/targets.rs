//! The receiver's targets, and what the bare exchanges have of each. One that speaks of somebody who was left out is left out too.

use super::floors::Floors;
use super::{Measured, Ready, Subject};
use crate::cpu::Shares;
use crate::load::{Cold, Run};
use crate::report::{Cell, Limit, Table, Target};
use crate::spread::Spread;
use crate::stage::Way;

/// A target, and how near it one comes who does only what cannot be left out.
pub(super) struct Aim {
    pub(super) target: Target,
    /// `None` where the bare exchanges have no part in what is compared.
    bare: Option<f64>,
}

/// Those whom a target compares to others: hookledger, and the bare exchanges over the same way to Postgres.
#[derive(Clone, Copy)]
struct Pair<'a> {
    ours: &'a Measured,
    bare: &'a Measured,
}

pub(super) fn aims(ready: &[Ready], floors: &Floors) -> Vec<Aim> {
    let of = |subject| measured(ready, subject);
    let mut aims = Vec::new();
    let (Some(floor), Some(plain), Some(tls), Some(duplicates)) =
        (of(Subject::Answer200), pair(ready, Way::Plain), pair(ready, Way::Tls), of(Subject::Duplicates))
    else {
        return aims;
    };
    aims.push(plain.at_most("CPU against the function that answers 200", 1.6, |m| ratio(cpu(&m.one), cpu(&floor.one))));
    aims.push(plain.at_most("p50 against the sum of its parts", 1.15, |m| ratio(p50(&m.one), p50_of_parts(floor, floors))));
    aims.push(tls.at_most("first answer with TLS, ms", 15.0, |m| Spread::of(first(&m.cold)).median));
    let memory = Spread::of(plain.ours.memory_mb.iter().chain(&tls.ours.memory_mb).copied()).max;
    aims.push(alone("memory, MB", memory, Limit::AtMost, 16.0));
    let duplicates = ratio(rate(&duplicates.many), rate(&plain.ours.many));
    aims.push(alone("rate of duplicates against new events", duplicates, Limit::AtLeast, 1.5));
    if let Some(python) = of(Subject::Python) {
        aims.push(plain.at_most("CPU against the Python Lambda", 0.2, |m| ratio(cpu(&m.one), cpu(&python.one))));
        aims.push(tls.at_most("first answer with TLS against the Python Lambda", 0.05, |m| {
            ratio(first(&m.cold), first(&python.cold))
        }));
        aims.extend(eight("Python", plain, python, 5.0));
    }
    if let Some(node) = of(Subject::Node) {
        aims.extend(eight("Node.js", plain, node, 3.0));
    }
    aims
}

/// With eight environments: by the clock, and by what the functions alone spend.
fn eight(whose: &str, pair: Pair<'_>, theirs: &Measured, limit: f64) -> [Aim; 3] {
    let against = format!("against the {whose} Lambda, eight environments");
    [
        pair.at_least(&format!("rate {against}"), limit, |m| ratio(rate(&m.many), rate(&theirs.many))),
        pair.at_least(&format!("rate {against}, commits not waited for"), limit, |m| {
            ratio(rate(&m.many_not_waiting), rate(&theirs.many_not_waiting))
        }),
        pair.at_least(&format!("requests a CPU second of the function {against}"), limit, |m| {
            ratio(per_cpu_second(&m.many), per_cpu_second(&theirs.many))
        }),
    ]
}

/// What could be reached of the targets that are missed, by the program that does nothing but what all have to. `None` where none is.
pub(super) fn reachable(aims: &[Aim]) -> Option<Table> {
    let row = |Aim { target, bare }: &Aim| {
        let cells = vec![
            Cell::Number(target.limit, 2),
            Cell::Number(target.value, 2),
            bare.map_or(Cell::None, |bare| Cell::Number(bare, 2)),
        ];
        (target.what.clone(), cells)
    };
    let rows: Vec<_> = aims.iter().filter(|aim| !aim.target.is_reached()).map(row).collect();
    let title = "the targets that are missed, and what the bare exchanges have of them".to_owned();
    (!rows.is_empty()).then(|| Table { title, head: vec!["wanted", "hookledger", "the bare exchanges"], rows })
}

/// How many times what the bare exchanges have.
pub(super) fn against_bare(ready: &[Ready]) -> Table {
    let row = |what: &str, Pair { ours, bare }: Pair<'_>, of: fn(&Measured) -> Vec<f64>| {
        (what.to_owned(), vec![Cell::Spread(Spread::of_ratios(&of(ours), &of(bare)), 2)])
    };
    let (plain, tls) = (pair(ready, Way::Plain), pair(ready, Way::Tls));
    let rows = [
        plain.map(|pair| row("CPU of a request, one environment", pair, |m| cpu(&m.one))),
        plain.map(|pair| row("p50, one environment", pair, |m| p50(&m.one))),
        tls.map(|pair| row("CPU of a request, one environment, TLS to Postgres", pair, |m| cpu(&m.one))),
        tls.map(|pair| row("first answer, TLS to Postgres", pair, |m| first(&m.cold))),
        plain
            .map(|pair| row("requests a CPU second of the function, eight environments", pair, |m| per_cpu_second(&m.many))),
        plain.map(|pair| row("rate, eight environments", pair, |m| rate(&m.many))),
        plain.map(|pair| row("rate, eight environments, commits not waited for", pair, |m| rate(&m.many_not_waiting))),
    ];
    let title = "hookledger against the bare exchanges".to_owned();
    Table { title, head: vec!["times as much"], rows: rows.into_iter().flatten().collect() }
}

fn pair(ready: &[Ready], way: Way) -> Option<Pair<'_>> {
    let (ours, bare) = match way {
        Way::Plain => (Subject::Hookledger, Subject::Bare),
        Way::Tls => (Subject::HookledgerTls, Subject::BareTls),
    };
    Some(Pair { ours: measured(ready, ours)?, bare: measured(ready, bare)? })
}

fn measured(ready: &[Ready], subject: Subject) -> Option<&Measured> {
    ready.iter().find(|ready| ready.subject == subject).map(|ready| &ready.measured)
}

impl Pair<'_> {
    fn at_most(self, what: &str, limit: f64, of: impl Fn(&Measured) -> f64) -> Aim {
        Aim { bare: Some(of(self.bare)), ..alone(what, of(self.ours), Limit::AtMost, limit) }
    }

    fn at_least(self, what: &str, limit: f64, of: impl Fn(&Measured) -> f64) -> Aim {
        Aim { bare: Some(of(self.bare)), ..alone(what, of(self.ours), Limit::AtLeast, limit) }
    }
}

fn alone(what: &str, value: f64, kind: Limit, limit: f64) -> Aim {
    Aim { target: Target { what: what.to_owned(), limit, value, kind }, bare: None }
}

fn ratio(a: Vec<f64>, b: Vec<f64>) -> f64 {
    Spread::of_ratios(&a, &b).median
}

fn cpu(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.cpu_us).collect()
}

fn p50(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.p50_us).collect()
}

fn rate(runs: &[(Run, Shares)]) -> Vec<f64> {
    runs.iter().map(|(run, _)| run.per_second).collect()
}

fn per_cpu_second(runs: &[(Run, Shares)]) -> Vec<f64> {
    runs.iter().map(|(run, _)| run.per_cpu_second()).collect()
}

fn first(starts: &[Cold]) -> Vec<f64> {
    starts.iter().map(|cold| cold.first_ms).collect()
}

/// Of a function that does nothing, the claim alone, and the queue alone.
fn p50_of_parts(floor: &Measured, floors: &Floors) -> Vec<f64> {
    let parts = floor.one.iter().zip(&floors.pgbench_one).zip(&floors.queue_us);
    parts.map(|((run, claim), queue_us)| run.p50_us + claim.latency_ms * 1e3 + queue_us).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bare_exchanges_have_is_shown_of_each_target_that_is_missed() {
        let measured = |memory_mb| Measured { memory_mb: vec![memory_mb], ..Measured::default() };
        let pair = Pair { ours: &measured(3.0), bare: &measured(1.0) };
        let first = |m: &Measured| m.memory_mb[0];
        let reached = pair.at_most("a", 3.5, first);
        assert!(reachable(&[reached]).is_none());
        let missed = [pair.at_most("b", 2.0, first), pair.at_least("c", 4.0, first), alone("d", 5.0, Limit::AtMost, 1.0)];
        let table = reachable(&missed).unwrap().to_string();
        let rows = "| b | 2.00 | 3.00 | 1.00 |\n| c | 4.00 | 3.00 | 1.00 |\n| d | 1.00 | 5.00 | – |\n";
        assert!(table.ends_with(rows), "{table}");
    }
}
