//! The role that functions use where they prove themselves by IAM instead of a password: rows yes, tables no.

use tokio_postgres::Client;

#[derive(Debug, thiserror::Error)]
pub enum AppRoleError {
    #[error("the role's name must be up to 63 lower-case letters, digits and underscores, and not start with a digit")]
    Name,
    #[error("cannot make the functions' role")]
    Grant(#[source] tokio_postgres::Error),
}

/// To be run by the owner of the tables after each migration, since new tables need their grants. `rds_iam` is there on RDS
/// only. Partitions are made and dropped by two functions, which therefore run as their owner.
const GRANT: &str = r#"
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role} LOGIN; END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_iam') THEN GRANT rds_iam TO {role}; END IF;
END $$;
GRANT USAGE ON SCHEMA public TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role};
REVOKE INSERT, UPDATE, DELETE ON refinery_schema_history FROM {role};
ALTER FUNCTION webhook_payload_add_month(date) SECURITY DEFINER SET search_path = public, pg_temp;
ALTER FUNCTION webhook_payload_drop_before(timestamptz) SECURITY DEFINER SET search_path = public, pg_temp;
REVOKE EXECUTE ON FUNCTION webhook_payload_add_month(date), webhook_payload_drop_before(timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION webhook_payload_add_month(date), webhook_payload_drop_before(timestamptz) TO {role};
"#;

/// Makes the role if it is not there, and lets it read and write rows and nothing else. Safe to run again.
pub async fn grant_app_role(client: &Client, role: &str) -> Result<(), AppRoleError> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if role.is_empty() || role.len() > 63 || !role.chars().all(word) || role.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(AppRoleError::Name);
    }
    // One message is one transaction. A name cannot be a parameter; it is a plain word by now.
    client.batch_execute(&GRANT.replace("{role}", role)).await.map_err(AppRoleError::Grant)
}
