//! One environment: a process and its Runtime API.
//!
//! Nothing stands guard over the process: it ends by itself when its Runtime API is gone, as every Lambda runtime does. So it
//! doesn't outlive us even if we are killed, and no shell between us delays or blurs what is measured.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::function::FunctionOptions;
use super::runtime_api::{Invocation, RuntimeApi, Work};
use super::{InvokeError, Response, locked};
use crate::http::serve;

/// How long Lambda waits for a runtime to come up.
const INIT_MAX: Duration = Duration::from_secs(10);

pub(super) struct Environment {
    pub(super) process: Process,
    api: Arc<RuntimeApi>,
    invocations: mpsc::Sender<Invocation>,
    invoked: bool,
    _server: JoinSet<()>,
}

/// A process that can be killed by whoever holds this, once or often, without hitting another that got its number.
#[derive(Clone)]
pub(super) struct Process {
    child: Arc<Mutex<Child>>,
    killed: Arc<AtomicBool>,
    ended: watch::Receiver<bool>,
}

impl Environment {
    pub(super) async fn start(
        options: &FunctionOptions,
        log: File,
        crashes_at_answer: Arc<AtomicUsize>,
        work: Work,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen for a function")?;
        let mut command = Command::new(&options.program);
        command.env_clear().envs(options.variables.iter().map(|(name, value)| (name, value)));
        command.env("AWS_LAMBDA_RUNTIME_API", listener.local_addr()?.to_string());
        command.env("AWS_LAMBDA_FUNCTION_NAME", &options.name).env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST");
        command.env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", options.memory_mb.to_string());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let started = Instant::now();
        let process = Process::start(&mut command)?;
        let (invocations, receiver) = mpsc::channel(1);
        let to_kill = process.clone();
        let api = Arc::new(RuntimeApi {
            arn: format!("arn:aws:lambda:us-east-1:000000000000:function:{}", options.name),
            started,
            init: OnceLock::new(),
            invocations: receiver.into(),
            current: Mutex::default(),
            handed_over: Mutex::default(),
            work,
            crashes_at_answer,
            kill: Box::new(move || to_kill.kill()),
        });
        let mut server = JoinSet::new();
        let served = api.clone();
        server.spawn(serve(listener, move |request| served.clone().handle(request)));
        Ok(Self { process, api, invocations, invoked: false, _server: server })
    }

    /// After an error other than [`InvokeError::FunctionError`] the environment is of no use any more.
    pub(super) async fn invoke(&mut self, payload: Bytes, time: Duration) -> Result<Response, InvokeError> {
        let (taken, is_taken) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let invocation = Invocation { payload, timeout: time, taken, answer };
        self.invocations.send(invocation).await.map_err(|_| InvokeError::Crashed)?;
        tokio::select! {
            taken = timeout(INIT_MAX, is_taken) => match taken {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(InvokeError::Crashed),
                Err(_) => return Err(InvokeError::TimedOut),
            },
            () = self.process.end() => return Err(InvokeError::Crashed),
        }
        let started = Instant::now();
        tokio::select! {
            // In this order, so that an answer counts although its process has ended since.
            biased;
            answer = answered => {
                let payload = answer.unwrap_or(Err(InvokeError::Crashed))?;
                let init = if self.invoked { None } else { self.api.init.get().copied() };
                self.invoked = true;
                Ok(Response { payload: String::from_utf8_lossy(&payload).into_owned(), init, took: started.elapsed() })
            }
            () = self.process.end() => Err(InvokeError::Crashed),
            () = sleep(time) => Err(InvokeError::TimedOut),
        }
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        self.process.kill();
    }
}

impl Process {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let child = command.spawn().with_context(|| format!("start {}", command.get_program().display()))?;
        let pid = Pid::from_child(&child);
        let (tell, ended) = watch::channel(false);
        let child = Arc::new(Mutex::new(child));
        let reaped = child.clone();
        thread::spawn(move || {
            // This does not reap it, or its number could go to a stranger before a late kill. The next line does, under the
            // lock that every kill takes.
            while waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).is_err_and(interrupted) {}
            let _reaped = locked(&reaped).wait();
            tell.send_replace(true);
        });
        Ok(Self { child, killed: Arc::default(), ended })
    }

    /// SIGKILL: it has no chance to do anything about it.
    pub(super) fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
        // An error says that it has ended already.
        let _killed = locked(&self.child).kill();
    }

    pub(super) fn id(&self) -> u32 {
        locked(&self.child).id()
    }

    /// Whether it has ended or is about to: a process that was killed may be gone from `/proc` before we were told of its end,
    /// and may still take an event before it is.
    pub(super) fn is_over(&self) -> bool {
        self.killed.load(Ordering::SeqCst) || *self.ended.borrow()
    }

    async fn end(&mut self) {
        let _ended = self.ended.wait_for(|ended| *ended).await;
    }
}

fn interrupted(error: rustix::io::Errno) -> bool {
    error == rustix::io::Errno::INTR
}
