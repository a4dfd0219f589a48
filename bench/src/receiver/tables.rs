//! The receiver's tables.

use super::floors::Floors;
use super::targets::{against_bare, aims, reachable};
use super::traffic::Traffic;
use super::{MANY, Options, Ready, Subject};
use crate::cost;
use crate::cpu::Shares;
use crate::load::Run;
use crate::report::{Cell, Report, Table};
use crate::spread::{Spread, micros};

pub(super) fn report(ready: &[Ready], floors: &Floors, traffic: &[(Subject, Traffic)], options: &Options) -> Report {
    let title = format!("{MANY} environments at once");
    let aims = aims(ready, floors);
    let mut tables = vec![
        one(ready),
        many(ready, title.clone(), |ready| &ready.measured.many),
        many(ready, format!("{title}, where commits are not waited for"), |ready| &ready.measured.many_not_waiting),
        cold(ready),
        the_floors(floors),
        wire(traffic),
    ];
    tables.extend(reachable(&aims));
    tables.push(against_bare(ready));
    let notes = vec![format!(
        "{} rounds by turns, of {} requests with one environment and {} with {MANY}; {} cold starts of each. Functions, Postgres and the \
         harness, which is sender, Runtime API and queue in one, share this machine's processors.",
        options.rounds,
        options.requests,
        3 * options.requests,
        options.starts
    )];
    Report { name: "receiver", tables, targets: aims.into_iter().map(|aim| aim.target).collect(), notes }
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
            spread(runs, |run| run.billed_ms, 1),
        ];
        (ready.subject.name().to_owned(), cells)
    };
    Table {
        title: "one environment, one request after the other".to_owned(),
        head: vec!["CPU µs a request", "p50 µs", "p90 µs", "p99 µs", "requests a second", cost::COLUMN],
        rows: ready.iter().map(row).collect(),
    }
}

fn many(ready: &[Ready], title: String, of: fn(&Ready) -> &Vec<(Run, Shares)>) -> Table {
    let row = |ready: &Ready| {
        let runs = of(ready);
        let cells = vec![
            spread(runs, |(run, _)| run.per_second, 0),
            spread(runs, |(run, _)| run.p50_us, 0),
            spread(runs, |(run, _)| run.cpu_us, 0),
            spread(runs, |(_, shares)| micros(shares.postgres), 0),
            spread(runs, |(_, shares)| micros(shares.harness), 0),
            spread(runs, |(run, _)| run.per_cpu_second(), 0),
        ];
        (ready.subject.name().to_owned(), cells)
    };
    Table {
        title,
        head: vec![
            "requests a second",
            "p50 µs",
            "CPU µs a request",
            "Postgres's CPU µs",
            "the harness's CPU µs",
            "requests a CPU second of the function",
        ],
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

fn wire(traffic: &[(Subject, Traffic)]) -> Table {
    let row = |(subject, traffic): &(Subject, Traffic)| {
        let cells = vec![
            Cell::Number(traffic.round_trips, 2),
            Cell::Number(traffic.sent_bytes, 0),
            Cell::Number(traffic.received_bytes, 0),
            Cell::Number(traffic.queue_calls, 2),
            Cell::Number(traffic.queue_bytes, 0),
        ];
        (subject.name().to_owned(), cells)
    };
    Table {
        title: "on the wire, of one request".to_owned(),
        head: vec!["round trips to Postgres", "bytes to it", "bytes from it", "calls to the queue", "bytes to the queue"],
        rows: traffic.iter().map(row).collect(),
    }
}
