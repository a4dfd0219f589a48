//! Messages as Amazon SNS writes and signs them.

use openssl::hash::MessageDigest;
use serde_json::{Value, json};

use super::keys::Published;

pub(super) const HOST: &str = "sns.us-west-2.amazonaws.com";
pub(super) const TOPIC: &str = "arn:aws:sns:us-west-2:123456789012:ours";
pub(super) const SOURCES: &str = "[sns]\nprovider = \"aws-sns\"\ntopic_arn = \"arn:aws:sns:us-west-2:123456789012:ours\"\n";

pub(super) fn certificate_url(name: &str) -> String {
    format!("https://{HOST}/SimpleNotificationService-{name}.pem")
}

pub(super) fn notification(key: &Published, id: &str, certificate_url: &str) -> String {
    signed(key, json!({ "Type": "Notification", "MessageId": id, "Message": "hi" }), "2", certificate_url)
}

pub(super) fn confirmation(key: &Published, id: &str) -> String {
    let message = json!({
        "Type": "SubscriptionConfirmation", "MessageId": id, "Message": "You have chosen to subscribe", "Token": "a token&more",
        "SubscribeURL": "https://elsewhere.test/?Action=ConfirmSubscription",
    });
    signed(key, message, "2", &certificate_url("a"))
}

/// Version 1 signs with SHA-1, version 2 with SHA-256 (docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html).
pub(super) fn signed(key: &Published, mut message: Value, version: &str, certificate_url: &str) -> String {
    message["TopicArn"] = json!(TOPIC);
    message["Timestamp"] = json!("2026-03-12T19:03:58.000Z");
    let names = ["Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
    let lines = names.iter().filter_map(|name| Some(format!("{name}\n{}\n", message[*name].as_str()?)));
    let digest = if version == "1" { MessageDigest::sha1() } else { MessageDigest::sha256() };
    message["Signature"] = json!(key.sign_base64(digest, &lines.collect::<String>()));
    message["SignatureVersion"] = json!(version);
    message["SigningCertURL"] = json!(certificate_url);
    message.to_string()
}
