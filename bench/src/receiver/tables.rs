//! The receiver's tables and targets.

use super::floors::Floors;
use super::{MANY, Options, Ready, Subject, Traffic};
use crate::load::{Cold, Run};
use crate::report::{Cell, Limit, Report, Table, Target};
use crate::spread::Spread;

pub(super) fn report(ready: &[Ready], floors: &Floors, traffic: &Traffic, options: &Options) -> Report {
    let tables = vec![one(ready), many(ready), cold(ready), the_floors(floors), wire(traffic)];
    let notes = vec![format!(
        "{} rounds by turns, of {} requests with one environment and {} with {MANY}; {} cold starts of each.",
        options.rounds,
        options.requests,
        3 * options.requests,
        options.starts
    )];
    Report { name: "receiver", tables, targets: targets(ready, floors), notes }
}

fn spread<T>(values: &[T], value: impl Fn(&T) -> f64, digits: usize) -> Cell {
    Cell::Spread(Spread::of(values.iter().map(value)), digits)
}

fn one(ready: &[Ready]) -> Table {
    let row = |ready: &Ready| {
        let runs = &ready.measured.one;
        let cells = vec![
            spread(runs, |run| run.cpu_us, 0),
            spread(runs, |run| run.p50_us, 0),
            spread(runs, |run| run.p90_us, 0),
            spread(runs, |run| run.p99_us, 0),
            spread(runs, |run| run.per_second, 0),
        ];
        (ready.subject.name().to_owned(), cells)
    };
    Table {
        title: "one environment, one request after the other".to_owned(),
        head: vec!["CPU µs a request", "p50 µs", "p90 µs", "p99 µs", "requests a second"],
        rows: ready.iter().map(row).collect(),
    }
}

fn many(ready: &[Ready]) -> Table {
    let row = |ready: &Ready| {
        let runs = &ready.measured.many;
        let cells = vec![
            spread(runs, |run| run.cpu_us, 0),
            spread(runs, |run| run.p50_us, 0),
            spread(runs, |run| run.per_second, 0),
        ];
        (ready.subject.name().to_owned(), cells)
    };
    Table {
        title: format!("{MANY} environments at once"),
        head: vec!["CPU µs a request", "p50 µs", "requests a second"],
        rows: ready.iter().map(row).collect(),
    }
}

fn cold(ready: &[Ready]) -> Table {
    let row = |ready: &Ready| {
        let starts = &ready.measured.cold;
        let cells = vec![
            spread(starts, |cold| cold.init_ms, 1),
            spread(starts, |cold| cold.first_ms, 1),
            spread(&ready.measured.memory_mb, |mb| *mb, 1),
        ];
        (ready.subject.name().to_owned(), cells)
    };
    Table {
        title: "a new environment, and the most memory that one ever had".to_owned(),
        head: vec!["init ms", "first answer ms", "memory MB"],
        // Duplicates start like any others.
        rows: ready.iter().filter(|ready| ready.subject != Subject::Duplicates).map(row).collect(),
    }
}

fn the_floors(floors: &Floors) -> Table {
    let row = |name: &str, time: Cell, rate: Cell| (name.to_owned(), vec![time, rate]);
    Table {
        title: "the floors".to_owned(),
        head: vec!["µs", "a second"],
        rows: vec![
            row(
                "the ledger's claim by pgbench, one connection",
                spread(&floors.pgbench_one, |bench| bench.latency_ms * 1e3, 0),
                spread(&floors.pgbench_one, |bench| bench.per_second, 0),
            ),
            row(
                &format!("the ledger's claim by pgbench, {MANY} connections"),
                spread(&floors.pgbench_many, |bench| bench.latency_ms * 1e3, 0),
                spread(&floors.pgbench_many, |bench| bench.per_second, 0),
            ),
            row("the queue's answer to one written by hand", spread(&floors.queue_us, |us| *us, 0), Cell::None),
            row("HMAC-SHA256 of the body", spread(&floors.hmac_us, |us| *us, 1), Cell::None),
        ],
    }
}

fn wire(traffic: &Traffic) -> Table {
    let cells = vec![
        Cell::Number(traffic.round_trips, 2),
        Cell::Number(traffic.sent_bytes, 0),
        Cell::Number(traffic.received_bytes, 0),
        Cell::Number(traffic.queue_calls, 2),
    ];
    Table {
        title: "on the wire, of one new event".to_owned(),
        head: vec!["round trips to Postgres", "bytes to it", "bytes from it", "calls to the queue"],
        rows: vec![("hookledger".to_owned(), cells)],
    }
}

fn targets(ready: &[Ready], floors: &Floors) -> Vec<Target> {
    let of = |subject: Subject| ready.iter().find(|ready| ready.subject == subject).map(|ready| &ready.measured);
    let (Some(floor), Some(ours), Some(tls), Some(duplicates), Some(python)) = (
        of(Subject::Answer200),
        of(Subject::Hookledger),
        of(Subject::HookledgerTls),
        of(Subject::Duplicates),
        of(Subject::Python),
    ) else {
        return Vec::new();
    };
    let runs = |runs: &[Run], value: fn(&Run) -> f64| -> Vec<f64> { runs.iter().map(value).collect() };
    let ratio = |a: Vec<f64>, b: Vec<f64>| Spread::of_ratios(&a, &b).median;
    let first = |starts: &[Cold]| -> Vec<f64> { starts.iter().map(|cold| cold.first_ms).collect() };
    let p50_of_parts: Vec<f64> = (0..floor.one.len())
        .map(|round| floor.one[round].p50_us + floors.pgbench_one[round].latency_ms * 1e3 + floors.queue_us[round])
        .collect();
    let memory = Spread::of(ours.memory_mb.iter().chain(&tls.memory_mb).copied()).max;
    let cpu = |run: &Run| run.cpu_us;
    let rate = |run: &Run| run.per_second;
    let p50 = |run: &Run| run.p50_us;
    let target = |what: &str, value: f64, kind: Limit, limit: f64| Target { what: what.to_owned(), limit, value, kind };
    let at_most = |what: &str, value: f64, limit: f64| target(what, value, Limit::AtMost, limit);
    let at_least = |what: &str, value: f64, limit: f64| target(what, value, Limit::AtLeast, limit);
    vec![
        at_most("CPU against the function that answers 200", ratio(runs(&ours.one, cpu), runs(&floor.one, cpu)), 1.6),
        at_most("CPU against the Python Lambda", ratio(runs(&ours.one, cpu), runs(&python.one, cpu)), 0.2),
        at_most("p50 against the sum of its parts", ratio(runs(&ours.one, p50), p50_of_parts), 1.15),
        at_least(
            "rate against the Python Lambda, eight environments",
            ratio(runs(&ours.many, rate), runs(&python.many, rate)),
            5.0,
        ),
        at_most("first answer with TLS, ms", Spread::of(first(&tls.cold)).median, 15.0),
        at_most("first answer with TLS against the Python Lambda", ratio(first(&tls.cold), first(&python.cold)), 0.05),
        at_most("memory, MB", memory, 16.0),
        at_least("rate of duplicates against new events", ratio(runs(&duplicates.many, rate), runs(&ours.many, rate)), 1.5),
    ]
}
