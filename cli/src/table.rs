//! Columns of text, as wide as what stands in them.

use crate::terminal::{Paint, safe};

/// Wider texts are cut in a table; `show` has them whole.
const CELL_CHARS_MAX: usize = 60;

pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

pub(crate) struct Cell {
    text: String,
    colour: Option<fn(Paint, &str) -> String>,
    right: bool,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        let text = safe(text.as_ref());
        let text = match text.char_indices().nth(CELL_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        Self { text, colour: None, right: false }
    }

    pub(crate) fn number(number: impl ToString) -> Self {
        Self { right: true, ..Self::new(number.to_string()) }
    }

    pub(crate) fn painted(self, colour: fn(Paint, &str) -> String) -> Self {
        Self { colour: Some(colour), ..self }
    }
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of one row among others that are not known yet: every column stays, in a width that most of them fit.
    pub(crate) fn lines_of_many(&self, widths: &[usize], paint: Paint) -> Vec<String> {
        let columns: Vec<usize> = (0..self.head.len()).collect();
        self.laid_out(&columns, widths, paint)
    }

    /// Its lines. Columns in which nothing stands are left out.
    pub(crate) fn lines(&self, paint: Paint) -> Vec<String> {
        let filled = |at: usize| self.rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.text.is_empty()));
        let columns: Vec<usize> = (0..self.head.len()).filter(|at| filled(*at)).collect();
        let width_of = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.chars().count());
            cells.chain([self.head[at].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = columns.iter().map(|at| width_of(*at)).collect();
        self.laid_out(&columns, &widths, paint)
    }

    fn laid_out(&self, columns: &[usize], widths: &[usize], paint: Paint) -> Vec<String> {
        let head = self.head.iter().map(|title| Cell::new(title).painted(Paint::dim)).collect();
        std::iter::once(&head)
            .chain(&self.rows)
            .map(|row: &Vec<Cell>| {
                let cells = columns.iter().zip(widths).filter_map(|(at, width)| row.get(*at).map(|cell| (cell, *width)));
                let line: Vec<String> = cells.map(|(cell, width)| cell.padded(width, paint)).collect();
                line.join("  ").trim_end().to_owned()
            })
            .collect()
    }
}

impl Cell {
    fn padded(&self, width: usize, paint: Paint) -> String {
        let space = " ".repeat(width.saturating_sub(self.text.chars().count()));
        let text = self.colour.map_or_else(|| self.text.clone(), |colour| colour(paint, &self.text));
        if self.right { space + &text } else { text + &space }
    }
}
