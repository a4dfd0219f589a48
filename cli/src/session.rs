//! What a command has at hand: its options, the environment, the terminal and the ledger, wherever that is.

use std::time::Duration;

use anyhow::Result;
use hookledger_commands::Place;
use hookledger_ledger::{DatabaseConfig, Ledger};
use hookledger_queue::{Client, Queue};
use hookledger_runtime::{DatabaseSettings, Env, Vault};

use crate::arguments::Options;
use crate::aws;
use crate::ended::BadInput;
use crate::reach::Reach;
use crate::reach::function::Function;
use crate::terminal::Terminal;

/// What a question about a large ledger may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(600);

pub(crate) struct Session {
    pub(crate) options: Options,
    pub(crate) env: Env,
    pub(crate) terminal: Terminal,
}

impl Session {
    pub(crate) fn new(options: Options, env: Env) -> Self {
        let env = match options.database_url.clone() {
            Some(url) => Env::new(move |name| match name {
                "DATABASE_URL" => Some(url.clone().into()),
                // The URL is whole: a secret would replace its credentials.
                "DATABASE_SECRET_ARN" => None,
                other => env.optional(other).ok().flatten().map(Into::into),
            }),
            None => env,
        };
        let terminal = Terminal::new(options.json, options.yes, &env);
        Self { options, env, terminal }
    }

    /// Where commands run.
    pub(crate) async fn reach(&self) -> Result<Reach> {
        let function = match (&self.options.stack, &self.options.function) {
            (Some(stack), _) => Some(format!("{stack}-operator:live")),
            (None, function) => function.clone(),
        };
        if let Some(name) = function {
            return Ok(Reach::Function(Box::new(Function::new(name, &self.env).await?)));
        }
        let ledger = Ledger::new(self.database().await?, ANSWER_WITHIN);
        let queue = match self.env.optional("QUEUE_URL")? {
            Some(url) => Some(Queue::new(Client::new(aws::as_a_function().await?), url)),
            None => None,
        };
        Ok(Reach::here(Place { ledger, queue }))
    }

    pub(crate) async fn database(&self) -> Result<DatabaseConfig> {
        let named = |name| self.env.optional(name).map(|value| value.is_some());
        if !named("DATABASE_URL")? && !named("DATABASE_SECRET_ARN")? {
            let why = "no ledger to ask: set DATABASE_URL, or name a deployment with --stack";
            return Err(BadInput(why.to_owned()).into());
        }
        Ok(DatabaseSettings::read(&self.env)?.resolve(&self.vault("DATABASE_SECRET_ARN").await?).await?)
    }

    /// Where `variable`, if it is set, names a secret.
    pub(crate) async fn vault(&self, variable: &str) -> Result<Vault> {
        match self.env.optional(variable)? {
            Some(_) => Ok(Vault::from(&aws::as_a_function().await?)),
            // Nobody will ask it.
            None => Ok(Vault::new()),
        }
    }

    /// Who is at the keyboard, for the audit. IAM's own record of an invocation is the one to trust.
    pub(crate) fn who(&self) -> String {
        let from = |name| self.env.optional(name).ok().flatten();
        from("HOOKLEDGER_OPERATOR").or_else(|| from("USER")).or_else(|| from("LOGNAME")).unwrap_or_else(|| "somebody".into())
    }
}
