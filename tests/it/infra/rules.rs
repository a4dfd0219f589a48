//! What must hold of the templates in infra/. A rule answers with what is wrong, and with nothing if all is well.

mod alarms;
mod database;
mod egress;
mod flow;
mod metrics;
mod migrations;
mod permissions;

use serde_json::{Value, json};

use super::template::{Template, each, short};

pub(crate) use flow::answers_within;
pub(crate) use metrics::{Dimensions, published_under};

pub(crate) struct Rule {
    /// The template's name, without `infra/` and `.yaml`.
    pub(crate) file: &'static str,
    pub(crate) name: &'static str,
    pub(crate) complaints: fn(&Template) -> Vec<String>,
}

const fn rule(file: &'static str, name: &'static str, complaints: fn(&Template) -> Vec<String>) -> Rule {
    Rule { file, name, complaints }
}

pub(crate) const RULES: &[Rule] = &[
    rule("template", "numbers", flow::numbers),
    rule("template", "times nest", flow::times_nest),
    rule("template", "answers in time", flow::answers_in_time),
    rule("template", "connections add up", flow::connections_add_up),
    rule("template", "queues", flow::queues),
    rule("template", "event sources", flow::event_sources),
    rule("template", "migrations first", migrations::first),
    rule("template", "http api", http_api),
    rule("template", "logs", logs),
    rule("template", "roles", permissions::roles),
    rule("template", "wildcards", permissions::wildcards),
    rule("template", "callers", permissions::callers),
    rule("template", "environment", environment),
    rule("template", "functions", functions),
    rule("template", "plain yaml", plain_yaml),
    rule("database", "no way in or out", database::no_way_in_or_out),
    rule("database", "endpoints", database::endpoints),
    rule("database", "kept", database::kept),
    rule("database", "secret and encrypted", database::secret_and_encrypted),
    rule("database", "plain yaml", plain_yaml),
    rule("template", "egress is asked for", egress::asked_for),
    rule("egress", "out and not in", egress::out_and_not_in),
    rule("egress", "plain yaml", plain_yaml),
    rule("monitoring", "alarms", alarms::alarms),
    rule("monitoring", "alarms tell", alarms::alarms_tell),
    rule("monitoring", "known metrics", metrics::known),
    rule("monitoring", "plain yaml", plain_yaml),
];

/// In the order of their names.
const FUNCTIONS: [&str; 4] = ["Operator", "Receiver", "Sweeper", "Worker"];

fn http_api(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut routes: Vec<_> = t.all("AWS::ApiGatewayV2::Route").iter().map(|(_, r)| short(&r["RouteKey"])).collect();
    routes.sort();
    if routes != ["ANY /webhooks/{source}", "GET /health"] {
        wrong.push(format!("routes are {routes:?}"));
    }
    for column in ["ThrottlingRateLimit", "ThrottlingBurstLimit"] {
        if t.number("HttpStage", &format!("/DefaultRouteSettings/{column}")).is_none_or(|n| n < 1) {
            wrong.push(format!("the API has no {column}"));
        }
    }
    let format = t.properties("HttpStage")["AccessLogSettings"]["Format"].as_str().unwrap_or_default();
    if serde_json::from_str::<Value>(format).is_err() {
        wrong.push("access logs are not JSON".into());
    }
    if ["querystring", "header", "body", "authorizer"].iter().any(|word| format.to_lowercase().contains(word)) {
        wrong.push("access logs can hold a secret".into());
    }
    if t.properties("Domain")["DomainNameConfigurations"][0]["SecurityPolicy"] != "TLS_1_2" {
        wrong.push("the API's own name is served by old versions of TLS".into());
    }
    if short(&t.properties("HttpStage")["AccessLogSettings"]["DestinationArn"]) != "ApiLogs.Arn" {
        wrong.push("the API has no access logs".into());
    }
    wrong
}

fn logs(t: &Template) -> Vec<String> {
    let groups = t.all("AWS::Logs::LogGroup");
    let forever = groups.iter().filter(|(name, _)| t.number(name, "/RetentionInDays").is_none_or(|days| days < 1));
    let mut wrong: Vec<_> = forever.map(|(name, _)| format!("{name} never expires")).collect();
    for (name, function) in t.all("AWS::Lambda::Function") {
        let group = short(&function["LoggingConfig"]["LogGroup"]);
        if group != format!("{name}Logs") || !groups.iter().any(|(known, _)| *known == group) {
            wrong.push(format!("{name} logs to {group}"));
        }
    }
    wrong
}

const EVERY_FUNCTION: [&str; 9] = [
    "CLAIM_MODE",
    "DATABASE_AUTH",
    "DATABASE_CA_PEM",
    "DATABASE_SECRET_ARN",
    "DATABASE_TLS",
    "DATABASE_URL",
    "DEPLOYMENT",
    "QUEUE_URL",
    "SPILL_QUEUE_URL",
];

fn environment(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    for function in FUNCTIONS {
        let mut want = EVERY_FUNCTION.to_vec();
        want.extend(match function {
            "Sweeper" => &["LEDGER_RETENTION_DAYS", "PAYLOAD_RETENTION_DAYS"][..],
            "Operator" => &["DATABASE_APP_ROLE"],
            "Receiver" => &["DATABASE_PREPARED_STATEMENTS", "REPLAY_TOKEN_SECRET_ARN", "SSL_CERT_FILE"],
            _ => &[],
        });
        want.sort_unstable();
        let variables = &t.properties(function)["Environment"]["Variables"];
        let mut names: Vec<_> = variables.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if names != want {
            wrong.push(format!("{function} has the variables {names:?}"));
        }
        let auth = short(&variables["DATABASE_AUTH"]);
        if auth != if function == "Operator" { "password" } else { "DatabaseAuth" } {
            wrong.push(format!("{function} proves itself to the database by {auth}"));
        }
        if variables["DATABASE_TLS"] != "verify-full" {
            wrong.push(format!("{function} does not verify the database's certificate"));
        }
        if short(&variables["DEPLOYMENT"]) != "AWS::StackName" {
            wrong.push(format!("{function} reports for another deployment"));
        }
    }
    let prepared = &t.properties("Receiver")["Environment"]["Variables"]["DATABASE_PREPARED_STATEMENTS"];
    if *prepared != json!({ "Fn::If": ["ReachesDatabaseItself", "on", { "Ref": "AWS::NoValue" }] })
        || !t.section("Conditions")["ReachesDatabaseItself"].to_string().contains(r#"[{"Ref":"DatabaseProxy"},"false"]"#)
    {
        wrong.push(format!("a receiver prepares statements if {prepared}, which a pooler may not bear"));
    }
    if t.properties("Receiver")["Environment"]["Variables"]["SSL_CERT_FILE"] != "/dev/null" {
        wrong.push("a receiver reads the system's roots before its first answer".into());
    }
    if short(&t.properties("Monitoring")["Parameters"]["Application"]) != "AWS::StackName" {
        wrong.push("alarms look at another deployment".into());
    }
    wrong
}

fn functions(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let names: Vec<_> = t.all("AWS::Lambda::Function").iter().map(|(name, _)| *name).collect();
    if names != FUNCTIONS {
        wrong.push(format!("functions are {names:?}"));
    }
    for name in FUNCTIONS {
        let function = t.properties(name);
        if function["Runtime"] != "provided.al2023" {
            wrong.push(format!("{name} runs on {}", function["Runtime"]));
        }
        if each(&function["Architectures"]).into_iter().map(short).collect::<Vec<_>>() != ["Architecture"] {
            wrong.push(format!("{name} has an architecture of its own"));
        }
        let metadata = &t.section("Resources")[name]["Metadata"];
        if metadata["BuildMethod"] != "rust-cargolambda" || metadata["BuildProperties"]["Binary"] != name.to_lowercase() {
            wrong.push(format!("{name} is built by {metadata}"));
        }
    }
    if t.section("Parameters")["Architecture"]["Default"] != "arm64" {
        wrong.push("arm64 is not the default".into());
    }
    let implicit = t.types().into_iter().filter(|kind| kind.starts_with("AWS::Serverless"));
    wrong.extend(implicit.map(|kind| format!("{kind} was not expanded")));
    wrong
}

/// CloudFormation knows neither YAML's anchors nor its aliases.
fn plain_yaml(t: &Template) -> Vec<String> {
    let values =
        t.text().lines().filter_map(|line| line.split_once([':', '-']).map(|(_, value)| (line, value.trim_start())));
    let anchored =
        values.filter(|(_, value)| value.starts_with(['&', '*']) || value.starts_with(": *") || value.contains(" *"));
    anchored.map(|(line, _)| format!("an anchor or an alias: {line}")).collect()
}
