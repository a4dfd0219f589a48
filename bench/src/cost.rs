//! What a million events cost at AWS: measured time as Lambda bills it, and list prices.
//!
//! Only what grows with the events. What a month costs without any (Postgres, the idle poll of the queue, the sweeper) is in
//! docs/performance.md.

use std::time::Duration;

use crate::report::{Cell, Report, Table};
use crate::spread::{Spread, micros};
use crate::worker::BATCH;

/// Of receiver and worker, in infra/template.yaml.
const MEMORY_MB: f64 = 256.0;
/// With this much memory a function has one processor, with less its part of it
/// (docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html).
const MEMORY_MB_OF_A_PROCESSOR: f64 = 1_769.0;

/// List prices in US dollars, us-east-1, first tier, without the free tier. docs/deploy.md says where each was read and when; a
/// test holds these to those.
struct Prices {
    /// On arm64.
    lambda_gb_second: f64,
    lambda_million_requests: f64,
    /// Of an HTTP API, up to 512 KB each.
    gateway_million_requests: f64,
    /// Of a standard queue, up to 64 KB each.
    sqs_million_requests: f64,
}

const PRICES: Prices = Prices {
    lambda_gb_second: 0.000_013_333_4,
    lambda_million_requests: 0.20,
    gateway_million_requests: 1.00,
    sqs_million_requests: 0.40,
};

/// Dollars for a million events.
#[derive(Debug, Clone, Copy)]
struct Cost {
    gateway: f64,
    lambda_requests: f64,
    lambda_time: f64,
    sqs: f64,
}

/// The mean of what Lambda would bill: an invocation's time, in which the processor is only part of one, in whole milliseconds.
/// `cpu` is what one took of a whole processor.
pub(crate) fn billed_ms(took: &[Duration], cpu: Duration) -> f64 {
    let stretched = micros(cpu) * (MEMORY_MB_OF_A_PROCESSOR / MEMORY_MB - 1.0);
    let billed = took.iter().map(|took| ((micros(*took) + stretched) / 1e3).ceil());
    billed.sum::<f64>() / took.len().max(1) as f64
}

impl Cost {
    /// Of a million events, each delivered once and its message in a full batch.
    fn of_a_million(receiver_ms: f64, worker_batch_ms: f64) -> Self {
        let batch = 1.0 / BATCH as f64;
        let gigabytes = MEMORY_MB / 1024.0;
        Self {
            gateway: PRICES.gateway_million_requests,
            lambda_requests: PRICES.lambda_million_requests * (1.0 + batch),
            // A million events and a thousand milliseconds a second.
            lambda_time: PRICES.lambda_gb_second * gigabytes * 1e3 * (receiver_ms + worker_batch_ms * batch),
            // Sent alone; received and deleted with its batch.
            sqs: PRICES.sqs_million_requests * (1.0 + 2.0 * batch),
        }
    }

    fn sum(self) -> f64 {
        self.gateway + self.lambda_requests + self.lambda_time + self.sqs
    }
}

/// Of everybody who was measured both as a receiver and as a worker; `None` if only one of the two was measured.
pub(crate) fn report(reports: &[Report]) -> Option<Report> {
    let billed = |name| Some(reports.iter().find(|report| report.name == name)?.column(COLUMN));
    let (receivers, workers) = (billed("receiver")?, billed("worker")?);
    let row = |(name, receiver_ms): &(String, Spread)| {
        let (_, worker_ms) = workers.iter().find(|(other, _)| other == name)?;
        let (receiver_ms, worker_ms) = (receiver_ms.median, worker_ms.median);
        let cost = Cost::of_a_million(receiver_ms, worker_ms);
        let dollars = [cost.gateway, cost.lambda_requests, cost.lambda_time, cost.sqs, cost.sum()];
        let times = [Cell::Number(receiver_ms, 1), Cell::Number(worker_ms, 1)];
        Some((name.clone(), times.into_iter().chain(dollars.map(|dollars| Cell::Number(dollars, 3))).collect()))
    };
    let table = Table {
        title: format!("a million events, in US dollars: receiver and worker on arm64 with {MEMORY_MB} MB"),
        head: vec![
            "billed ms a delivery",
            "billed ms a batch",
            "API Gateway",
            "Lambda, requests",
            "Lambda, time",
            "SQS",
            "all",
        ],
        rows: receivers.iter().filter_map(row).collect(),
    };
    Some(Report { name: "cost", tables: vec![table], targets: Vec::new(), notes: Vec::new() })
}

/// How the column with [`billed_ms`] is called in both reports.
pub(crate) const COLUMN: &str = "billed ms";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_billed_in_whole_milliseconds_of_a_part_of_a_processor() {
        let ms = Duration::from_millis;
        // 1 ms of a whole processor is 6.91 ms of what 256 MB have of it, and 5.91 ms come on top.
        assert_eq!(billed_ms(&[ms(2)], ms(1)), 8.0);
        assert_eq!(billed_ms(&[ms(2), ms(4)], Duration::ZERO), 3.0);
        assert_eq!(billed_ms(&[Duration::from_micros(2_001)], Duration::ZERO), 3.0);
    }

    #[test]
    fn a_million_events_are_paid_for_by_the_price_list() {
        let cost = Cost::of_a_million(8.0, 20.0);
        // 8 ms of a delivery and 2 ms of a batch are 10,000 s, a quarter of a gigabyte each.
        assert!((cost.lambda_time - 2_500.0 * 0.000_013_333_4).abs() < 1e-9);
        assert!((cost.lambda_requests - 0.22).abs() < 1e-9);
        assert!((cost.sqs - 0.48).abs() < 1e-9);
        assert!((cost.sum() - 1.733_333_5).abs() < 1e-6);
    }

    #[test]
    fn the_prices_are_those_of_the_price_list() {
        let page = include_str!("../../docs/deploy.md");
        let listed = [
            ("HTTP API", PRICES.gateway_million_requests),
            ("Lambda requests", PRICES.lambda_million_requests),
            ("Lambda duration", PRICES.lambda_gb_second),
            ("SQS", PRICES.sqs_million_requests),
        ];
        for (name, price) in listed {
            let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {name} | $")));
            let dollars = row.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            assert_eq!(dollars, Some(price), "{name}");
        }
    }

    #[test]
    fn the_memory_is_what_the_template_gives_both_functions() {
        let template = include_str!("../../infra/template.yaml");
        for function in ["receiver", "worker"] {
            let properties = template.split(&format!("FunctionName: !Sub ${{AWS::StackName}}-{function}\n")).nth(1);
            let memory =
                properties.and_then(|rest| rest.split("MemorySize: ").nth(1)?.split_whitespace().next()?.parse().ok());
            assert_eq!(memory, Some(MEMORY_MB), "{function}");
        }
    }
}
