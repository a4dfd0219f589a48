//! The receiver's targets. One that speaks of somebody who was left out is left out too.

use super::floors::Floors;
use super::{Measured, Ready, Subject};
use crate::cpu::Shares;
use crate::load::{Cold, Run};
use crate::report::{Limit, Target};
use crate::spread::Spread;

pub(super) fn targets(ready: &[Ready], floors: &Floors) -> Vec<Target> {
    let of = |subject: Subject| ready.iter().find(|ready| ready.subject == subject).map(|ready| &ready.measured);
    let mut targets = Vec::new();
    let (Some(floor), Some(ours), Some(tls), Some(duplicates)) =
        (of(Subject::Answer200), of(Subject::Hookledger), of(Subject::HookledgerTls), of(Subject::Duplicates))
    else {
        return targets;
    };
    targets.push(at_most("CPU against the function that answers 200", ratio(cpu(&ours.one), cpu(&floor.one)), 1.6));
    targets.push(at_most("p50 against the sum of its parts", ratio(p50(&ours.one), p50_of_parts(floor, floors)), 1.15));
    targets.push(at_most("first answer with TLS, ms", Spread::of(first(&tls.cold)).median, 15.0));
    targets.push(at_most("memory, MB", Spread::of(ours.memory_mb.iter().chain(&tls.memory_mb).copied()).max, 16.0));
    targets.push(at_least("rate of duplicates against new events", ratio(rate(&duplicates.many), rate(&ours.many)), 1.5));
    if let Some(python) = of(Subject::Python) {
        targets.push(at_most("CPU against the Python Lambda", ratio(cpu(&ours.one), cpu(&python.one)), 0.2));
        targets.push(at_most(
            "first answer with TLS against the Python Lambda",
            ratio(first(&tls.cold), first(&python.cold)),
            0.05,
        ));
        targets.extend(eight("Python", ours, python, 5.0));
    }
    if let Some(node) = of(Subject::Node) {
        targets.extend(eight("Node.js", ours, node, 3.0));
    }
    targets
}

/// With eight environments: by the clock, and by what the functions alone spend.
fn eight(whose: &str, ours: &Measured, theirs: &Measured, limit: f64) -> [Target; 3] {
    let per_cpu_second = |runs: &[(Run, Shares)]| runs.iter().map(|(run, _)| run.per_cpu_second()).collect();
    let by_clock = ratio(rate(&ours.many), rate(&theirs.many));
    let not_waiting = ratio(rate(&ours.many_not_waiting), rate(&theirs.many_not_waiting));
    let by_cpu = ratio(per_cpu_second(&ours.many), per_cpu_second(&theirs.many));
    let against = format!("against the {whose} Lambda, eight environments");
    [
        at_least(&format!("rate {against}"), by_clock, limit),
        at_least(&format!("rate {against}, commits not waited for"), not_waiting, limit),
        at_least(&format!("requests a CPU second of the function {against}"), by_cpu, limit),
    ]
}

fn at_most(what: &str, value: f64, limit: f64) -> Target {
    Target { what: what.to_owned(), limit, value, kind: Limit::AtMost }
}

fn at_least(what: &str, value: f64, limit: f64) -> Target {
    Target { what: what.to_owned(), limit, value, kind: Limit::AtLeast }
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

fn first(starts: &[Cold]) -> Vec<f64> {
    starts.iter().map(|cold| cold.first_ms).collect()
}

/// Of a function that does nothing, the claim alone, and the queue alone.
fn p50_of_parts(floor: &Measured, floors: &Floors) -> Vec<f64> {
    let parts = floor.one.iter().zip(&floors.pgbench_one).zip(&floors.queue_us);
    parts.map(|((run, claim), queue_us)| run.p50_us + claim.latency_ms * 1e3 + queue_us).collect()
}
