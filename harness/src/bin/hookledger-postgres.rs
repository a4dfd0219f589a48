//! A Postgres for as long as this program runs, in whatever way it ends. Prints the URL of an empty database.

use std::thread;

fn main() -> anyhow::Result<()> {
    let postgres = hookledger_harness::Postgres::start()?;
    println!("{}", postgres.url());
    loop {
        thread::park();
    }
}
