//! How many duplicates there were. A duplicate writes nothing into the ledger, so only the deployment's metrics tell
//! (docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricStatistics.html).

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use hookledger_core::Micros;
use hookledger_runtime::{Env, Metric, NAMESPACE, now};
use serde_json::{Value, json};

use crate::aws::{Aws, Service};
use crate::terminal::safe;

const CLOUDWATCH: Service = Service { name: "monitoring", variable: "AWS_ENDPOINT_URL_CLOUDWATCH" };
/// Seconds that a sum may stand for.
const PERIODS_S: [i64; 3] = [300, 3_600, 86_400];
/// Sums in one answer.
const SUMS_MAX: i64 = 1_440;
/// Days for which CloudWatch has sums of five minutes; those of an hour it has for 15 months.
const FINE_DAYS: i64 = 62;

/// Of each source, as its receiver counted them from `since` to `until`. A sum belongs to where its minutes begin, so that the
/// ends of the time are off by up to one of them.
pub(crate) async fn count(
    aws: &Aws,
    env: &Env,
    deployment: &str,
    sources: &[&str],
    since: Micros,
    until: Micros,
) -> Result<BTreeMap<String, u64>> {
    let url = format!("{}/", aws.endpoint(CLOUDWATCH, env)?);
    let (from_s, until_s) = (since.div_euclid(1_000_000), until.div_euclid(1_000_000) + 1);
    let period_s = period_s(from_s, until_s, now() / 1_000_000);
    let mut counts = BTreeMap::new();
    for source in sources {
        let dimensions = [("deployment", deployment), ("function", "receiver"), ("source", *source)]
            .map(|(name, value)| json!({ "Name": name, "Value": value }));
        let asked = json!({
            "Namespace": NAMESPACE, "MetricName": Metric::Duplicate.as_str(), "Dimensions": dimensions, "Statistics": ["Sum"],
            "StartTime": from_s, "EndTime": until_s, "Period": period_s,
        });
        let sums = ask(aws, &url, &asked).await.context("cannot read the metrics from CloudWatch")?;
        counts.insert((*source).to_owned(), sums.iter().filter_map(|sum| sum["Sum"].as_f64()).sum::<f64>().round() as u64);
    }
    Ok(counts)
}

async fn ask(aws: &Aws, url: &str, asked: &Value) -> Result<Vec<Value>> {
    let headers = [
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amz-target", "GraniteServiceVersion20100801.GetMetricStatistics"),
    ];
    let response = aws.post(CLOUDWATCH, url, &headers, &serde_json::to_vec(asked)?).await?;
    let status = response.status();
    let mut body: Value =
        serde_json::from_slice(response.body()).with_context(|| format!("it answers {status}, and no JSON"))?;
    if let (Value::Array(sums), true) = (body["Datapoints"].take(), status.is_success()) {
        return Ok(sums);
    }
    let said = body["message"].as_str().or_else(|| body["Message"].as_str());
    bail!("{status}: {}", safe(said.unwrap_or("no reason given")))
}

fn period_s(from_s: i64, until_s: i64, now_s: i64) -> i64 {
    let old = now_s - from_s > FINE_DAYS * 86_400;
    let fits = |period: &i64| (until_s - from_s) / period < SUMS_MAX && (!old || *period >= 3_600);
    PERIODS_S.into_iter().find(fits).unwrap_or(86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_as_fine_as_cloudwatch_has_them_and_as_many_as_it_gives() {
        let (now, day) = (1_800_000_000, 86_400);
        for (days_ago, days, period) in [(1, 1, 300), (4, 4, 300), (5, 5, 3_600), (59, 59, 3_600), (61, 61, 86_400)] {
            assert_eq!(period_s(now - days_ago * day, now - days_ago * day + days * day, now), period, "{days_ago}");
        }
        assert_eq!(period_s(now - 100 * day, now - 99 * day, now), 3_600, "the finer sums are gone");
    }
}
