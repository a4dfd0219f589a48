//! The commands of `hookledger`, beside the database. The arguments and the answer stay out of the record: they may hold a
//! customer's data.

use std::io::stdout;
use std::time::Duration;

use anyhow::Result;
use hookledger_commands::Place;
use hookledger_ledger::Ledger;
use hookledger_queue::Queue;
use hookledger_runtime::{DatabaseSettings, Env, Record, Vault, error_chain};
use serde::Deserialize;
use serde_json::Value;

/// Less than the 15 minutes that the function has, so that it can still say what took so long.
const ANSWER_WITHIN: Duration = Duration::from_secs(840);

#[derive(Debug, Deserialize)]
pub struct Asked {
    pub command: String,
    pub arguments: Value,
}

pub(crate) async fn run(asked: Asked) -> Result<Value> {
    let mut record = Record::new("operator");
    record.field("command", asked.command.as_str());
    let answer = answer(asked).await;
    if let Err(error) = &answer {
        record.field("error", error_chain(error.as_ref()));
    }
    record.emit(&mut stdout().lock());
    answer
}

async fn answer(asked: Asked) -> Result<Value> {
    let env = Env::process();
    let config = DatabaseSettings::read(&env)?.resolve(&Vault::new()).await?;
    let queue = match env.optional("QUEUE_URL")? {
        Some(url) => Some(Queue::new(hookledger_queue::Client::of_function().await?, url)),
        None => None,
    };
    let mut place = Place { ledger: Ledger::new(config, ANSWER_WITHIN), queue };
    Ok(hookledger_commands::run(&mut place, &asked.command, asked.arguments).await?)
}
