//! Whose records they are. Invariant: a process has one deployment, which is named before its first record.

use std::sync::OnceLock;

use crate::env::{Env, EnvError};

/// The deployment of a process that was told none: a test, the demo, somebody's own machine.
const UNTOLD: &str = "local";
/// As long as CloudFormation lets a stack's name be; CloudWatch takes 1024 bytes for a dimension.
const BYTES_MAX: usize = 128;

static DEPLOYMENT: OnceLock<String> = OnceLock::new();

/// Takes the name from `DEPLOYMENT`. A second call changes nothing.
pub(super) fn init(env: &Env) -> Result<(), EnvError> {
    if let Some(name) = read(env)? {
        DEPLOYMENT.get_or_init(|| name);
    }
    Ok(())
}

pub(super) fn deployment() -> &'static str {
    DEPLOYMENT.get().map_or(UNTOLD, String::as_str)
}

fn read(env: &Env) -> Result<Option<String>, EnvError> {
    let name = env.optional("DEPLOYMENT")?;
    let sound =
        |name: &str| name.len() <= BYTES_MAX && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    match name {
        Some(name) if !sound(&name) => {
            Err(EnvError::invalid("DEPLOYMENT", "at most 128 letters, digits, hyphens, underscores and dots"))
        }
        name => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::tests::env;

    #[test]
    fn a_deployment_has_a_name_that_cloudwatch_takes() {
        assert_eq!(read(&env(&[])), Ok(None));
        assert_eq!(read(&env(&[("DEPLOYMENT", "hookledger-dev")])), Ok(Some("hookledger-dev".into())));
        for refused in ["two words", "ä", ":colon", "line\n", &"x".repeat(129)] {
            assert!(read(&env(&[("DEPLOYMENT", refused)])).is_err(), "{refused}");
        }
    }
}
