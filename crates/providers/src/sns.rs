//! Confirming a subscription at Amazon SNS. Invariant: the URL that a message brings is never called; the one to call is made
//! of the topic's ARN and the token, both of them signed.

use hookledger_core::Event;
use serde::Deserialize;

use crate::sources::Source;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Confirmation {
    #[serde(rename = "Type")]
    message_type: String,
    topic_arn: String,
    token: String,
}

/// The URL whose `GET` confirms the subscription that `event` of `source` asks for; `None` for any other event. Confirming
/// twice does what once does. SNS waits three days.
pub fn sns_confirmation_url(source: &Source, event: &Event) -> Option<String> {
    if event.event_type != "SubscriptionConfirmation" {
        return None;
    }
    let Confirmation { message_type, topic_arn, token } = event.json().ok()?;
    // No other provider's source has topics. A replay was not held against them.
    if message_type != event.event_type || !source.settings.topic_arn.contains(&topic_arn) {
        return None;
    }
    let mut arn = topic_arn.split(':');
    let (partition, region) = (arn.nth(1)?, arn.nth(1)?);
    let domain = match partition {
        "aws" | "aws-us-gov" => "amazonaws.com",
        "aws-cn" => "amazonaws.com.cn",
        _ => return None,
    };
    let plain = region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if region.is_empty() || !plain {
        return None;
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("Action", "ConfirmSubscription").append_pair("TopicArn", &topic_arn).append_pair("Token", &token);
    Some(format!("https://sns.{region}.{domain}/?{}", query.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Sources;
    use hookledger_core::{EventId, Lifecycle, SourceName, Via};

    fn source(toml: &str) -> Source {
        Sources::parse(&format!("[sns]\n{toml}")).unwrap().get("sns").unwrap().clone()
    }

    fn event(message_type: &str, topic: &str) -> Event {
        let body = format!(
            r#"{{"Type":"{message_type}","TopicArn":"{topic}","Token":"a&b","SubscribeURL":"https://evil.io/?Action=ConfirmSubscription"}}"#
        );
        Event {
            source: SourceName::new("sns").unwrap(),
            event_id: EventId::new("e").unwrap(),
            event_type: message_type.to_owned(),
            object: None,
            version: None,
            lifecycle: Lifecycle::Updated,
            via: Via::Webhook,
            received_at: 0,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    #[test]
    fn the_url_is_made_of_what_was_signed() {
        let url = |topic: &str| {
            let sns = source(&format!("provider = \"aws-sns\"\ntopic_arn = [{topic:?}, \"x\"]"));
            sns_confirmation_url(&sns, &event("SubscriptionConfirmation", topic))
        };
        assert_eq!(
            url("arn:aws:sns:eu-west-1:1:t").unwrap(),
            "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A1%3At&Token=a%26b"
        );
        assert!(url("arn:aws-cn:sns:cn-north-1:1:t").unwrap().starts_with("https://sns.cn-north-1.amazonaws.com.cn/?"));
        for bad in ["", "arn:aws:sns", "arn:aws:sns:evil.io/#:1:t", "arn:other:sns:eu-west-1:1:t", "arn:aws:sns::1:t"] {
            assert_eq!(url(bad), None, "{bad}");
        }
    }

    #[test]
    fn nothing_is_confirmed_but_the_source_s_own_topics() {
        let sns = source("provider = \"aws-sns\"\ntopic_arn = \"arn:aws:sns:eu-west-1:1:ours\"");
        let github = source("provider = \"github\"\nsecrets = [\"env:S\"]");
        for (source, message_type, topic, confirmed) in [
            (&sns, "SubscriptionConfirmation", "arn:aws:sns:eu-west-1:1:ours", true),
            (&sns, "SubscriptionConfirmation", "arn:aws:sns:eu-west-1:1:theirs", false),
            (&sns, "UnsubscribeConfirmation", "arn:aws:sns:eu-west-1:1:ours", false),
            (&sns, "Notification", "arn:aws:sns:eu-west-1:1:ours", false),
            (&github, "SubscriptionConfirmation", "arn:aws:sns:eu-west-1:1:ours", false),
        ] {
            assert_eq!(sns_confirmation_url(source, &event(message_type, topic)).is_some(), confirmed, "{topic}");
        }
    }
}
