//! The PostgreSQL that comes as a Python wheel serves where a machine has none: it has all that the migrations ask for.

use hookledger_core::Secret;
use hookledger_harness::Postgres;
use hookledger_ledger::{DatabaseConfig, Tls, connect, migrate};

#[tokio::test]
async fn the_migrations_apply_to_the_embedded_postgres_and_apply_once() {
    let postgres = Postgres::options().embedded().start().unwrap();
    let config = DatabaseConfig { url: Secret::new(postgres.url()).unwrap(), tls: Tls::Disable };
    let mut client = connect(&config).await.unwrap();
    let version: String = client.query_one("SHOW server_version", &[]).await.unwrap().get(0);
    assert!(version.starts_with("18."), "{version}");
    assert!(!migrate(&mut client).await.unwrap().is_empty());
    assert_eq!(migrate(&mut client).await.unwrap(), Vec::<String>::new());
    assert_eq!(client.query("SELECT FROM webhook_event", &[]).await.unwrap().len(), 0);
}
