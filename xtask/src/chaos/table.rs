//! The report: for a person, and as one JSON object for a program.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::Report;
use crate::paint::Paint;
use crate::progress::seconds;

const NAME_WIDTH: usize = 34;
const VIOLATIONS_SHOWN: usize = 20;

pub(super) fn render(report: &Report, paint: Paint) -> String {
    let Report { sent, plan, evidence, violations, .. } = report;
    let mut text = String::new();
    let heading = |text: &mut String, title: &str| line(text, &format!("  {}", paint.bold(title)));
    let row = |text: &mut String, name: &str, count: usize, says: &str| {
        let dots = paint.dim(&".".repeat(NAME_WIDTH.saturating_sub(name.chars().count())));
        line(text, &format!("    {name} {dots} {count:>7}   {}", paint.dim(says)));
    };
    heading(&mut text, "sent");
    row(&mut text, "events", plan.events.len(), &format!("of {} subscriptions", plan.subscriptions));
    let again = sent.sent as usize - plan.deliveries().min(sent.sent as usize);
    let says = format!("{} planned, {again} again for want of a 200", plan.deliveries());
    row(&mut text, "deliveries", sent.sent as usize, &says);
    row(&mut text, "events acknowledged", sent.acknowledged.len(), "");
    row(&mut text, "answered as duplicates", sent.duplicates as usize, "");
    heading(&mut text, "what went wrong");
    for (fault, times) in &report.faults {
        row(&mut text, fault.name(), *times as usize, "");
    }
    let [receivers, workers, sweepers] = report.started;
    let says = format!("{receivers} receivers, {workers} workers, {sweepers} sweepers");
    row(&mut text, "environments started", receivers + workers + sweepers, &says);
    heading(&mut text, "what became of it");
    let settled = evidence.settled_as("applied") + evidence.settled_as("stale");
    let says =
        format!("{} applied, {} older than what was there", evidence.settled_as("applied"), evidence.settled_as("stale"));
    row(&mut text, "settled", settled, &says);
    row(&mut text, "by way of the spill queue", evidence.spilled(), "");
    row(&mut text, "at a second attempt or later", evidence.tried_again(), "");
    row(&mut text, "dead letters", evidence.dead_letters(), "");
    row(&mut text, "effects", evidence.effects.len(), "");
    let verdicts = [("lost", &violations.lost), ("twice", &violations.twice), ("out of order", &violations.out_of_order)];
    for (name, found) in verdicts {
        let mark = if found.is_empty() { paint.green("✓") } else { paint.red("✗") };
        let dots = paint.dim(&".".repeat(NAME_WIDTH - name.len()));
        line(&mut text, &format!("  {mark} {} {dots} {:>7}", paint.bold(name), found.len()));
    }
    let took = seconds(report.took);
    if violations.is_empty() {
        let good = paint.green("what was acknowledged is done, once, and the newest is on top");
        line(&mut text, &format!("\n  {good}, after {took}"));
    } else {
        line(&mut text, &format!("\n  {} after {took}:", paint.red("not as it must be")));
        for violation in violations.all().take(VIOLATIONS_SHOWN) {
            line(&mut text, &format!("  {} {violation}", paint.red("✗")));
        }
    }
    line(&mut text, &format!("  {}", paint.dim(&format!("again: {}", to_repeat(report)))));
    text
}

pub(super) fn json(report: &Report) -> Value {
    let Report { sent, plan, evidence, violations, .. } = report;
    let faults: Map<String, Value> =
        report.faults.iter().map(|(fault, times)| (fault.name().replace(' ', "_"), (*times).into())).collect();
    let [receivers, workers, sweepers] = report.started;
    json!({
        "ok": violations.is_empty(),
        "seed": report.seed,
        "events": plan.events.len(),
        "sent": sent.sent,
        "acknowledged": sent.acknowledged.len(),
        "given_up": sent.given_up,
        "duplicates": sent.duplicates,
        "faults": faults,
        "environments_started": { "receiver": receivers, "worker": workers, "sweeper": sweepers },
        "applied": evidence.settled_as("applied"),
        "stale": evidence.settled_as("stale"),
        "spilled": evidence.spilled(),
        "tried_again": evidence.tried_again(),
        "dead_letters": evidence.dead_letters(),
        "effects": evidence.effects.len(),
        "lost": violations.lost.len(),
        "twice": violations.twice.len(),
        "out_of_order": violations.out_of_order.len(),
        "violations": violations.all().collect::<Vec<_>>(),
        "seconds": report.took.as_secs_f64(),
    })
}

pub(super) fn to_repeat(report: &Report) -> String {
    format!("cargo xtask chaos --events {} --seed {}", report.plan.events.len(), report.seed)
}

fn line(text: &mut String, line: &str) {
    // Writing into a String cannot fail.
    let _written = writeln!(text, "{}", line.trim_end());
}
