//! The report as a web page that needs nothing else. Invariant: whatever a provider wrote is escaped, and nothing is loaded or
//! run: the page says so itself, in its content security policy.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

use crate::replay::report::{Report, show_minute, thousands};
use crate::when;

/// Rows of a table; the JSON has all.
const ROWS_MAX: usize = 1_000;
const STYLE: &str = include_str!("page.css");
const PLOT: (f64, f64) = (880.0, 240.0);
/// Of labels beside and below the plot.
const MARGIN: (f64, f64) = (40.0, 28.0);

pub(crate) fn write(report: &Report, path: &Path) -> Result<()> {
    std::fs::write(path, page(report)).with_context(|| format!("cannot write {}", path.display()))
}

fn page(report: &Report) -> String {
    let mut figures = String::new();
    for (name, figure) in report.figures() {
        let class = if figure == 0 { "none" } else { name };
        let _ = write!(figures, "<div class=\"figure {class}\"><dt>{name}</dt><dd>{}</dd></div>", thousands(figure));
    }
    let since = report.since.map(|since| format!("from {} ", show_minute(since))).unwrap_or_default();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{headline}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{headline}</h1>\n\
         <p>{provider} {since}until {until} UTC, {verb} {to}</p>\n<dl>{figures}</dl>\n{chart}{events}{problems}</main>\n\
         </body>\n</html>\n",
        headline = escaped(&report.headline()),
        provider = report.provider,
        until = show_minute(report.until),
        verb = if report.dry_run { "compared with the ledger of" } else { "replayed to" },
        to = escaped(&report.to),
        chart = chart(report),
        events = events(report),
        problems = problems(report),
    )
}

fn chart(report: &Report) -> String {
    let bars = &report.buckets.bars;
    if bars.is_empty() {
        return String::new();
    }
    let word = if report.dry_run { "Missing" } else { "New" };
    let title = format!("{word} events per {}", report.width());
    let highest = report.buckets.highest().max(1);
    let step = PLOT.0 / bars.len() as f64;
    let bar_width = (step * 0.8).min(72.0);
    // Labels that do not run into one another.
    let every = (bars.len() as f64 / (PLOT.0 / 64.0)).ceil().max(1.0) as usize;
    let mut svg = format!(
        "<figure>\n<figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{title}\">\n",
        PLOT.0 + MARGIN.0,
        PLOT.1 + MARGIN.1 + 20.0,
    );
    let y_of = |n: u64| 20.0 + PLOT.1 - PLOT.1 * n as f64 / highest as f64;
    for n in [0, highest / 2, highest] {
        let y = y_of(n);
        let _ = writeln!(
            svg,
            "<line x1=\"{}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"y\" x=\"{}\" y=\"{:.1}\">{n}</text>",
            MARGIN.0,
            PLOT.0 + MARGIN.0,
            MARGIN.0 - 8.0,
            y + 4.0
        );
    }
    for (at, bar) in bars.iter().enumerate() {
        let x = MARGIN.0 + step * (at as f64 + 0.5);
        let (y, label) = (y_of(bar.new), when::clock(bar.from));
        let _ = write!(
            svg,
            "<g class=\"bar\"><title>{}: {}</title><rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{bar_width:.1}\" height=\"{:.1}\" rx=\"2\"/>",
            show_minute(bar.from),
            bar.new,
            x - bar_width / 2.0,
            20.0 + PLOT.1 - y,
        );
        if bar.new > 0 && step > 20.0 {
            let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{:.1}\">{}</text>", y - 6.0, bar.new);
        }
        svg.push_str("</g>\n");
        if at % every == 0 {
            let _ = writeln!(svg, "<text class=\"x\" x=\"{x:.1}\" y=\"{:.1}\">{label}</text>", 20.0 + PLOT.1 + 20.0);
        }
    }
    svg.push_str("</svg>\n</figure>\n");
    svg
}

fn events(report: &Report) -> String {
    if report.recovered.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for event in report.recovered.iter().take(ROWS_MAX) {
        let at = event.at.map(|at| when::show(at).replacen('T', " ", 1)).unwrap_or_default();
        let (event_type, id) = (escaped(&event.event_type), escaped(&event.id));
        let _ = writeln!(rows, "<tr><td>{}</td><td>{event_type}</td><td><code>{id}</code></td></tr>", escaped(&at));
    }
    let more = report.recovered.len().saturating_sub(ROWS_MAX) as u64;
    let more = if more == 0 { String::new() } else { format!("<p>and {} more</p>\n", thousands(more)) };
    format!(
        "<h2>The events</h2>\n<table>\n<thead><tr><th>happened</th><th>type</th><th>id</th></tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table>\n{more}"
    )
}

fn problems(report: &Report) -> String {
    if report.problems.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for problem in &report.problems {
        let _ = writeln!(rows, "<tr><td><code>{}</code></td><td>{}</td></tr>", escaped(&problem.id), escaped(&problem.why));
    }
    format!(
        "<h2>Not taken</h2>\n<table>\n<thead><tr><th>id</th><th>why</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::report::tests::an_outage;

    #[test]
    fn the_page_has_a_bar_for_each_bucket_and_loads_nothing() {
        let page = page(&an_outage());
        assert_eq!(page.matches("<rect ").count(), 8);
        assert_eq!(page.matches("<tr><td>").count(), 22);
        for figure in ["<dd>4,812</dd>", "<dd>4,790</dd>", "<dd>22</dd>", "14:10: 2", "14:45: 1"] {
            assert!(page.contains(figure), "{figure}");
        }
        for outside in ["http://", "src=", "href=", "url(", "@import", "<script"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn a_provider_s_text_is_no_markup() {
        let mut report = an_outage();
        report.recovered[0].event_type = "<img src=x onerror=alert(1)>".into();
        report.recovered[0].id = "\"'&\x1b".into();
        let page = page(&report);
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
        assert!(page.contains("<code>&quot;&#39;&amp;\u{fffd}</code>"));
    }
}
