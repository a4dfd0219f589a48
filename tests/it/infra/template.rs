//! A template after the SAM transform, with its parameters at their defaults.
//! Invariant: expressions that only a deployment can resolve are kept as a short text, never dropped.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use hookledger_harness::{root, venv};
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Template {
    text: String,
    expanded: Value,
}

impl Template {
    /// Each text expanded, in order.
    pub(crate) fn expand(texts: &[String]) -> anyhow::Result<Vec<Self>> {
        let mut python = Command::new(venv()?.program("python"))
            .arg(root().join("tests/it/infra/expand.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("python is missing from target/venv")?;
        let input = serde_json::to_vec(texts)?;
        python.stdin.take().context("python takes no input")?.write_all(&input)?;
        let output = python.wait_with_output()?;
        let answers: Vec<Value> = serde_json::from_slice(&output.stdout).context("tests/it/infra/expand.py failed")?;
        let answers = answers.into_iter().zip(texts);
        answers
            .map(|(mut answer, text)| match answer.get("error") {
                Some(error) => bail!("the transform refuses a template: {error}"),
                None => Ok(Self { text: text.clone(), expanded: answer["template"].take() }),
            })
            .collect()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn section(&self, name: &str) -> &Value {
        &self.expanded[name]
    }

    /// Logical name and properties of every resource of a type.
    pub(crate) fn all(&self, kind: &str) -> Vec<(&str, &Value)> {
        let resources = self.expanded["Resources"].as_object().into_iter().flatten();
        resources.filter(|(_, r)| r["Type"] == kind).map(|(name, r)| (name.as_str(), &r["Properties"])).collect()
    }

    /// Every resource type that the template makes.
    pub(crate) fn types(&self) -> Vec<&str> {
        self.expanded["Resources"].as_object().into_iter().flatten().filter_map(|(_, r)| r["Type"].as_str()).collect()
    }

    pub(crate) fn properties(&self, name: &str) -> &Value {
        &self.expanded["Resources"][name]["Properties"]
    }

    pub(crate) fn dependencies(&self, name: &str) -> Vec<&str> {
        each(&self.expanded["Resources"][name]["DependsOn"]).into_iter().filter_map(Value::as_str).collect()
    }

    /// A property as a number, through a parameter's default or the default size's row of a mapping.
    pub(crate) fn number(&self, resource: &str, pointer: &str) -> Option<i64> {
        let value = self.properties(resource).pointer(pointer)?;
        let value = self.resolve(value);
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    }

    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        if let Some(name) = value["Ref"].as_str() {
            return &self.expanded["Parameters"][name]["Default"];
        }
        if let [Value::String(map), row, Value::String(column)] = value["Fn::FindInMap"].as_array().map_or(&[][..], |v| v) {
            let row = self.resolve(row).as_str().unwrap_or_default();
            return &self.expanded["Mappings"][map][row][column];
        }
        value
    }
}

/// The values in a value that may be one, a list, or a condition's branches.
pub(crate) fn each(value: &Value) -> Vec<&Value> {
    if let Some([_, yes, no]) = value["Fn::If"].as_array().map(Vec::as_slice) {
        return [yes, no].into_iter().flat_map(each).collect();
    }
    match value {
        Value::Array(values) => values.iter().flat_map(each).collect(),
        Value::Object(object) if object.get("Ref").is_some_and(|name| name == "AWS::NoValue") => Vec::new(),
        Value::Null => Vec::new(),
        one @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => vec![one],
    }
}

/// A reference as `Name` or `Name.Attribute`, a substitution as its pattern, anything else as JSON.
pub(crate) fn short(value: &Value) -> String {
    if let Some(name) = value["Ref"].as_str() {
        return name.to_owned();
    }
    if let [Value::String(name), Value::String(attribute)] = value["Fn::GetAtt"].as_array().map_or(&[][..], |v| v) {
        return format!("{name}.{attribute}");
    }
    let pattern = value["Fn::Sub"].as_str().or_else(|| value["Fn::Sub"][0].as_str());
    value.as_str().or(pattern).map_or_else(|| value.to_string(), str::to_owned)
}
