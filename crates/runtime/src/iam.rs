//! IAM database authentication of RDS: a signed request that is never sent stands in for the password
//! (docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/UsingWithRDS.IAMDBAuth.html). Signing calls nobody.

use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign};
use aws_sigv4::sign::v4;
use hookledger_core::{Micros, Secret};

use crate::database::percent_encoded;

/// The longest that RDS takes. It counts until the connection is made, and not afterwards.
const TOKEN_TTL: Duration = Duration::from_secs(900);

#[derive(Debug, thiserror::Error)]
pub enum IamError {
    #[error("there are no credentials to sign the database's token with")]
    NoCredentials,
    #[error("cannot sign the database's token")]
    Sign(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Who connects to where: `postgres://user@host:port/…`, without a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    user: String,
    /// `host:port`, as it is signed.
    host: String,
    /// From the host on, as it was given.
    rest: String,
}

impl Place {
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let (_, rest) = url.split_once("://")?;
        let (user, rest) = rest.split_once('@')?;
        let host = rest.split(['/', '?']).next()?;
        if user.is_empty() || user.contains(':') || host.is_empty() {
            return None;
        }
        let host = if host.contains(':') { host.to_owned() } else { format!("{host}:5432") };
        Some(Self { user: user.to_owned(), host, rest: rest.to_owned() })
    }

    /// The URL with a token that is good for a quarter of an hour. Its credentials are the execution role's, from the environment.
    pub(crate) fn url(&self, region: &str, now: Micros) -> Result<Secret, IamError> {
        let credentials = hookledger_aws::credentials().ok_or(IamError::NoCredentials)?;
        let token = self.token(credentials, region, now).map_err(IamError::Sign)?;
        let url = format!("postgres://{}:{}@{}", self.user, percent_encoded(&token), self.rest);
        Secret::new(url).map_err(|error| IamError::Sign(error.into()))
    }

    fn token(
        &self,
        credentials: Credentials,
        region: &str,
        now: Micros,
    ) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        let mut settings = SigningSettings::default();
        settings.expires_in = Some(TOKEN_TTL);
        settings.signature_location = SignatureLocation::QueryParams;
        let identity = credentials.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name("rds-db")
            .time(UNIX_EPOCH + Duration::from_micros(now.try_into()?))
            .settings(settings)
            .build()?
            .into();
        let address = format!("{}/?Action=connect&DBUser={}", self.host, self.user);
        let url = format!("https://{address}");
        let request = SignableRequest::new("GET", &url, std::iter::empty(), SignableBody::Bytes(&[]))?;
        let (instructions, _) = sign(request, &params)?.into_parts();
        let signed = instructions.params().iter().map(|(name, value)| format!("&{name}={}", percent_encoded(value)));
        Ok(address + &signed.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_user_and_no_password() {
        let place = Place::parse("postgres://app@db.local/hooks?hostaddr=127.0.0.1").unwrap();
        assert_eq!((place.user.as_str(), place.host.as_str()), ("app", "db.local:5432"));
        assert_eq!(Place::parse("postgres://app@db.local:6432").unwrap().host, "db.local:6432");
        for refused in
            ["postgres://db.local/hooks", "postgres://app:secret@db.local/hooks", "postgres://app@/hooks", "app@db.local"]
        {
            assert_eq!(Place::parse(refused), None, "{refused}");
        }
    }

    #[test]
    fn the_token_is_the_one_that_the_python_sdk_makes() {
        let place = Place::parse("postgres://hookledger_app@db.cluster-c1x.eu-west-1.rds.amazonaws.com/hooks").unwrap();
        let session = Some("tok/en+with=odd&chars".to_owned());
        let credentials = Credentials::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", session, None, "test");
        // boto3's generate_db_auth_token, its clock set to this time.
        let expected = "db.cluster-c1x.eu-west-1.rds.amazonaws.com:5432/?Action=connect&DBUser=hookledger_app\
            &X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20231114%2Feu-west-1%2Frds-db%2Faws4_request\
            &X-Amz-Date=20231114T221320Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host\
            &X-Amz-Security-Token=tok%2Fen%2Bwith%3Dodd%26chars\
            &X-Amz-Signature=435dfa2340ac4861ed50dee6e92dadf31cef3c25b5d83a7042fd50e33112b3b7";
        let token = place.token(credentials, "eu-west-1", 1_700_000_000_000_000).unwrap();
        let sorted = |token: &str| {
            let mut parts: Vec<_> = token.split('&').map(str::to_owned).collect();
            parts.sort();
            parts
        };
        assert_eq!(sorted(&token), sorted(expected));
    }
}
