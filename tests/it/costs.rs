//! The README's table of costs is what the prices in docs/deploy.md come to.
//! Invariant: no amount stands there that nobody can compute again.

use std::fs;

use anyhow::Context;
use hookledger_harness::root;

const HOURS: f64 = 730.0;
/// As people read and as AWS bills: powers of ten.
const GB: f64 = 1e9;

/// A month's events, events in a worker's batch, and the database's average capacity.
const MONTHS: [(f64, f64, f64); 3] = [(50e3, 1.0, 0.5), (1e6, 1.0, 0.5), (100e6, 10.0, 4.0)];

struct Documents {
    readme: String,
    deploy: String,
    alarms: f64,
}

impl Documents {
    fn read() -> anyhow::Result<Self> {
        let text = |path: &str| fs::read_to_string(root().join(path)).with_context(|| format!("read {path}"));
        let alarms = text("infra/monitoring.yaml")?.matches("Type: AWS::CloudWatch::Alarm").count() as f64;
        Ok(Self { readme: text("README.md")?, deploy: text("docs/deploy.md")?, alarms })
    }

    /// The dollars that a row of docs/deploy.md begins with.
    fn price(&self, what: &str) -> anyhow::Result<f64> {
        let mut rows = self.deploy.lines().filter_map(|line| line.strip_prefix(&format!("| {what} | $")));
        let row = rows.next().with_context(|| format!("docs/deploy.md has no price of {what}"))?;
        row.split(' ').next().unwrap_or_default().parse().with_context(|| format!("the price of {what}"))
    }

    /// What the application alone costs, and what a new database adds, by row of the README.
    fn month(&self, (events, batch, capacity): (f64, f64, f64)) -> anyhow::Result<[Vec<(&'static str, f64)>; 2]> {
        let lambda = |runs: f64, gb: f64, seconds: f64| {
            let run = self.price("Lambda requests")? / 1e6 + gb * seconds * self.price("Lambda duration")?;
            anyhow::Ok(runs * run)
        };
        let batch_s = if batch > 1.0 { 0.060 } else { 0.020 };
        // Five pollers of each of two queues, a receive every 20 s.
        let polls = 5.0 * 2.0 * HOURS * 3600.0 / 20.0;
        let requests = events * (1.0 + 2.0 / batch) + polls - 1e6;
        let stored = events * (3.0 * 2_400.0 + 12.0 * 300.0);
        let alone = vec![
            ("HTTP API", events / 1e6 * self.price("HTTP API")?),
            ("receiver", lambda(events, 0.25, 0.015)?),
            ("worker", lambda(events / batch, 0.25, batch_s)?),
            ("sweeper", lambda(HOURS * 60.0, 0.125, 0.1)?),
            ("SQS", requests / 1e6 * self.price("SQS")?),
            ("logs", events * 1_500.0 / GB * self.price("logs")?),
            ("metrics and alarms", 35.0 * self.price("metric")? + self.alarms * self.price("alarm")?),
            ("secrets", 2.0 * self.price("secret")?),
        ];
        let database = vec![
            ("Aurora capacity", HOURS * capacity * self.price("Aurora capacity")?),
            ("Aurora storage", stored / GB * self.price("Aurora storage")?),
            ("Aurora I/O", events * 6.0 / 1e6 * self.price("Aurora I/O")?),
            ("endpoints", 4.0 * HOURS * self.price("endpoint")? + events * 3_000.0 / GB * self.price("endpoint data")?),
        ];
        Ok([alone, database])
    }

    /// The README's amount in a row, for one of the months.
    fn amount(&self, row: &str, month: usize) -> anyhow::Result<&str> {
        let mut rows = self.readme.lines().filter_map(|line| line.strip_prefix(&format!("| {row} |")));
        let cells: Vec<_> =
            rows.next().with_context(|| format!("README.md has no row {row}"))?.split('|').map(str::trim).collect();
        cells.get(month + 1).copied().with_context(|| format!("README.md: {row} is short"))
    }
}

#[test]
fn the_table_of_costs_is_what_the_prices_come_to() {
    let documents = Documents::read().unwrap();
    for (number, month) in MONTHS.into_iter().enumerate() {
        let [alone, database] = documents.month(month).unwrap();
        for (row, dollars) in alone.iter().chain(&database) {
            assert_eq!(documents.amount(row, number).unwrap(), format!("{dollars:.2}"), "{row} at {} events", month.0);
        }
        let sum = |rows: &[(&str, f64)]| rows.iter().map(|(_, dollars)| dollars).sum::<f64>();
        let (alone, database) = (sum(&alone), sum(&database));
        for (row, dollars) in [("with a database that you have", alone), ("with a new database", alone + database)] {
            assert_eq!(documents.amount(&format!("**{row}**"), number).unwrap(), format!("**{dollars:.0}**"), "{row}");
        }
    }
}

#[test]
fn what_the_settings_add_is_what_the_prices_come_to() {
    let documents = Documents::read().unwrap();
    let price = |what| documents.price(what).unwrap();
    let egress = HOURS * (price("NAT gateway") + price("public address"));
    for (setting, dollars) in [("LogsEndpoint=true", 2.0 * HOURS * price("endpoint")), ("InternetEgress=true", egress)] {
        let said = format!("`{setting}` ${dollars:.2}");
        assert!(documents.deploy.contains(&said), "docs/deploy.md does not say {said}");
    }
    assert!(documents.deploy.contains(&format!("and ${} a GB.", price("NAT gateway data"))));
}
