//! New migrations run before new code serves.

use super::super::template::{Template, each, short};

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
    if short(&migrations["ServiceToken"]) != "Operator.Arn" {
        wrong.push("the migrations are run by an operator with settings of another time".into());
    }
    for (property, wanted) in
        [("Auth", &["DatabaseAuth"][..]), ("Database", &["Database.Outputs.SecretArn", "DatabaseSecretArn"])]
    {
        if each(&migrations[property]).into_iter().map(short).ne(wanted.iter().copied()) {
            wrong.push(format!("another {property} does not run the migrations"));
        }
    }
    if t.number("Migrations", "/ServiceTimeout") != t.number("Operator", "/Timeout") {
        wrong.push("CloudFormation and the operator wait differently long".into());
    }
    wrong
}
