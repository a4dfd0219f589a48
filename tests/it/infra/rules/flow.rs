//! How events flow: times, counts and concurrency that depend on one another and on the code's constants.

use std::time::Duration;

use hookledger_core::RetryPolicy;
use hookledger_ledger::LEASE_TERM_S;
use serde_json::Value;

use super::super::template::{Template, each, short};

/// Seconds that SQS keeps a message at most.
const FOURTEEN_DAYS_S: i64 = 14 * 24 * 3600;

/// Seconds that API Gateway waits for a function at most.
const API_GATEWAY_WAITS_S: i64 = 30;

/// Connections of the database that stay free for people, backups and Aurora itself.
const RESERVED: i64 = 20;

const NUMBERS: &[(&str, &str, i64)] = &[
    ("Receiver", "/Timeout", 10),
    ("Worker", "/Timeout", 30),
    ("Sweeper", "/Timeout", 50),
    ("Operator", "/Timeout", 900),
    ("Receiver", "/MemorySize", 256),
    ("Worker", "/MemorySize", 256),
    ("Sweeper", "/MemorySize", 128),
    ("Operator", "/MemorySize", 128),
    ("ReceiverIntegration", "/TimeoutInMillis", 10_000),
    ("EventQueue", "/VisibilityTimeout", 180),
    ("EventQueue", "/RedrivePolicy/maxReceiveCount", 20),
    ("SpillQueue", "/VisibilityTimeout", 180),
    ("SpillQueue", "/RedrivePolicy/maxReceiveCount", 1000),
    ("SpillQueue", "/MessageRetentionPeriod", FOURTEEN_DAYS_S),
    ("EventSource", "/BatchSize", 10),
    ("SpillSource", "/BatchSize", 10),
    ("SweeperEventInvokeConfig", "/MaximumRetryAttempts", 0),
];

pub(super) fn numbers(t: &Template) -> Vec<String> {
    let wrong = NUMBERS.iter().filter(|(resource, pointer, want)| t.number(resource, pointer) != Some(*want));
    wrong.map(|(resource, pointer, want)| format!("{resource}{pointer} is not {want}")).collect()
}

pub(super) fn times_nest(t: &Template) -> Vec<String> {
    let number = |resource, pointer| t.number(resource, pointer).unwrap_or(i64::MIN);
    let lease_s = LEASE_TERM_S as i64;
    let worker_s = number("Worker", "/Timeout");
    let attempts = i64::from(RetryPolicy::default().attempts_max);
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            wrong.push(what.to_owned())
        }
    };
    for queue in ["EventQueue", "SpillQueue"] {
        let visibility_s = number(queue, "/VisibilityTimeout");
        must(lease_s < visibility_s, "a message is visible again while its event is leased");
        must(visibility_s >= 6 * worker_s, "visibility is below six function timeouts, as Lambda asks for");
        must(number(queue, "/RedrivePolicy/maxReceiveCount") >= 3 * attempts, "SQS gives up before the ledger does");
    }
    must(worker_s == worker::FUNCTION_TIMEOUT_S as i64, "the worker counts on another timeout");
    must(worker_s > 0 && worker_s < lease_s, "a worker can run longer than its lease");
    let integration_ms = number("ReceiverIntegration", "/TimeoutInMillis");
    must(number("Receiver", "/Timeout") * 1000 <= integration_ms, "the receiver can run longer than the API waits for it");
    must(integration_ms < API_GATEWAY_WAITS_S * 1000, "API Gateway waits for less than 30 s");
    must(number("Sweeper", "/Timeout") < 60, "a sweep can run into the next one");
    wrong
}

/// Seconds that the least patient providers wait for an answer, Slack among them; others wait for 5.
const PROVIDERS_WAIT_S: i64 = 3;

pub(super) fn answers_in_time(t: &Template) -> Vec<String> {
    answers_within(receiver::ANSWER_WITHIN, t)
}

/// What is wrong with a receiver that takes up to `answer_within`.
pub(crate) fn answers_within(answer_within: Duration, t: &Template) -> Vec<String> {
    let receiver_s = t.number("Receiver", "/Timeout").unwrap_or(i64::MIN);
    let answer_ms = answer_within.as_millis() as i64;
    let mut wrong = Vec::new();
    if answer_ms >= PROVIDERS_WAIT_S * 1000 {
        wrong.push(format!("the receiver can take {answer_ms} ms, and providers wait for {PROVIDERS_WAIT_S} s"));
    }
    // A cold start comes on top, and reads secrets.
    if answer_ms * 2 > receiver_s * 1000 {
        wrong.push(format!("the receiver is stopped after {receiver_s} s, and an outage alone can take {answer_ms} ms"));
    }
    if receiver_s >= API_GATEWAY_WAITS_S {
        wrong.push(format!("the receiver may run for {receiver_s} s, and API Gateway waits for {API_GATEWAY_WAITS_S} s"));
    }
    wrong
}

pub(super) fn connections_add_up(t: &Template) -> Vec<String> {
    let spill = t.number("SpillSource", "/ScalingConfig/MaximumConcurrency").unwrap_or(i64::MAX / 2);
    // The sweeper, a run of it that overlaps, and the operator.
    let others = 3;
    let mut wrong = Vec::new();
    for (size, row) in t.section("Mappings")["Sizes"].as_object().into_iter().flatten() {
        let column = |name| row[name].as_i64().unwrap_or(i64::MIN / 4);
        if column("Receivers") + column("Workers") + spill + others != column("Connections") {
            wrong.push(format!("the connections of size {size} do not add up"));
        }
        if column("Connections") + RESERVED > column("DatabaseConnections") {
            wrong.push(format!("size {size} leaves too few connections for people"));
        }
        let memory_mib = row["DatabaseMaxCapacity"].as_f64().unwrap_or_default() * 2048.0;
        if column("DatabaseConnections") as f64 * 10.0 > memory_mib / 2.0 {
            wrong.push(format!("the connections of size {size} fill more than half of the database's memory"));
        }
        // Each pass takes a receiver about 20 ms, of which most is the database's round trip.
        if column("RequestsPerSecond") > column("Receivers") * 50 {
            wrong.push(format!("size {size} lets in more than its receivers can take"));
        }
    }
    for (place, column) in [
        ("/Receiver/Properties/ReservedConcurrentExecutions/Fn::If/1", "Receivers"),
        ("/EventSource/Properties/ScalingConfig/MaximumConcurrency", "Workers"),
        ("/Database/Properties/Parameters/MaxConnections", "DatabaseConnections"),
        ("/Monitoring/Properties/Parameters/ConnectionsMax", "Connections"),
    ] {
        let found = t.section("Resources").pointer(place).and_then(|v| v["Fn::FindInMap"].as_array()?.last()?.as_str());
        if found != Some(column) {
            wrong.push(format!("{place} is not the size's {column}"));
        }
    }
    wrong
}

pub(super) fn queues(t: &Template) -> Vec<String> {
    let queues = t.all("AWS::SQS::Queue");
    let target = |queue: &Value| short(&queue["RedrivePolicy"]["deadLetterTargetArn"]);
    let targets: Vec<_> = queues.iter().map(|(_, queue)| target(queue)).collect();
    let mut wrong = Vec::new();
    let policy = t.properties("QueuesByTlsOnly");
    let denied: Vec<_> = each(&policy["Queues"]).into_iter().map(short).collect();
    let statement = &policy["PolicyDocument"]["Statement"][0];
    if statement["Effect"] != "Deny" || statement["Condition"]["Bool"]["aws:SecureTransport"] != false {
        wrong.push("queues answer without TLS".into());
    }
    for (name, queue) in &queues {
        if !denied.iter().any(|covered| covered == name) {
            wrong.push(format!("{name} answers without TLS"));
        }
        let is_dead_letter_queue = targets.contains(&format!("{name}.Arn"));
        if queue["SqsManagedSseEnabled"] != true {
            wrong.push(format!("{name} is not encrypted"));
        }
        if is_dead_letter_queue && queue["MessageRetentionPeriod"] != FOURTEEN_DAYS_S {
            wrong.push(format!("{name} does not keep its messages for 14 days"));
        }
        if !is_dead_letter_queue && !queues.iter().any(|(other, _)| target(queue) == format!("{other}.Arn")) {
            wrong.push(format!("{name} has no dead-letter queue"));
        }
    }
    wrong
}

pub(super) fn event_sources(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let sources = t.all("AWS::Lambda::EventSourceMapping");
    let mut fed: Vec<_> = sources.iter().map(|(_, source)| short(&source["EventSourceArn"])).collect();
    fed.sort();
    if fed != ["EventQueue.Arn", "SpillQueue.Arn"] {
        wrong.push(format!("event sources are {fed:?}"));
    }
    for (name, source) in sources {
        if source["FunctionResponseTypes"] != serde_json::json!(["ReportBatchItemFailures"]) {
            wrong.push(format!("{name}: one failed event fails its whole batch"));
        }
        if t.number(name, "/ScalingConfig/MaximumConcurrency").is_none_or(|n| n < 2) {
            wrong.push(format!("{name}: the number of workers has no cap"));
        }
        if short(&source["FunctionName"]) != "Worker" {
            wrong.push(format!("{name} does not feed the worker"));
        }
    }
    if !t.properties("Worker")["ReservedConcurrentExecutions"].is_null() {
        wrong.push("the worker is capped by reservation: throttled polls would count as receives".into());
    }
    wrong
}
