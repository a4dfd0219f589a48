//! A bar chart as SVG, as much of one as docs/performance.md needs.
//!
//! Invariant: no background and colours of middle lightness, so that it can be read on a light page and on a dark one.

use std::fmt::Write;

use crate::spread::Spread;

pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    pub(crate) scale: Scale,
    /// A line across all bars, that they should not go beyond.
    pub(crate) limit: Option<f64>,
    /// What a row's bars are; more than one are told apart by how strong their colour is.
    pub(crate) series: Vec<&'static str>,
    pub(crate) rows: Vec<(String, Vec<Spread>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// For what differs by more than eyes can compare.
    Logarithmic,
}

const WIDTH: f64 = 900.0;
const NAMES: f64 = 330.0;
/// Right of the bars, for the last value.
const VALUES: f64 = 130.0;
const BAR: f64 = 18.0;
const GAP: f64 = 12.0;
const HEAD: f64 = 56.0;
const TEXT: &str = "#768390";
const OURS: &str = "#2f81f7";
const THEIRS: &str = "#8b949e";
const LIMIT: &str = "#d9534f";
const OPACITIES: [f64; 3] = [1.0, 0.65, 0.4];

impl Chart {
    pub(crate) fn svg(&self) -> String {
        let row = BAR * self.series.len() as f64 + GAP;
        let height = HEAD + row * self.rows.len() as f64 + 8.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"{TEXT}\" role=\"img\">\n"
        );
        let title = escaped(&self.title);
        element(&mut svg, format_args!("<title>{title}</title>"));
        element(&mut svg, format_args!("<text x=\"0\" y=\"18\" font-size=\"16\" font-weight=\"600\">{title}</text>"));
        self.legend(&mut svg);
        if let Some(limit) = self.limit {
            let x = self.place(limit);
            element(
                &mut svg,
                format_args!(
                    "<path d=\"M{x:.1} {:.1}V{:.1}\" stroke=\"{LIMIT}\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"/>",
                    HEAD - 6.0,
                    height - 8.0
                ),
            );
            element(
                &mut svg,
                format_args!(
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{LIMIT}\">{limit}</text>",
                    HEAD - 10.0
                ),
            );
        }
        for (index, (name, values)) in self.rows.iter().enumerate() {
            let top = HEAD + row * index as f64;
            self.row(&mut svg, top, name, values);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// What the bars are, and how they are to be read.
    fn legend(&self, svg: &mut String) {
        let scale = match self.scale {
            Scale::Linear => "",
            Scale::Logarithmic => ", logarithmic",
        };
        element(
            svg,
            format_args!("<text x=\"0\" y=\"40\">{}{scale}; lines from smallest to largest</text>", escaped(self.unit)),
        );
        if self.series.len() > 1 {
            for (index, (name, opacity)) in self.series.iter().zip(OPACITIES).enumerate() {
                let x = WIDTH - VALUES - 70.0 * (self.series.len() - index) as f64;
                element(
                    svg,
                    format_args!(
                        "<rect x=\"{x:.1}\" y=\"29\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{OURS}\" opacity=\"{opacity}\"/>"
                    ),
                );
                element(svg, format_args!("<text x=\"{:.1}\" y=\"40\">{}</text>", x + 18.0, escaped(name)));
            }
        }
    }

    fn row(&self, svg: &mut String, top: f64, name: &str, values: &[Spread]) {
        let middle = top + BAR * values.len() as f64 / 2.0 + 5.0;
        element(
            svg,
            format_args!("<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>", NAMES - 10.0, escaped(name)),
        );
        let fill = if is_ours(name) || !self.rows.iter().any(|(name, _)| is_ours(name)) { OURS } else { THEIRS };
        for (index, (value, opacity)) in values.iter().zip(OPACITIES).enumerate() {
            let y = top + BAR * index as f64;
            let (end, min, max) = (self.place(value.median), self.place(value.min), self.place(value.max));
            element(
                svg,
                format_args!(
                    "<rect x=\"{NAMES}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" fill=\"{fill}\" opacity=\"{opacity}\"/>",
                    y + 1.0,
                    end - NAMES,
                    BAR - 3.0
                ),
            );
            element(
                svg,
                format_args!(
                    "<path d=\"M{min:.1} {:.1}H{max:.1}\" stroke=\"{TEXT}\" stroke-width=\"1.5\"/>",
                    y + BAR / 2.0 - 0.5
                ),
            );
            element(
                svg,
                format_args!(
                    "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    max.max(end) + 8.0,
                    y + BAR - 4.0,
                    shown(value.median)
                ),
            );
        }
    }

    /// Where a value ends, from the left edge.
    fn place(&self, value: f64) -> f64 {
        let all = || self.rows.iter().flat_map(|(_, values)| values);
        let most = all().map(|value| value.max).chain(self.limit).fold(f64::MIN_POSITIVE, f64::max);
        let least = all().map(|value| value.min).filter(|min| *min > 0.0).fold(most, f64::min);
        let part = match self.scale {
            Scale::Linear => value / most,
            // From half of the smallest on, so that it has a bar too.
            Scale::Logarithmic => (2.0 * value.max(least / 2.0) / least).ln() / (2.0 * most / least).ln(),
        };
        NAMES + part * (WIDTH - NAMES - VALUES)
    }
}

/// Where no row says whose it is, all are ours.
fn is_ours(name: &str) -> bool {
    name.starts_with("hookledger")
}

/// Three digits are as much as a measurement is good for.
fn shown(value: f64) -> String {
    match value {
        _ if value >= 1_000.0 => {
            let whole = format!("{value:.0}");
            let (thousands, rest) = whole.split_at(whole.len() - 3);
            format!("{thousands},{rest}")
        }
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn element(svg: &mut String, element: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "{element}");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale) -> Chart {
        let rows = vec![
            ("hookledger".to_owned(), vec![Spread { median: 10.0, min: 5.0, max: 20.0 }]),
            ("a <function> & co".to_owned(), vec![Spread::of([1_000.0])]),
        ];
        Chart { title: "t".into(), unit: "µs", scale, limit: None, series: vec!["p50"], rows }
    }

    #[test]
    fn the_longest_bar_fills_the_width_and_the_others_their_part_of_it() {
        let linear = chart(Scale::Linear);
        assert_eq!(linear.place(1_000.0), WIDTH - VALUES);
        assert_eq!(linear.place(500.0), f64::midpoint(NAMES, WIDTH - VALUES));
        let logarithmic = chart(Scale::Logarithmic);
        assert_eq!(logarithmic.place(1_000.0), WIDTH - VALUES);
        assert!(logarithmic.place(5.0) > NAMES);
        assert_eq!(logarithmic.place(0.0), NAMES);
    }

    #[test]
    fn names_are_text_and_no_markup() {
        assert!(chart(Scale::Linear).svg().contains("a &lt;function> &amp; co"));
    }

    #[test]
    fn values_have_three_digits() {
        assert_eq!([0.987, 1.5, 12.34, 123.4, 12_345.6].map(shown), ["0.99", "1.50", "12.3", "123", "12,346"]);
    }
}
