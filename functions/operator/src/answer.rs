//! The answer to CloudFormation: a small JSON file, put to the address that it gave.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::http::Request as HttpRequest;
use aws_smithy_types::body::SdkBody;
use hookledger_aws::{Connector, Roots};
use hookledger_runtime::error_chain;
use http::{Method, header};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::request::Request;

const SEND_WITHIN: Duration = Duration::from_secs(30);
/// CloudFormation takes 4096 bytes in all; this leaves room for the rest, and for quotes and line ends, which JSON doubles.
const REASON_BYTES_MAX: usize = 1_500;

pub(crate) async fn send(request: &Request, done: Result<Vec<String>>) -> Result<()> {
    let put = http::Request::builder()
        .method(Method::PUT)
        .uri(&request.response_url)
        // The address is signed for an upload without a type.
        .header(header::CONTENT_TYPE, "")
        .body(SdkBody::from(answer(request, done).to_string()))?;
    // A bucket of S3's.
    let client = Connector::without_reuse(&Roots::System)?;
    let response = timeout(SEND_WITHIN, client.call(HttpRequest::try_from(put)?)).await;
    let status = response.context("cannot answer CloudFormation in time")?.context("cannot answer CloudFormation")?.status();
    if !status.is_success() {
        bail!("CloudFormation's address for the answer says {status}");
    }
    Ok(())
}

fn answer(request: &Request, done: Result<Vec<String>>) -> Value {
    let mut answer = json!({
        "StackId": request.stack_id,
        "RequestId": request.request_id,
        "LogicalResourceId": request.logical_resource_id,
        // Always the same: with another one CloudFormation would ask to delete the former.
        "PhysicalResourceId": "migrations",
    });
    match done {
        Ok(_) => answer["Status"] = json!("SUCCESS"),
        Err(error) => {
            answer["Status"] = json!("FAILED");
            answer["Reason"] = json!(cut(&error_chain(error.as_ref())));
        }
    }
    answer
}

fn cut(text: &str) -> String {
    text.char_indices().take_while(|(at, c)| at + c.len_utf8() <= REASON_BYTES_MAX).map(|(_, c)| c).collect()
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;
    use crate::request::Kind;

    fn request() -> Request {
        serde_json::from_value(json!({
            "RequestType": "Update", "ResponseURL": "https://bucket.test/answer?Signature=x", "StackId": "arn:stack",
            "RequestId": "r-1", "LogicalResourceId": "Migrations", "PhysicalResourceId": "migrations",
            "ResourceType": "Custom::Migrations", "ResourceProperties": {"Version": "7"}
        }))
        .unwrap()
    }

    #[test]
    fn success_names_the_request_and_the_same_resource_each_time() {
        assert_eq!(request().kind, Kind::Update);
        let expected = json!({
            "Status": "SUCCESS", "StackId": "arn:stack", "RequestId": "r-1", "LogicalResourceId": "Migrations",
            "PhysicalResourceId": "migrations"
        });
        assert_eq!(answer(&request(), Ok(vec!["V1__ledger".into()])), expected);
    }

    #[test]
    fn a_failure_carries_its_causes() {
        let answer = answer(&request(), Err(anyhow!("column x exists").context("cannot apply the migrations")));
        assert_eq!(answer["Status"], "FAILED");
        assert_eq!(answer["Reason"], "cannot apply the migrations: column x exists");
    }

    #[test]
    fn the_answer_stays_within_cloudformation_s_limit() {
        let answer = answer(&request(), Err(anyhow!("ä".repeat(5_000))));
        assert!(answer.to_string().len() <= 4_096, "{}", answer.to_string().len());
    }
}
