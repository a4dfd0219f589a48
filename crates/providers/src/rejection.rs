//! Why a delivery is not accepted. Invariant: every refusal for want of proof looks the same to the sender.

/// What is wrong with a delivery. Never carries anything that the sender wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// Not the method of a delivery, nor of a handshake that the provider has.
    Method,
    /// The body is larger than the source's `body_bytes_max`.
    TooLarge,
    /// A header that the signature needs is missing, repeated or not text.
    NoSignature,
    /// No signature was made with a live secret over these bytes.
    BadSignature,
    /// The signed time is not a time in the provider's form.
    MalformedTimestamp,
    /// The signed time is further from now than the tolerance.
    StaleTimestamp,
    /// Proven, but the body is not what the provider documents, or says one thing twice.
    MalformedBody,
    /// Proven, but the event's id is absent or blank.
    NoEventId,
    /// Proven, but the event's id cannot be a key: not text, longer than 255 bytes, or with control characters.
    BadEventId,
    /// Proven, but the event's type is absent or blank.
    NoEventType,
}

impl Rejection {
    /// The HTTP status to answer with.
    pub fn status(&self) -> u16 {
        match self {
            Self::MalformedBody | Self::NoEventId | Self::BadEventId | Self::NoEventType => 400,
            Self::NoSignature | Self::BadSignature | Self::MalformedTimestamp | Self::StaleTimestamp => 401,
            Self::Method => 405,
            Self::TooLarge => 413,
        }
    }

    /// The word for metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::TooLarge => "too_large",
            Self::NoSignature => "no_signature",
            Self::BadSignature => "bad_signature",
            Self::MalformedTimestamp => "malformed_timestamp",
            Self::StaleTimestamp => "stale_timestamp",
            Self::MalformedBody => "malformed_body",
            Self::NoEventId => "no_event_id",
            Self::BadEventId => "bad_event_id",
            Self::NoEventType => "no_event_type",
        }
    }

    /// What the sender is told. All 401 read the same, so that nobody can feel their way to a valid signature.
    pub fn message(&self) -> &'static str {
        match self {
            Self::Method => "webhooks are delivered with POST",
            Self::TooLarge => "the body is larger than this source accepts",
            Self::NoSignature | Self::BadSignature | Self::MalformedTimestamp | Self::StaleTimestamp => {
                "the signature is missing, wrong or too old"
            }
            Self::MalformedBody => "the body is not in the form that the provider documents",
            Self::NoEventId => "the event has no id",
            Self::BadEventId => "the event's id is not text of 1 to 255 printable bytes",
            Self::NoEventType => "the event has no type",
        }
    }
}
