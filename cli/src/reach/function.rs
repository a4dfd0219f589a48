//! Invoking the operator function (docs.aws.amazon.com/lambda/latest/api/API_Invoke.html).

use anyhow::{Context, Result, anyhow};
use hookledger_commands::Command;
use hookledger_runtime::Env;
use serde_json::{Value, json};

use crate::aws::{Aws, Service};

const LAMBDA: Service = Service { name: "lambda", variable: "AWS_ENDPOINT_URL_LAMBDA" };

pub(crate) struct Function {
    pub(crate) aws: Aws,
    url: String,
}

impl Function {
    /// `name` is a name, with an alias if need be, or an ARN.
    pub(crate) async fn new(name: String, env: &Env) -> Result<Self> {
        // arn:partition:lambda:region:…
        let region = name.strip_prefix("arn:").and_then(|rest| rest.split(':').nth(2)).map(str::to_owned);
        let aws = Aws::new(region).await?;
        let url = format!("{}/2015-03-31/functions/{}/invocations", aws.endpoint(LAMBDA, env)?, name.replace(':', "%3A"));
        Ok(Self { aws, url })
    }

    pub(crate) async fn ask<C: Command>(&self, command: C) -> Result<C::Answer> {
        let payload = serde_json::to_vec(&json!({ "command": C::NAME, "arguments": command }))?;
        let answer = self.invoke(&payload).await.with_context(|| format!("cannot have {} run by {}", C::NAME, self.url))?;
        serde_json::from_value(answer).context("the operator function is of another version than this program")
    }

    async fn invoke(&self, payload: &[u8]) -> Result<Value> {
        let response = self.aws.post(LAMBDA, &self.url, &[], payload).await?;
        let (status, failed) = (response.status(), response.headers().contains_key("x-amz-function-error"));
        let body: Value =
            serde_json::from_slice(response.body()).with_context(|| format!("it answers {status}, and no JSON"))?;
        match (status.is_success(), failed) {
            (true, false) => Ok(body),
            (true, true) => Err(said(&body, "errorMessage")),
            (false, _) => Err(said(&body, "Message").context(status.to_string())),
        }
    }
}

fn said(body: &Value, key: &str) -> anyhow::Error {
    let text = body[key].as_str().or_else(|| body["message"].as_str());
    anyhow!("{}", text.unwrap_or("it failed without a word"))
}
