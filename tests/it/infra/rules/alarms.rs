//! Who is woken up by what, and where it says what to look at first.

use std::fs;

use hookledger_harness::root;

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
    let operations = fs::read_to_string(root().join("docs/operations.md")).unwrap_or_default();
    let runbook = operations.split("\n# ").find(|part| part.starts_with("Runbook")).unwrap_or_default();
    let sections: Vec<_> = runbook
        .split("\n## ")
        .skip(1)
        .filter_map(|section| section.split_once('\n'))
        .map(|(title, text)| (title.to_lowercase().replace(' ', "-"), text))
        .collect();
    let mut wrong = Vec::new();
    for (section, text) in &sections {
        if !text.contains("\n1. ") {
            wrong.push(format!("docs/operations.md#{section} does not say what to look at first"));
        }
        if !t.text().lines().any(|line| line.ends_with(&format!(" docs/operations.md#{section}"))) {
            wrong.push(format!("no alarm leads to docs/operations.md#{section}"));
        }
    }
    for (name, alarm) in t.all("AWS::CloudWatch::Alarm") {
        for actions in ["AlarmActions", "OKActions"] {
            if short(&alarm[actions][0]) != "AlarmTopic" {
                wrong.push(format!("{name}: nobody learns of its {actions}"));
            }
        }
        let section = alarm["AlarmDescription"].as_str().and_then(|text| text.split_once(" docs/operations.md#"));
        if !section.is_some_and(|(_, section)| sections.iter().any(|(known, _)| known == section)) {
            wrong.push(format!("{name} has no section in docs/operations.md"));
        }
    }
    wrong
}
