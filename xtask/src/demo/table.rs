//! The report for a person: a table, aligned, and how to go on from there.

use std::fmt::Write;

use super::Report;
use super::check::complaint;
use super::play::{Answer, Played};
use super::story::{GITHUB_SECRET, STRIPE_SECRET};
use crate::paint::Paint;
use crate::progress::seconds;
use crate::stage::Stage;

const HEADINGS: [&str; 6] = ["sent", "answered", "ledger row", "attempts", "effects", "took"];

pub(super) fn render(report: &Report, paint: Paint) -> String {
    let rows: Vec<_> = report.played.iter().map(|played| (cells(played), played)).collect();
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|(cells, _)| cells[column].chars().count());
        cells.chain([HEADINGS[column].chars().count()]).max().unwrap_or(0)
    });
    let rule = "─".repeat(widths.iter().sum::<usize>() + 3 * (widths.len() - 1));
    let mut text = String::new();
    line(&mut text, &format!("    {}", paint.bold(&aligned(&HEADINGS.map(String::from), &widths))));
    line(&mut text, &format!("    {}", paint.dim(&rule)));
    for (cells, played) in rows {
        let mark = if complaint(played).is_none() { paint.green("✓") } else { paint.red("✗") };
        line(&mut text, &format!("  {mark} {}", aligned(&cells, &widths)));
        line(&mut text, &format!("    {}", paint.dim(&format!("  {}", played.scene.says))));
    }
    line(&mut text, &format!("    {}", paint.dim(&rule)));
    for subscription in &report.subscriptions {
        let plan = paint.bold(&format!("{:<8}", subscription.plan));
        line(&mut text, &format!("    in the end, {:<10} is on plan {plan} and {}", subscription.id, subscription.state));
    }
    let took = seconds(report.took);
    match report.complaints.as_slice() {
        [] => line(
            &mut text,
            &format!("\n  {} in {took}", paint.green("every event took effect once, and none went back in time")),
        ),
        complaints => {
            line(&mut text, &format!("\n  {} after {took}:", paint.red("not as it must be")));
            complaints.iter().for_each(|complaint| line(&mut text, &format!("  {} {complaint}", paint.red("✗"))));
        }
    }
    text
}

/// URLs and commands for someone who keeps it running.
pub(crate) fn how_to_go_on(stage: &Stage) -> String {
    let url = stage.watch.url();
    format!(
        r#"  webhooks   {url}/webhooks/stripe and /webhooks/github
  database   {psql} -c 'TABLE webhook_event'
  queue      {queue}
  dead ones  {dlq}
  logs       tail -f {log}

  A new event of Stripe, signed now; send it twice and see the second answered as a duplicate:

    body='{{"id":"evt_mine","object":"event","type":"customer.subscription.updated","created":'$(date +%s)',"livemode":false,"data":{{"object":{{"id":"sub_ada","object":"subscription","status":"active","items":{{"data":[{{"price":{{"id":"mine"}}}}]}}}}}}}}'
    t=$(date +%s); v1=$(printf '%s.%s' $t "$body" | openssl dgst -sha256 -hmac {STRIPE_SECRET} -r | cut -d' ' -f1)
    curl -i {url}/webhooks/stripe -H "stripe-signature: t=$t,v1=$v1" -H 'content-type: application/json' -d "$body"

  A push at GitHub, whose signature has no time in it:

    curl -i {url}/webhooks/github -H 'x-github-event: push' -H 'x-github-delivery: mine' -H 'x-github-hook-id: 1' \
      -H 'x-hub-signature-256: {github}' -H 'content-type: application/json' -d '{{"ref":"refs/heads/main"}}'

"#,
        psql = stage.psql,
        queue = stage.queue_url,
        dlq = stage.dlq_url,
        log = stage.watch.log().display(),
        github = hookledger_harness::sign::github(GITHUB_SECRET, br#"{"ref":"refs/heads/main"}"#),
    )
}

fn cells(played: &Played) -> [String; 6] {
    let row = played.row.as_ref();
    let state = row.map(|row| match &row.outcome {
        Some(outcome) => format!("{} · {outcome}", row.status),
        None => row.status.clone(),
    });
    [
        played.scene.name.to_owned(),
        played.answers.iter().map(|(answer, count)| answered(answer, *count)).collect::<Vec<_>>().join(", "),
        state.unwrap_or_else(|| "none".to_owned()),
        row.map_or("–".to_owned(), |row| row.attempts.to_string()),
        played.effects.to_string(),
        seconds(played.took),
    ]
}

fn answered(answer: &Answer, count: usize) -> String {
    let times = if count == 1 { String::new() } else { format!("{count} × ") };
    match &answer.outcome {
        Some(outcome) => format!("{times}{} {outcome}", answer.status),
        None => format!("{times}{}", answer.status),
    }
}

/// Words to the left, numbers (the last three columns) to the right.
fn aligned(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let padded = cells.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
        0..3 => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    });
    padded.collect::<Vec<_>>().join("   ")
}

fn line(text: &mut String, line: &str) {
    // Writing into a String cannot fail.
    let _written = writeln!(text, "{}", line.trim_end());
}
