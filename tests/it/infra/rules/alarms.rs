//! Who is woken up by what, and where it says what to look at first.

use std::fs;

use hookledger_harness::root;
use serde_json::Value;

use super::super::template::{Template, short};

/// Alarm, statistic and metric, threshold, and what missing data means.
const ALARMS: &[(&str, &str, &str, &str)] = &[
    ("BacklogAge", "Maximum hookledger/backlog_age", "> 900000", "notBreaching"),
    ("DatabaseCapacity", "Average AWS/RDS/ACUUtilization", "> 90", "notBreaching"),
    ("DatabaseConnections", "Maximum AWS/RDS/DatabaseConnections", "> ConnectionsMax", "notBreaching"),
    ("DeadLetters", "Maximum hookledger/dead_letters", "> 0", "notBreaching"),
    ("EventDeadLetterQueueDepth", "Maximum AWS/SQS/ApproximateNumberOfMessagesVisible", "> 0", "notBreaching"),
    ("ReceiverErrors", "Sum AWS/Lambda/Errors", ">= 3", "notBreaching"),
    ("ReceiverServerErrors", "Sum AWS/ApiGateway/5xx", ">= 5", "notBreaching"),
    ("ReceiverThrottles", "Sum AWS/Lambda/Throttles", ">= 1", "notBreaching"),
    ("SignatureFailures", "Sum hookledger/rejected_bad_signature", ">= 50", "notBreaching"),
    ("SpillDeadLetterQueueDepth", "Maximum AWS/SQS/ApproximateNumberOfMessagesVisible", "> 0", "notBreaching"),
    ("SpillDepth", "Maximum AWS/SQS/ApproximateNumberOfMessagesVisible", "> 0", "notBreaching"),
    ("SweeperErrors", "Sum AWS/Lambda/Errors", ">= 3", "notBreaching"),
    ("SweeperNotRunning", "SampleCount hookledger/backlog", "< 1", "breaching"),
    ("WorkerErrors", "Sum AWS/Lambda/Errors", ">= 3", "notBreaching"),
    ("WorkerThrottles", "Sum AWS/Lambda/Throttles", ">= 1", "notBreaching"),
];

pub(super) fn alarms(t: &Template) -> Vec<String> {
    let found: Vec<_> = t
        .all("AWS::CloudWatch::Alarm")
        .into_iter()
        .map(|(name, alarm)| {
            let comparison = match alarm["ComparisonOperator"].as_str() {
                Some("GreaterThanThreshold") => ">",
                Some("GreaterThanOrEqualToThreshold") => ">=",
                Some("LessThanThreshold") => "<",
                Some(_) | None => "?",
            };
            let metric =
                format!("{} {}/{}", short(&alarm["Statistic"]), short(&alarm["Namespace"]), short(&alarm["MetricName"]));
            (name, metric, format!("{comparison} {}", short(&alarm["Threshold"])), short(&alarm["TreatMissingData"]))
        })
        .collect();
    let same = found.iter().map(|(a, b, c, d)| (*a, b.as_str(), c.as_str(), d.as_str())).eq(ALARMS.iter().copied());
    if same { Vec::new() } else { vec![format!("alarms are {found:#?}")] }
}

pub(super) fn alarms_tell(t: &Template) -> Vec<String> {
    let runbook = fs::read_to_string(root().join("docs/runbook.md")).unwrap_or_default();
    let sections: Vec<_> = runbook
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|title| title.to_lowercase().replace(' ', "-"))
        .collect();
    let mut wrong = Vec::new();
    for (name, alarm) in t.all("AWS::CloudWatch::Alarm") {
        for actions in ["AlarmActions", "OKActions"] {
            if short(&alarm[actions][0]) != "AlarmTopic" {
                wrong.push(format!("{name}: nobody learns of its {actions}"));
            }
        }
        let section = alarm["AlarmDescription"].as_str().and_then(|text| text.split_once(" docs/runbook.md#"));
        if !section.is_some_and(|(_, section)| sections.iter().any(|known| known == section)) {
            wrong.push(format!("{name} has no section in docs/runbook.md"));
        }
    }
    wrong
}

/// The code's own metrics are explained in docs/telemetry.md, which a test of the code holds to the code.
pub(super) fn known_metrics(t: &Template) -> Vec<String> {
    let documentation = fs::read_to_string(root().join("docs/telemetry.md")).unwrap_or_default();
    let alarms = t.all("AWS::CloudWatch::Alarm").into_iter().filter(|(_, alarm)| alarm["Namespace"] == "hookledger");
    let mut names: Vec<String> = alarms.map(|(_, alarm)| short(&alarm["MetricName"])).collect();
    let body = short(&t.properties("Dashboard")["DashboardBody"]);
    let Ok(body) = serde_json::from_str::<Value>(&body) else { return vec!["the dashboard is not JSON".into()] };
    for widget in body["widgets"].as_array().into_iter().flatten() {
        for metric in widget["properties"]["metrics"].as_array().into_iter().flatten().filter(|m| m[0] == "hookledger") {
            names.push(short(&metric[1]));
        }
    }
    // A rejection's reason is part of its metric's name.
    names.iter_mut().filter(|name| name.starts_with("rejected_")).for_each(|name| *name = "rejected".into());
    let unknown = names.iter().filter(|name| !documentation.contains(&format!("| `{name}` |")));
    unknown.map(|name| format!("nothing reports {name}")).collect()
}
