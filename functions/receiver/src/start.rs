//! Cold start: what can be opened is opened here, at once.

use std::rc::Rc;

use anyhow::Result;
use hookledger_queue::{Client, Queue, SpillQueue};
use hookledger_runtime::{
    DatabaseSettings, Env, FetchedKeys, Hint, Https, Queues, SecretStore, Vault, claim_mode, load_sources, now, open_ledger,
    replay_token, secrets_ttl_s,
};

use crate::receive::{CLAIM_WITHIN, Receiver};

impl Receiver {
    pub async fn start(env: &Env) -> Result<Self> {
        let sqs = Client::of_function();
        let (sources, queues) = (load_sources(env)?, Queues::read(env)?);
        let database = DatabaseSettings::read(env)?;
        let secrets = SecretStore::load(&sources, env, Vault::new(), secrets_ttl_s(env)?, now());
        let vault = Vault::new();
        let (ledger, sqs, secrets, replay_token) =
            tokio::join!(open_ledger(database, CLAIM_WITHIN), sqs, secrets, replay_token(env, &vault));
        let sqs = sqs?;
        Ok(Self {
            ledger: ledger?,
            queue: Rc::new(Queue::new(sqs.clone(), queues.event)),
            spill: queues.spill.map(|url| SpillQueue::new(sqs, url)),
            secrets: secrets?,
            fetched_keys: FetchedKeys::new(Https::new()),
            sources,
            replay_token: replay_token?,
            claim_mode: claim_mode(env)?,
            hint: Hint::read(env)?,
        })
    }
}
