//! What a benchmark shows: tables as they stand in docs/performance.md, and the targets, reached or not.

use std::fmt;

use anyhow::ensure;
use serde_json::{Map, Value, json};

use crate::spread::Spread;

pub(crate) struct Report {
    pub(crate) name: &'static str,
    pub(crate) tables: Vec<Table>,
    pub(crate) targets: Vec<Target>,
    /// What was set, and what else there is to know; a line each.
    pub(crate) notes: Vec<String>,
}

pub(crate) struct Table {
    pub(crate) title: String,
    /// Of the columns after the first.
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<(String, Vec<Cell>)>,
}

pub(crate) enum Cell {
    /// With so many digits after the point.
    Spread(Spread, usize),
    Number(f64, usize),
    None,
}

pub(crate) struct Target {
    pub(crate) what: String,
    pub(crate) limit: f64,
    pub(crate) value: f64,
    pub(crate) kind: Limit,
}

#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtMost,
    AtLeast,
}

impl Target {
    pub(crate) fn is_reached(&self) -> bool {
        match self.kind {
            Limit::AtMost => self.value <= self.limit,
            Limit::AtLeast => self.value >= self.limit,
        }
    }
}

impl Report {
    /// An error names how many targets were missed.
    pub(crate) fn verdict(&self) -> anyhow::Result<()> {
        let missed = self.targets.iter().filter(|target| !target.is_reached()).count();
        ensure!(missed == 0, "{missed} of {} targets are missed", self.targets.len());
        Ok(())
    }

    /// What stands under `name`, by row, in the first table that has it.
    pub(crate) fn column(&self, name: &str) -> Vec<(String, Spread)> {
        let place = |table: &Table| table.head.iter().position(|head| *head == name);
        let Some((table, index)) = self.tables.iter().find_map(|table| Some((table, place(table)?))) else {
            return Vec::new();
        };
        let value = |(row, cells): &(String, Vec<Cell>)| match cells.get(index)? {
            Cell::Spread(spread, _) => Some((row.clone(), *spread)),
            Cell::Number(number, _) => Some((row.clone(), Spread::of([*number]))),
            Cell::None => None,
        };
        table.rows.iter().filter_map(value).collect()
    }

    pub(crate) fn json(&self) -> Value {
        let tables: Map<_, _> = self.tables.iter().map(|table| (table.title.clone(), table.json())).collect();
        let target = |target: &Target| json!({ "what": target.what, "limit": target.limit, "value": target.value, "reached": target.is_reached() });
        let targets: Vec<Value> = self.targets.iter().map(target).collect();
        json!({ "name": self.name, "tables": tables, "targets": targets, "notes": self.notes })
    }
}

impl Table {
    fn json(&self) -> Value {
        let row = |(name, cells): &(String, Vec<Cell>)| {
            let cells = self.head.iter().zip(cells).map(|(column, cell)| ((*column).to_owned(), cell.json()));
            (name.clone(), Value::Object(cells.collect()))
        };
        Value::Object(self.rows.iter().map(row).collect())
    }
}

impl Cell {
    fn json(&self) -> Value {
        match self {
            Self::Spread(spread, _) => spread.json(),
            Self::Number(number, _) => json!(number),
            Self::None => Value::Null,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for table in &self.tables {
            writeln!(f, "{table}")?;
        }
        for target in &self.targets {
            writeln!(f, "{target}")?;
        }
        writeln!(f)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reached, sign) = match (self.is_reached(), self.kind) {
            (true, Limit::AtMost) => ("reached", "≤"),
            (true, Limit::AtLeast) => ("reached", "≥"),
            (false, Limit::AtMost) => ("MISSED ", "≤"),
            (false, Limit::AtLeast) => ("MISSED ", "≥"),
        };
        write!(f, "- {reached} {}: {:.2}, wanted {sign} {}", self.what, self.value, self.limit)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        writeln!(f, "| | {} |", self.head.join(" | "))?;
        writeln!(f, "|---|{}", "---:|".repeat(self.head.len()))?;
        for (name, cells) in &self.rows {
            let cells: Vec<String> = cells.iter().map(Cell::to_string).collect();
            writeln!(f, "| {name} | {} |", cells.join(" | "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spread(spread, digits) => write!(f, "{spread:.digits$}"),
            Self::Number(number, digits) => write!(f, "{number:.digits$}"),
            Self::None => f.write_str("–"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(value: f64) -> Report {
        let cells = vec![Cell::Spread(Spread::of([1.0, 2.0, 3.0]), 1), Cell::None];
        Report {
            name: "x",
            tables: vec![Table { title: "T".into(), head: vec!["µs", "MB"], rows: vec![("claim".into(), cells)] }],
            targets: vec![Target { what: "claim".into(), limit: 1.2, value, kind: Limit::AtMost }],
            notes: vec!["a note".into()],
        }
    }

    #[test]
    fn a_person_gets_tables_and_a_program_the_same_figures() {
        let text = report(1.0).to_string();
        assert!(text.contains("| | µs | MB |\n|---|---:|---:|\n| claim | 2.0 (1.0–3.0) | – |\n"), "{text}");
        assert!(text.contains("- reached claim: 1.00, wanted ≤ 1.2\n"), "{text}");
        let json = report(1.0).json();
        assert_eq!(json["tables"]["T"]["claim"]["µs"]["median"], 2.0);
        assert_eq!(json["targets"][0]["reached"], true);
    }

    #[test]
    fn a_column_has_the_rows_that_have_a_value() {
        let (median, min, max) = (2.0, 1.0, 3.0);
        assert_eq!(report(1.0).column("µs"), [("claim".to_owned(), Spread { median, min, max })]);
        assert_eq!(report(1.0).column("MB"), []);
        assert_eq!(report(1.0).column("km"), []);
    }

    #[test]
    fn a_missed_target_is_an_error() {
        assert!(report(1.0).verdict().is_ok());
        assert_eq!(report(1.3).verdict().unwrap_err().to_string(), "1 of 1 targets are missed");
    }
}
