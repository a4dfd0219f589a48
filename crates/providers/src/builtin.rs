//! The providers that come with the program. Each is a file that a user could have written.

use crate::definition::Definition;

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        /// Name and definition, in the order of the names.
        const BUILTIN: &[(&str, &str)] = &[$(($name, include_str!(concat!("../definitions/", $name, ".toml")))),*];
    };
}

builtin!(
    "adyen",
    "adyen-platform",
    "auth0",
    "aws-sns",
    "bitbucket",
    "braintree",
    "calendly",
    "chargebee",
    "clerk",
    "cloudflare-notifications",
    "discord",
    "docusign",
    "dropbox",
    "github",
    "gitlab",
    "gitlab-token",
    "hubspot",
    "intercom",
    "jira",
    "lemonsqueezy",
    "linear",
    "mailgun",
    "meta",
    "microsoft-graph",
    "mollie",
    "openai",
    "paddle",
    "pagerduty",
    "paypal",
    "paystack",
    "plaid",
    "polar",
    "quickbooks",
    "razorpay",
    "recurly",
    "resend",
    "sendgrid",
    "sentry",
    "shopify",
    "slack",
    "square",
    "standard-webhooks",
    "standard-webhooks-ed25519",
    "stripe",
    "supabase",
    "svix",
    "twilio",
    "twitch",
    "typeform",
    "vercel",
    "woocommerce",
    "xero",
    "zendesk",
    "zoom",
);

/// What a person wants to know about a built-in provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// As `provider = "…"` names it.
    pub name: &'static str,
    pub title: String,
    /// The provider's page on verifying its deliveries.
    pub docs: String,
    /// Which secret is wanted and where to find it.
    pub secret: String,
    /// How a delivery is verified, in one phrase.
    pub verified: String,
    pub id: String,
    pub version: String,
    /// When a failed delivery comes again; empty where that is not documented.
    pub retries: String,
    /// How to have a delivery sent again; empty where that is not documented.
    pub resend: String,
    /// What is odd, and what a source has to set.
    pub notes: String,
    /// The definition as it is.
    pub definition: &'static str,
}

/// Every built-in provider, by name.
pub fn about() -> impl Iterator<Item = About> {
    BUILTIN.iter().filter_map(|(name, text)| {
        let definition: Definition = toml::from_str(text).ok()?;
        Some(About {
            name,
            verified: definition.verified_by(),
            id: definition.event.id_in_words(),
            version: definition.event.version_in_words(),
            title: definition.title,
            docs: definition.docs,
            secret: definition.secret.wanted,
            retries: definition.retries,
            resend: definition.resend,
            notes: definition.notes,
            definition: text,
        })
    })
}

/// What is longer goes below the table.
const CELL_BYTES_MAX: usize = 80;

/// The built-in providers as Markdown: what `docs/providers.md` holds between its marks.
pub fn table() -> String {
    let cell = |text: &str| if text.len() > CELL_BYTES_MAX { "see below".to_owned() } else { text.replace('|', "\\|") };
    let mut rows = String::from("| `provider` | | Verified by | Event id | Version |\n|---|---|---|---|---|\n");
    let mut notes = String::new();
    for about in about() {
        let About { name, title, docs, secret, verified, id, version, retries, resend, notes: odd, definition: _ } = about;
        let (short_id, short_version) = (cell(&id), cell(&version));
        rows.push_str(&format!("| `{name}` | [{title}]({docs}) | {verified} | {short_id} | {short_version} |\n"));
        notes.push_str(&format!("**{title}** (`{name}`). {odd}\n"));
        for (what, text) in [("Secret", secret), ("Id", id), ("Version", version), ("Retries", retries), ("Again", resend)] {
            if !text.is_empty() {
                notes.push_str(&format!("- {what}: {text}.\n"));
            }
        }
        notes.push('\n');
    }
    format!("{rows}\n{}\n", notes.trim_end())
}

pub(crate) fn definition(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}
