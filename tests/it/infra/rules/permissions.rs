//! Who may do what: each role's permissions in full, and who may call a function.

use serde_json::Value;

use super::super::template::{Template, each, short};
use super::FUNCTIONS;

/// Every permission of each role, as `action resource`, sorted.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "DatabaseAccess",
        &[
            "ec2:AssignPrivateIpAddresses arn:${AWS::Partition}:ec2:${AWS::Region}:${AWS::AccountId}:*/*",
            "ec2:CreateNetworkInterface arn:${AWS::Partition}:ec2:${AWS::Region}:${AWS::AccountId}:*/*",
            "ec2:DeleteNetworkInterface arn:${AWS::Partition}:ec2:${AWS::Region}:${AWS::AccountId}:*/*",
            "ec2:DescribeNetworkInterfaces *",
            "ec2:DescribeSubnets *",
            "ec2:UnassignPrivateIpAddresses arn:${AWS::Partition}:ec2:${AWS::Region}:${AWS::AccountId}:*/*",
            "rds-db:connect arn:${AWS::Partition}:rds-db:${AWS::Region}:${AWS::AccountId}:dbuser:${Id}/hookledger_app",
            "secretsmanager:GetSecretValue Database.Outputs.SecretArn",
            "secretsmanager:GetSecretValue DatabaseSecretArn",
        ],
    ),
    (
        "OperatorRole",
        &[
            "logs:CreateLogStream OperatorLogs.Arn",
            "logs:PutLogEvents OperatorLogs.Arn",
            "secretsmanager:GetSecretValue Database.Outputs.SecretArn",
            "secretsmanager:GetSecretValue DatabaseSecretArn",
            "sqs:GetQueueAttributes EventQueue.Arn",
            "sqs:SendMessage EventQueue.Arn",
        ],
    ),
    (
        "ReceiverRole",
        &[
            "logs:CreateLogStream ReceiverLogs.Arn",
            "logs:PutLogEvents ReceiverLogs.Arn",
            "secretsmanager:GetSecretValue ReplayTokenSecretArn",
            "secretsmanager:GetSecretValue SourceSecretArns",
            "sqs:SendMessage EventQueue.Arn",
            "sqs:SendMessage SpillQueue.Arn",
        ],
    ),
    (
        "SweeperRole",
        &[
            "logs:CreateLogStream SweeperLogs.Arn",
            "logs:PutLogEvents SweeperLogs.Arn",
            "sqs:GetQueueAttributes SpillQueue.Arn",
            "sqs:SendMessage EventQueue.Arn",
        ],
    ),
    (
        "WorkerRole",
        &[
            "logs:CreateLogStream WorkerLogs.Arn",
            "logs:PutLogEvents WorkerLogs.Arn",
            "sqs:ChangeMessageVisibility EventQueue.Arn",
            "sqs:ChangeMessageVisibility SpillQueue.Arn",
            "sqs:DeleteMessage EventQueue.Arn",
            "sqs:DeleteMessage SpillQueue.Arn",
            "sqs:GetQueueAttributes EventQueue.Arn",
            "sqs:GetQueueAttributes SpillQueue.Arn",
            "sqs:ReceiveMessage EventQueue.Arn",
            "sqs:ReceiveMessage SpillQueue.Arn",
        ],
    ),
];

/// The statements of a role's or policy's own documents.
pub(super) fn statements(properties: &Value) -> Vec<&Value> {
    let documents = each(&properties["Policies"]).into_iter().map(|policy| &policy["PolicyDocument"]);
    documents.chain([&properties["PolicyDocument"]]).flat_map(|document| each(&document["Statement"])).collect()
}

pub(super) fn allowed(properties: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for statement in statements(properties).into_iter().filter(|s| s["Effect"] != "Deny") {
        for action in each(&statement["Action"]) {
            found.extend(each(&statement["Resource"]).iter().map(|r| format!("{} {}", short(action), short(r))));
        }
    }
    found.sort();
    found
}

fn policies(t: &Template) -> Vec<(&str, &Value)> {
    ["AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::IAM::Role"].iter().flat_map(|kind| t.all(kind)).collect()
}

pub(super) fn roles(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut names: Vec<_> = policies(t).iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    if names != ALLOWED.iter().map(|(name, _)| *name).collect::<Vec<_>>() {
        wrong.push(format!("roles and policies are {names:?}"));
    }
    for (name, want) in ALLOWED {
        let found = allowed(t.properties(name));
        if found != *want {
            wrong.push(format!("{name} allows {found:#?}"));
        }
    }
    for (name, role) in t.all("AWS::IAM::Role") {
        let attached: Vec<_> = each(&role["ManagedPolicyArns"]).into_iter().map(short).collect();
        if attached != ["DatabaseAccess"] {
            wrong.push(format!("{name} has the managed policies {attached:?}"));
        }
        let trusted = &role["AssumeRolePolicyDocument"]["Statement"];
        let lambda = serde_json::json!([{
            "Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"
        }]);
        if *trusted != lambda {
            wrong.push(format!("{name} can be assumed by {trusted}"));
        }
    }
    for function in FUNCTIONS {
        if short(&t.properties(function)["Role"]) != format!("{function}Role.Arn") {
            wrong.push(format!("{function} has no role of its own"));
        }
    }
    wrong
}

/// EC2 describes all or nothing, and Lambda names the network interfaces that it makes.
const UNNAMEABLE: [&str; 6] = [
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
];

pub(super) fn wildcards(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, properties) in policies(t) {
        for permission in allowed(properties) {
            let action = permission.split(' ').next().unwrap_or_default();
            if permission.contains('*') && !UNNAMEABLE.contains(&action) {
                wrong.push(format!("{name} allows {permission}"));
            }
        }
        for statement in statements(properties) {
            if !statement["NotAction"].is_null() || !statement["NotResource"].is_null() {
                wrong.push(format!("{name} allows all but what it names"));
            }
        }
        let network = statements(properties).iter().any(|s| s.to_string().contains("ec2:CreateNetworkInterface"));
        let denied = statements(properties).iter().any(|s| s["Effect"] == "Deny" && s["Action"] == "ec2:*");
        if network && !denied {
            wrong.push(format!("{name} lets the functions' code use the network permissions"));
        }
    }
    wrong
}

pub(super) fn callers(t: &Template) -> Vec<String> {
    const API: &str = "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${HttpApi}/*/";
    let mut found: Vec<_> = t
        .all("AWS::Lambda::Permission")
        .iter()
        .map(|(_, p)| {
            format!(
                "{} {} from {}",
                short(&p["Principal"]),
                short(&p["FunctionName"]),
                short(&p["SourceArn"]).replace(API, "")
            )
        })
        .collect();
    found.sort();
    let want = [
        "apigateway.amazonaws.com Receiver from */webhooks/{source}",
        "apigateway.amazonaws.com Receiver from GET/health",
        "events.amazonaws.com Sweeper from SweeperSchedule.Arn",
    ];
    if found == want { Vec::new() } else { vec![format!("functions can be called by {found:#?}")] }
}
