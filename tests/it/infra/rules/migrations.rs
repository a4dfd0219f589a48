//! New migrations run before new code serves.

use super::super::template::{Template, short};

pub(super) fn first(t: &Template) -> Vec<String> {
    let mut wrong = Vec::new();
    for function in ["Receiver", "Sweeper", "Worker"] {
        if !t.dependencies(function).contains(&"Migrations") {
            wrong.push(format!("{function} can serve before its migrations have run"));
        }
    }
    let migrations = t.properties("Migrations");
    let published = t.all("AWS::Lambda::Version");
    let versions: Vec<_> = published.iter().filter(|(_, v)| short(&v["FunctionName"]) == "Operator").collect();
    if !versions.iter().any(|(name, _)| short(&migrations["Version"]) == *name) {
        wrong.push("new code does not run the migrations".into());
    }
    if short(&migrations["ServiceToken"]) != "OperatorAliaslive" {
        wrong.push("the migrations are not run by the published operator".into());
    }
    if t.number("Migrations", "/ServiceTimeout") != t.number("Operator", "/Timeout") {
        wrong.push("CloudFormation and the operator wait differently long".into());
    }
    wrong
}
