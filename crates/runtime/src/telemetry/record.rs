//! One wide record per unit of work, in CloudWatch's Embedded Metric Format: a line of JSON that is a log entry with all
//! its fields, and whose metrics CloudWatch takes out by itself.
//!
//! Limits are those of the format's specification
//! (docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use hookledger_core::SourceName;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::Value;

use super::deployment::deployment;
use super::metric::{Metric, Unit};

/// Where CloudWatch shows the metrics.
pub const NAMESPACE: &str = "hookledger";

/// Values of one metric in one record; a limit of the format. Those beyond are left out.
const VALUES_MAX: usize = 100;
/// Longest text of a field in bytes. A record has to stay below 256 KB, or its metrics are lost.
const TEXT_BYTES_MAX: usize = 2_048;

/// Collects while the work goes on; [`emit`](Self::emit) writes it when the work has ended.
#[derive(Debug)]
pub struct Record {
    function: &'static str,
    source: Option<SourceName>,
    fields: BTreeMap<&'static str, Value>,
    metrics: BTreeMap<Cow<'static, str>, (Unit, Vec<u64>)>,
    started: Instant,
}

impl Record {
    /// `function` is a dimension of the metrics, beside the deployment: `receiver`, `worker`, `sweeper` or `operator`.
    pub fn new(function: &'static str) -> Self {
        Self { function, source: None, fields: BTreeMap::new(), metrics: BTreeMap::new(), started: Instant::now() }
    }

    /// The metrics' third dimension, and the field `event.source`. Only for a source of `sources.toml`: a name that a sender
    /// made up would be a new metric, at our cost, for each.
    pub fn source(&mut self, source: &SourceName) -> &mut Self {
        self.source = Some(source.clone());
        self.field("event.source", source.as_str())
    }

    /// A field of the log entry, such as `event.id` or `error`. Never a body, a secret or a signature, and never by the name of
    /// a metric or of what every record has. Texts are cut at 2 KiB.
    pub fn field(&mut self, name: &'static str, value: impl Into<Value>) -> &mut Self {
        let mut value = value.into();
        if let Value::String(text) = &mut value {
            cut(text);
        }
        self.fields.insert(name, value);
        self
    }

    /// Adds `n`; 0 is published as such, which a gauge needs.
    pub fn count(&mut self, metric: Metric, n: u64) -> &mut Self {
        debug_assert_eq!(metric.unit(), Unit::Count, "{metric:?}");
        self.add(metric.as_str().into(), n)
    }

    /// One more value in milliseconds; CloudWatch makes its statistics over all of them.
    pub fn millis(&mut self, metric: Metric, n: u64) -> &mut Self {
        debug_assert_eq!(metric.unit(), Unit::Milliseconds, "{metric:?}");
        let (_, values) = self.metrics.entry(metric.as_str().into()).or_insert_with(|| (Unit::Milliseconds, Vec::new()));
        if values.len() < VALUES_MAX {
            values.push(n);
        }
        self
    }

    /// Counts [`Metric::Rejected`] and `rejected_<reason>`. The reason is `static` so that it is one of a few words of ours.
    pub fn rejected(&mut self, reason: &'static str) -> &mut Self {
        self.field("reject.reason", reason);
        self.add(Metric::Rejected.as_str().into(), 1).add(format!("rejected_{reason}").into(), 1)
    }

    /// Writes the record as one line, with `duration_ms` since [`new`](Self::new). That a log cannot be written must not fail
    /// an event, and there is nowhere left to say it: the error is dropped.
    pub fn emit(&self, out: &mut impl Write) {
        let _ = out.write_all(self.line().as_bytes()).and_then(|()| out.flush());
    }

    /// [`emit`](Self::emit) to standard output, where Lambda takes it for CloudWatch.
    pub fn print(&self) {
        // Through `print!`, which tests can capture.
        print!("{}", self.line());
    }

    fn line(&self) -> String {
        // It cannot fail: keys are texts, and nothing is read from elsewhere.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }

    fn add(&mut self, name: Cow<'static, str>, n: u64) -> &mut Self {
        let (_, values) = self.metrics.entry(name).or_insert_with(|| (Unit::Count, vec![0]));
        values[0] += n;
        self
    }
}

/// Straight to the line: a record is written for each delivery, and a tree of it would cost more than all its parts.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let timestamp_ms = crate::time::now() / 1_000;
        let mut root = serializer.serialize_map(None)?;
        for (name, value) in &self.fields {
            root.serialize_entry(name, value)?;
        }
        for (name, (_, values)) in &self.metrics {
            match values.as_slice() {
                [value] => root.serialize_entry(name, value)?,
                values => root.serialize_entry(name, values)?,
            }
        }
        root.serialize_entry("duration_ms", &self.started.elapsed().as_millis())?;
        root.serialize_entry("function", self.function)?;
        root.serialize_entry("deployment", deployment())?;
        if let Some(source) = &self.source {
            root.serialize_entry("source", source.as_str())?;
        }
        if self.metrics.is_empty() {
            // Without it the log entry would have no time of the unit's own.
            root.serialize_entry("timestamp_ms", &timestamp_ms)?;
        } else {
            let metrics = self.metrics.iter().map(|(name, (unit, _))| Definition { name, unit: unit.as_str() }).collect();
            let directive = Directive { namespace: NAMESPACE, dimensions: self.dimensions(), metrics };
            root.serialize_entry("_aws", &Metadata { timestamp: timestamp_ms, cloud_watch_metrics: [directive] })?;
        }
        root.end()
    }
}

impl Record {
    /// Alarms need a sum over all sources, which CloudWatch cannot make from the metrics by source.
    fn dimensions(&self) -> &'static [&'static [&'static str]] {
        match self.source {
            Some(_) => &[&["deployment", "function"], &["deployment", "function", "source"]],
            None => &[&["deployment", "function"]],
        }
    }
}

/// What tells CloudWatch which members of a record are metrics.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Metadata<'a> {
    timestamp: i64,
    cloud_watch_metrics: [Directive<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive<'a> {
    namespace: &'static str,
    dimensions: &'static [&'static [&'static str]],
    metrics: Vec<Definition<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Definition<'a> {
    name: &'a str,
    unit: &'static str,
}

fn cut(text: &mut String) {
    if text.len() > TEXT_BYTES_MAX {
        let end = (0..=TEXT_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The record as CloudWatch reads it, after the checks that the format's specification makes of any record.
    #[track_caller]
    fn emitted(record: &Record) -> Value {
        let mut line = Vec::new();
        record.emit(&mut line);
        let text = String::from_utf8(line).unwrap();
        assert!(text.ends_with('\n') && text.matches('\n').count() == 1, "{text}");
        let root: Value = serde_json::from_str(&text).unwrap();
        if let Some(aws) = root.get("_aws") {
            check_against_specification(&root, aws);
        }
        root
    }

    #[track_caller]
    fn check_against_specification(root: &Value, aws: &Value) {
        assert!(aws["Timestamp"].as_u64().unwrap() > 1_700_000_000_000, "milliseconds since 1970");
        for directive in aws["CloudWatchMetrics"].as_array().unwrap() {
            let members: Vec<_> = directive.as_object().unwrap().keys().collect();
            assert_eq!(members, ["Dimensions", "Metrics", "Namespace"], "and no other member");
            assert_eq!(directive["Namespace"], "hookledger");
            for set in directive["Dimensions"].as_array().unwrap() {
                for name in set.as_array().unwrap() {
                    let value = root[name.as_str().unwrap()].as_str().expect("a dimension is a text at the root");
                    assert!((1..=1024).contains(&value.len()));
                }
            }
            let metrics = directive["Metrics"].as_array().unwrap();
            assert!((1..=100).contains(&metrics.len()));
            for metric in metrics {
                assert!(["Count", "Milliseconds"].contains(&metric["Unit"].as_str().unwrap()));
                let value = &root[metric["Name"].as_str().unwrap()];
                let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                assert!(values.len() <= 100 && values.iter().all(Value::is_number), "numbers at the root: {value}");
            }
        }
    }

    #[test]
    fn a_record_is_one_line_that_cloudwatch_takes_metrics_from() {
        let mut record = Record::new("receiver");
        record.source(&SourceName::new("stripe").unwrap()).field("event.id", "evt_1\n").field("attempt", 2);
        record.count(Metric::Accepted, 2).count(Metric::Accepted, 1);
        let root = emitted(&record);
        assert_eq!(root["accepted"], 3);
        assert_eq!(
            (&root["deployment"], &root["function"], &root["source"]),
            (&json!("local"), &json!("receiver"), &json!("stripe"))
        );
        assert_eq!(
            (&root["event.source"], &root["event.id"], &root["attempt"]),
            (&json!("stripe"), &json!("evt_1\n"), &json!(2))
        );
        assert!(root["duration_ms"].is_u64());
        assert_eq!(
            root["_aws"]["CloudWatchMetrics"][0]["Dimensions"],
            json!([["deployment", "function"], ["deployment", "function", "source"]])
        );
    }

    #[test]
    fn nothing_but_deployment_function_and_source_is_a_dimension() {
        let mut record = Record::new("receiver");
        record.field("event.id", "evt_1").field("event.source", "made-up").rejected("unknown_source");
        let root = emitted(&record);
        assert_eq!(root["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([["deployment", "function"]]));
    }

    #[test]
    fn a_rejection_is_counted_in_all_and_by_reason() {
        let mut record = Record::new("receiver");
        let root = emitted(record.rejected("bad_signature"));
        assert_eq!((&root["rejected"], &root["rejected_bad_signature"]), (&json!(1), &json!(1)));
        assert_eq!(root["reject.reason"], "bad_signature");
    }

    #[test]
    fn lags_keep_each_value_up_to_the_formats_hundred() {
        let mut record = Record::new("worker");
        record.millis(Metric::ReceiveToSettleLag, 12);
        assert_eq!(emitted(&record)["receive_to_settle_lag"], 12);
        for n in 0..200 {
            record.millis(Metric::ReceiveToSettleLag, n);
        }
        assert_eq!(emitted(&record)["receive_to_settle_lag"].as_array().unwrap().len(), 100);
    }

    #[test]
    fn a_gauge_publishes_its_zero() {
        let mut record = Record::new("sweeper");
        assert_eq!(emitted(record.count(Metric::Backlog, 0))["backlog"], 0);
    }

    #[test]
    fn a_record_without_metrics_is_a_plain_entry_with_a_time() {
        let root = emitted(&Record::new("operator"));
        assert!(root.get("_aws").is_none() && root["timestamp_ms"].is_u64());
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut record = Record::new("worker");
        record.field("error", format!("x{}", "ä".repeat(5_000)));
        let root = emitted(&record);
        let text = root["error"].as_str().unwrap();
        assert_eq!((text.len(), text.ends_with("ä…")), (2_047 + '…'.len_utf8(), true));
    }
}
