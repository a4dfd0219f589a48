//! Writes what was measured into docs/performance.md, between marks, and draws its plots beside it: nobody copies a figure by
//! hand. Invariant: what stands outside the marks is left alone, and a report without marks is an error.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, ensure};
use hookledger_harness::root;

use crate::chart::{Chart, Scale};
use crate::machine;
use crate::report::Report;

const PAGE: &str = "docs/performance.md";

/// A plot of columns of a report.
struct Plot {
    report: &'static str,
    /// In docs/.
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: Scale,
    limit: Option<f64>,
    columns: &'static [&'static str],
}

const PLOTS: [Plot; 4] = [
    Plot {
        report: "receiver",
        file: "receiver-latency.svg",
        title: "Latency of a request, one environment",
        unit: "µs",
        scale: Scale::Logarithmic,
        limit: None,
        columns: &["p50 µs", "p90 µs", "p99 µs"],
    },
    Plot {
        report: "receiver",
        file: "receiver-cpu.svg",
        title: "Processor time of a request, one environment",
        unit: "µs",
        scale: Scale::Linear,
        limit: None,
        columns: &["CPU µs a request"],
    },
    Plot {
        report: "worker",
        file: "worker-cpu.svg",
        title: "Processor time of an event in a batch of ten",
        unit: "µs",
        scale: Scale::Linear,
        limit: None,
        columns: &["CPU µs"],
    },
    Plot {
        report: "growth",
        file: "growth.svg",
        title: "Time of an operation: large ledger against small",
        unit: "ratio",
        scale: Scale::Linear,
        limit: Some(1.2),
        columns: &["ratio"],
    },
];

pub(crate) fn publish(reports: &[Report]) -> anyhow::Result<()> {
    let file = root().join(PAGE);
    let mut page = fs::read_to_string(&file).with_context(|| format!("read {PAGE}"))?;
    for report in reports {
        page = replaced(&page, report.name, &section(report))?;
        for plot in PLOTS.iter().filter(|plot| plot.report == report.name) {
            fs::write(root().join("docs").join(plot.file), plot.chart(report)?.svg())?;
        }
    }
    page = replaced(&page, "machine", &format!("{}\n", machine::describe()))?;
    Ok(fs::write(file, page)?)
}

impl Plot {
    fn chart(&self, report: &Report) -> anyhow::Result<Chart> {
        let columns: Vec<_> = self.columns.iter().map(|column| report.column(column)).collect();
        let first = columns.first().filter(|rows| !rows.is_empty());
        let rows =
            first.with_context(|| format!("{} has no column for {}", report.name, self.file))?.iter().map(|(name, _)| {
                let of_row =
                    |column: &Vec<(String, _)>| column.iter().find(|(other, _)| other == name).map(|(_, value)| *value);
                (name.clone(), columns.iter().filter_map(of_row).collect())
            });
        let series = self.columns.iter().map(|column| column.trim_end_matches(" µs")).collect();
        let Self { title, unit, scale, limit, .. } = *self;
        Ok(Chart { title: title.to_owned(), unit, scale, limit, series, rows: rows.collect() })
    }
}

fn section(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for table in &report.tables {
        let _ = writeln!(text, "{table}");
    }
    for target in &report.targets {
        let _ = writeln!(text, "{target}");
    }
    for note in &report.notes {
        let _ = match note.contains('\n') {
            true => {
                let note = note.trim_matches('\n');
                writeln!(text, "\n<details><summary>As it was printed</summary>\n\n```\n{note}\n```\n\n</details>")
            }
            false => writeln!(text, "\n{note}"),
        };
    }
    text
}

/// `page` with `text` between the marks of `name`.
fn replaced(page: &str, name: &str, text: &str) -> anyhow::Result<String> {
    let (begin, end) = (format!("<!-- measured: {name} -->\n"), format!("<!-- end: {name} -->\n"));
    let marks = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) = marks.with_context(|| format!("{PAGE} has no place for {name}"))?;
    ensure!(!after.contains(&begin), "{PAGE} has two places for {name}");
    Ok(format!("{before}{begin}\n{}\n\n{end}{after}", text.trim_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Cell, Table};
    use crate::spread::Spread;

    fn report(name: &'static str, head: Vec<&'static str>) -> Report {
        let cells = (1..=head.len()).map(|n| Cell::Spread(Spread::of([n as f64]), 0)).collect();
        let table = Table { title: "T".into(), head, rows: vec![("hookledger".into(), cells)] };
        Report { name, tables: vec![table], targets: Vec::new(), notes: vec!["one".into(), "a\nb".into()] }
    }

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let page = "a\n<!-- measured: x -->\nold\n<!-- end: x -->\nb\n";
        assert_eq!(replaced(page, "x", "new\n").unwrap(), "a\n<!-- measured: x -->\n\nnew\n\n<!-- end: x -->\nb\n");
        assert_eq!(replaced(page, "y", "").unwrap_err().to_string(), "docs/performance.md has no place for y");
    }

    #[test]
    fn the_page_has_a_place_for_every_report() {
        let mut page = fs::read_to_string(root().join(PAGE)).unwrap();
        for name in ["receiver", "worker", "growth", "cost", "machine"] {
            page = replaced(&page, name, "x").unwrap();
        }
    }

    #[test]
    fn a_plot_shows_the_columns_that_it_names() {
        let chart = PLOTS[0].chart(&report("receiver", vec!["CPU µs a request", "p50 µs", "p90 µs", "p99 µs"])).unwrap();
        assert_eq!(chart.series, ["p50", "p90", "p99"]);
        assert_eq!(chart.rows[0].1.iter().map(|value| value.median).collect::<Vec<_>>(), [2.0, 3.0, 4.0]);
        assert!(PLOTS[0].chart(&report("receiver", vec!["km"])).is_err());
    }

    #[test]
    fn notes_of_several_lines_keep_them() {
        assert!(
            section(&report("x", vec!["µs"]))
                .contains("\none\n\n<details><summary>As it was printed</summary>\n\n```\na\nb\n```\n")
        );
    }
}
