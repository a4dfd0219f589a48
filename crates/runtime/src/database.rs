//! Where the database is and who we are to it: `DATABASE_URL`, `DATABASE_SECRET_ARN`, `DATABASE_AUTH`, `DATABASE_TLS`,
//! `DATABASE_CA_FILE`, `DATABASE_CA_PEM`, `DATABASE_PREPARED_STATEMENTS`.

use std::path::PathBuf;

use hookledger_core::Secret;
use hookledger_ledger::{Anew, DatabaseConfig, Tls};
use serde::Deserialize;

use crate::env::{Env, EnvError};
use crate::iam::{IamError, Place};
use crate::time::now;
use crate::vault::{Vault, VaultError};

#[derive(Debug, Clone)]
pub struct DatabaseSettings {
    auth: Auth,
    tls: Tls,
    /// Whether the way leads to the database itself, and through no pooler.
    pub prepared_statements: bool,
}

#[derive(Debug, Clone)]
enum Auth {
    /// The whole URL.
    Url(Secret),
    /// Credentials in Secrets Manager, and where they are for, unless the secret says so.
    Secret { id: String, place: Option<Secret> },
    /// A token of the execution role's, minted here.
    Iam { place: Place, region: String },
}

#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error(transparent)]
    Env(#[from] EnvError),
    #[error("cannot read {path} (DATABASE_CA_FILE)")]
    CaFile { path: PathBuf, source: std::io::Error },
    #[error("cannot fetch the database's credentials (DATABASE_SECRET_ARN)")]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Iam(#[from] IamError),
    #[error(
        "the secret of DATABASE_SECRET_ARN is neither a postgres:// URL nor JSON with username and password, and host unless \
         DATABASE_URL has it"
    )]
    Credentials,
}

/// The JSON that RDS and Secrets Manager's rotation keep credentials in; RDS's own leaves the place out.
#[derive(Deserialize)]
struct Credentials {
    username: String,
    password: String,
    host: Option<String>,
    port: Option<u16>,
    dbname: Option<String>,
}

impl DatabaseSettings {
    pub fn read(env: &Env) -> Result<Self, DatabaseError> {
        Ok(Self { auth: auth(env)?, tls: tls(env)?, prepared_statements: prepared_statements(env)? })
    }

    /// A token of IAM is good for a quarter of an hour and costs a signature, so each connection gets its own.
    pub fn anew(&self) -> Anew {
        match self.auth {
            Auth::Url(_) | Auth::Secret { .. } => Anew::WhenRefused,
            Auth::Iam { .. } => Anew::ForEachConnection,
        }
    }

    /// To be asked again as [`anew`](Self::anew) says.
    pub async fn resolve(&self, vault: &Vault) -> Result<DatabaseConfig, DatabaseError> {
        let url = match &self.auth {
            Auth::Url(url) => url.clone(),
            Auth::Secret { id, place } => {
                let text = vault.fetch(id).await?.current;
                let place = place.as_ref().and_then(|url| std::str::from_utf8(url.expose()).ok());
                url_with_credentials(&text, place).ok_or(DatabaseError::Credentials)?
            }
            Auth::Iam { place, region } => place.url(region, now())?,
        };
        Ok(DatabaseConfig { url, tls: self.tls.clone() })
    }
}

fn auth(env: &Env) -> Result<Auth, EnvError> {
    let url = env.optional("DATABASE_URL")?;
    let secret_id = env.optional("DATABASE_SECRET_ARN")?;
    match (env.optional("DATABASE_AUTH")?.as_deref(), secret_id) {
        (None | Some("password"), Some(id)) => Ok(Auth::Secret { id, place: url.and_then(|url| Secret::new(url).ok()) }),
        (None | Some("password"), None) => {
            let url = url.and_then(|url| Secret::new(url).ok());
            url.map(Auth::Url).ok_or_else(|| EnvError::NotSet("DATABASE_URL".to_owned()))
        }
        (Some("iam"), None) => {
            let url = url.ok_or_else(|| EnvError::NotSet("DATABASE_URL".to_owned()))?;
            let expected = "postgres://user@host:port/database without a password where DATABASE_AUTH is iam";
            let place = Place::parse(&url).ok_or_else(|| EnvError::invalid("DATABASE_URL", expected))?;
            Ok(Auth::Iam { place, region: env.required("AWS_REGION")? })
        }
        (Some("iam"), Some(_)) => Err(EnvError::invalid("DATABASE_SECRET_ARN", "unset where DATABASE_AUTH is iam")),
        (Some(_), _) => Err(EnvError::invalid("DATABASE_AUTH", "password or iam")),
    }
}

fn tls(env: &Env) -> Result<Tls, DatabaseError> {
    match env.optional("DATABASE_TLS")?.as_deref() {
        None | Some("verify-full") => Ok(Tls::VerifyFull { ca_pem: ca_pem(env)? }),
        Some("disable") => Ok(Tls::Disable),
        Some(_) => Err(EnvError::invalid("DATABASE_TLS", "verify-full or disable").into()),
    }
}

fn prepared_statements(env: &Env) -> Result<bool, EnvError> {
    match env.optional("DATABASE_PREPARED_STATEMENTS")?.as_deref() {
        None | Some("off") => Ok(false),
        Some("on") => Ok(true),
        Some(_) => Err(EnvError::invalid("DATABASE_PREPARED_STATEMENTS", "on or off")),
    }
}

fn ca_pem(env: &Env) -> Result<Option<Vec<u8>>, DatabaseError> {
    match (env.optional("DATABASE_CA_FILE")?, env.optional("DATABASE_CA_PEM")?) {
        (None, None) => Ok(None),
        (None, Some(pem)) => Ok(Some(pem.into_bytes())),
        (Some(path), None) => {
            let read = std::fs::read(&path);
            read.map(Some).map_err(|source| DatabaseError::CaFile { path: path.into(), source })
        }
        (Some(_), Some(_)) => Err(EnvError::invalid("DATABASE_CA_PEM", "unset where DATABASE_CA_FILE is set").into()),
    }
}

/// `place` is `DATABASE_URL`: where it is set, it says host, port and database, and the secret says who.
fn url_with_credentials(secret: &str, place: Option<&str>) -> Option<Secret> {
    let secret = secret.trim();
    if secret.starts_with("postgres://") || secret.starts_with("postgresql://") {
        return Secret::new(secret).ok();
    }
    let Credentials { username, password, host, port, dbname } = serde_json::from_str(secret).ok()?;
    let place = match (place, host) {
        (Some(url), _) => {
            let (_, rest) = url.split_once("://")?;
            rest.rsplit_once('@').map_or(rest, |(_, place)| place).to_owned()
        }
        (None, Some(host)) => {
            format!("{host}:{}/{}", port.unwrap_or(5432), percent_encoded(&dbname.unwrap_or_else(|| username.clone())))
        }
        (None, None) => return None,
    };
    Secret::new(format!("postgres://{}:{}@{place}", percent_encoded(&username), percent_encoded(&password))).ok()
}

/// Everything but RFC 3986's unreserved characters.
pub(crate) fn percent_encoded(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tests::env;

    #[track_caller]
    fn check(secret: &str, place: Option<&str>, expected: Option<&str>) {
        let url = url_with_credentials(secret, place);
        assert_eq!(url.as_ref().map(|url| std::str::from_utf8(url.expose()).unwrap()), expected);
    }

    #[test]
    fn a_stored_url_is_taken_as_it_is() {
        check(" postgres://a:b@h/d\n", Some("postgres://other/d"), Some("postgres://a:b@h/d"));
    }

    #[test]
    fn stored_credentials_are_encoded_into_a_url() {
        let rds = r#"{"username":"app","password":"p@s:s/w%","host":"db.local","port":5433,"dbname":"hooks"}"#;
        check(rds, None, Some("postgres://app:p%40s%3As%2Fw%25@db.local:5433/hooks"));
        check(r#"{"username":"a","password":"b","host":"h"}"#, None, Some("postgres://a:b@h:5432/a"));
    }

    #[test]
    fn the_place_comes_from_the_database_url_where_it_is_set() {
        let managed = r#"{"username":"app","password":"x"}"#;
        check(managed, Some("postgres://proxy:5432/hooks?a=b"), Some("postgres://app:x@proxy:5432/hooks?a=b"));
        check(managed, Some("postgres://old:pw@proxy/hooks"), Some("postgres://app:x@proxy/hooks"));
        check(managed, None, None);
        check("hunter2", None, None);
    }

    #[test]
    fn a_missing_database_stops_the_start() {
        assert_eq!(DatabaseSettings::read(&env(&[])).unwrap_err().to_string(), "DATABASE_URL is not set");
    }

    #[test]
    fn iam_wants_a_user_and_a_region_and_no_password_from_anywhere() {
        let read = |more: &[(&str, &str)]| {
            let place = ("DATABASE_URL", "postgres://app@db.local/hooks");
            auth(&env(&[&[("DATABASE_AUTH", "iam"), ("AWS_REGION", "eu-west-1"), place], more].concat()))
        };
        assert!(matches!(read(&[]).unwrap(), Auth::Iam { .. }));
        let refusal = |more: &[(&str, &str)]| read(more).unwrap_err().to_string();
        assert_eq!(refusal(&[("AWS_REGION", "")]), "AWS_REGION is not set");
        assert_eq!(refusal(&[("DATABASE_URL", "")]), "DATABASE_URL is not set");
        assert!(refusal(&[("DATABASE_URL", "postgres://app:hunter2@db.local/hooks")]).starts_with("DATABASE_URL must be"));
        assert_eq!(refusal(&[("DATABASE_SECRET_ARN", "a")]), "DATABASE_SECRET_ARN must be unset where DATABASE_AUTH is iam");
        assert_eq!(refusal(&[("DATABASE_AUTH", "IAM")]), "DATABASE_AUTH must be password or iam");
    }

    #[test]
    fn tls_is_verified_unless_it_is_disabled_in_so_many_words() {
        let tls = |value: &str| tls(&env(&[("DATABASE_TLS", value)]));
        assert_eq!(tls("").unwrap(), Tls::VerifyFull { ca_pem: None });
        assert_eq!(tls("verify-full").unwrap(), Tls::VerifyFull { ca_pem: None });
        assert_eq!(tls("disable").unwrap(), Tls::Disable);
        for weaker in ["require", "prefer", "verify-ca", "Disable", "false"] {
            assert_eq!(tls(weaker).unwrap_err().to_string(), "DATABASE_TLS must be verify-full or disable");
        }
    }

    #[test]
    fn statements_are_prepared_where_that_is_asked_for() {
        let prepared = |value: &str| prepared_statements(&env(&[("DATABASE_PREPARED_STATEMENTS", value)]));
        assert_eq!((prepared(""), prepared("off"), prepared("on")), (Ok(false), Ok(false), Ok(true)));
        assert_eq!(prepared("true").unwrap_err().to_string(), "DATABASE_PREPARED_STATEMENTS must be on or off");
    }

    #[test]
    fn an_own_authority_comes_from_one_place() {
        let pem = ca_pem(&env(&[("DATABASE_CA_PEM", "pem")])).unwrap();
        assert_eq!(pem.as_deref(), Some(&b"pem"[..]));
        assert!(ca_pem(&env(&[("DATABASE_CA_PEM", "pem"), ("DATABASE_CA_FILE", "/f")])).is_err());
        let error = ca_pem(&env(&[("DATABASE_CA_FILE", "/nowhere/ca.pem")])).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /nowhere/ca.pem (DATABASE_CA_FILE)");
    }
}
