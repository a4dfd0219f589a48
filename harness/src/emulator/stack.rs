//! Stacks of CloudFormation: made, watched until they rest, and taken down.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::{Emulator, authorization};

const STACK_BOUND: Duration = Duration::from_secs(600);
const POLL_EVERY: Duration = Duration::from_millis(100);

/// A stack that has come to rest.
#[derive(Debug, Clone)]
pub struct Stack {
    /// CloudFormation's word, such as `CREATE_COMPLETE`.
    pub status: String,
    pub outputs: BTreeMap<String, String>,
    /// `resource STATUS` of each step of its last creation or update, in their order.
    pub steps: Vec<String>,
    /// `resource: reason` of each step that failed, newest first.
    pub failures: Vec<String>,
}

impl Emulator {
    /// Creates a stack, or updates it if there is one of this name, and waits for the end of it, whichever that is.
    pub async fn put_stack(&self, name: &str, template: &str, parameters: &[(&str, &str)]) -> anyhow::Result<Stack> {
        let action = if self.stack(name).await.is_ok() { "UpdateStack" } else { "CreateStack" };
        let mut fields = vec![("StackName".to_owned(), name.to_owned()), ("TemplateBody".to_owned(), template.to_owned())];
        for (n, capability) in ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"].iter().enumerate() {
            fields.push((format!("Capabilities.member.{}", n + 1), (*capability).to_owned()));
        }
        for (n, (key, value)) in parameters.iter().enumerate() {
            fields.push((format!("Parameters.member.{}.ParameterKey", n + 1), (*key).to_owned()));
            fields.push((format!("Parameters.member.{}.ParameterValue", n + 1), (*value).to_owned()));
        }
        self.cloudformation(action, &fields).await?;
        self.at_rest(name).await
    }

    pub async fn delete_stack(&self, name: &str) -> anyhow::Result<()> {
        self.cloudformation("DeleteStack", &[("StackName".to_owned(), name.to_owned())]).await?;
        match self.at_rest(name).await {
            Ok(stack) if stack.status != "DELETE_COMPLETE" => bail!("stack {name}: {}: {:?}", stack.status, stack.failures),
            // A stack that is gone is not found by its name.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    pub(super) async fn at_rest(&self, name: &str) -> anyhow::Result<Stack> {
        let start = Instant::now();
        loop {
            let stack = self.stack(name).await?;
            if !stack.status.ends_with("_IN_PROGRESS") {
                return Ok(stack);
            }
            if start.elapsed() > STACK_BOUND {
                bail!("stack {name} is still {} after {} s", stack.status, STACK_BOUND.as_secs());
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
    }

    async fn stack(&self, name: &str) -> anyhow::Result<Stack> {
        let by_name = [("StackName".to_owned(), name.to_owned())];
        let description = self.cloudformation("DescribeStacks", &by_name).await?;
        let events = self.cloudformation("DescribeStackEvents", &by_name).await?;
        let text = |event: &str, tag| element(event, tag).unwrap_or_default();
        let step = |event: &&str| format!("{} {}", text(event, "LogicalResourceId"), text(event, "ResourceStatus"));
        // Newest first, back to when the last operation began.
        let begins = [format!("{name} CREATE_IN_PROGRESS"), format!("{name} UPDATE_IN_PROGRESS")];
        let last: Vec<_> =
            elements(&events, "member").into_iter().take_while(|event| !begins.contains(&step(event))).collect();
        let failed = last.iter().filter(|event| event.contains("_FAILED</ResourceStatus>"));
        Ok(Stack {
            status: element(&description, "StackStatus").context("a stack without a status")?,
            outputs: elements(&description, "member")
                .into_iter()
                .filter_map(|output| Some((element(output, "OutputKey")?, element(output, "OutputValue")?)))
                .collect(),
            failures: failed
                .map(|event| format!("{}: {}", text(event, "LogicalResourceId"), text(event, "ResourceStatusReason")))
                .collect(),
            steps: last.iter().rev().map(step).collect(),
        })
    }

    /// CloudFormation speaks the older protocol: a form in, XML out.
    async fn cloudformation(&self, action: &str, fields: &[(String, String)]) -> anyhow::Result<String> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("Action", action).append_pair("Version", "2010-05-15").extend_pairs(fields);
        let call = self.http.post(self.endpoint()).header("authorization", authorization("cloudformation"));
        let call = call.header("content-type", "application/x-www-form-urlencoded").body(form.finish());
        let response = call.send().await?;
        let (status, text) = (response.status(), response.text().await?);
        if !status.is_success() {
            bail!("{action}: the AWS emulator answers {status}: {}", element(&text, "Message").unwrap_or(text));
        }
        Ok(text)
    }
}

/// The contents of the innermost elements of this name: one that holds others of its name ends with the first of them.
fn elements<'a>(xml: &'a str, tag: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    xml.split(&open).skip(1).map(|rest| rest.split_once(&close).map_or(rest, |(inside, _)| inside)).collect()
}

fn element(xml: &str, tag: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{tag}>"))?;
    let (inside, _) = rest.split_once(&format!("</{tag}>"))?;
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    Some(entities.iter().fold(inside.to_owned(), |text, (entity, character)| text.replace(entity, character)))
}
