//! Alarms and dashboard look at metrics that the code publishes, under the dimensions that it publishes them under.

use std::collections::BTreeMap;
use std::fs;

use hookledger_harness::root;
use hookledger_runtime::{Metric, NAMESPACE, Record};
use serde_json::Value;

use super::super::template::{Template, each, short};

/// Values by name, of which a metric has a series each.
pub(crate) type Dimensions = BTreeMap<String, String>;

/// What is looked at: a metric's name and dimensions.
type Look = (String, Dimensions);

pub(super) fn known(t: &Template) -> Vec<String> {
    published_under(of_a_record, t)
}

/// What is looked at and not published, where a function publishes under the dimensions that `published` tells. docs/telemetry.md
/// says which function a metric is from; a test of the code holds its names to the code.
pub(crate) fn published_under(published: fn(&'static str) -> Dimensions, t: &Template) -> Vec<String> {
    let Some(on_the_dashboard) = dashboard(t) else { return vec!["the dashboard is not JSON".into()] };
    let documentation = fs::read_to_string(root().join("docs/telemetry.md")).unwrap_or_default();
    let reports = |name: &str, function: &str| {
        // A rejection's reason is part of its metric's name.
        let name = if name.starts_with("rejected_") { "rejected" } else { name };
        let mut rows = documentation.lines().filter_map(|line| line.strip_prefix(&format!("| `{name}` | ")));
        rows.any(|row| row.split(" | ").nth(1).is_some_and(|from| from.split(", ").any(|known| known == function)))
    };
    let is_published = |(name, dimensions): &Look| {
        let functions = ["operator", "receiver", "sweeper", "worker"].into_iter();
        functions.filter(|function| reports(name, function)).any(|function| published(function) == *dimensions)
    };
    let looks = alarms(t).into_iter().chain(on_the_dashboard);
    looks.filter(|look| !is_published(look)).map(|(name, under)| format!("nothing reports {name} under {under:?}")).collect()
}

/// The dimensions of a record about no source of its own. The template's word for the deployment stands for its name.
fn of_a_record(function: &'static str) -> Dimensions {
    let mut line = Vec::new();
    Record::new(function).count(Metric::Accepted, 1).emit(&mut line);
    let record: Value = serde_json::from_slice(&line).unwrap_or_default();
    let names = record["_aws"]["CloudWatchMetrics"][0]["Dimensions"][0].clone();
    let value = |name: &str| if name == "deployment" { "Application".to_owned() } else { short(&record[name]) };
    each(&names).into_iter().map(short).map(|name| (name.clone(), value(&name))).collect()
}

fn alarms(t: &Template) -> Vec<Look> {
    let ours = t.all("AWS::CloudWatch::Alarm").into_iter().filter(|(_, alarm)| alarm["Namespace"] == NAMESPACE);
    ours.map(|(_, alarm)| {
        let dimensions = each(&alarm["Dimensions"]).into_iter().map(|d| (short(&d["Name"]), short(&d["Value"])));
        (short(&alarm["MetricName"]), dimensions.collect())
    })
    .collect()
}

/// None if it is not JSON.
fn dashboard(t: &Template) -> Option<Vec<Look>> {
    let body: Value = serde_json::from_str(&short(&t.properties("Dashboard")["DashboardBody"])).ok()?;
    let widgets = body["widgets"].as_array()?.iter();
    let metrics = widgets.filter_map(|widget| widget["properties"]["metrics"].as_array()).flatten();
    Some(metrics.filter_map(|metric| ours(metric.as_array()?)).collect())
}

/// A metric of a widget: namespace, name, and names and values of dimensions in turn.
fn ours(metric: &[Value]) -> Option<Look> {
    let [namespace, name, dimensions @ ..] = metric else { return None };
    let word = |value: Option<&Value>| value.map(short).unwrap_or_default().replace("${Application}", "Application");
    // After the dimensions can come an object that says how it is drawn.
    let texts: Vec<_> = dimensions.iter().filter(|value| value.is_string()).collect();
    let pairs = texts.chunks(2).map(|pair| (word(pair.first().copied()), word(pair.get(1).copied())));
    (namespace == NAMESPACE).then(|| (short(name), pairs.collect()))
}
