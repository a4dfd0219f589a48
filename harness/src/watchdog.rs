//! A service that cannot outlive us. Each is the child of a small shell script that reads a pipe from this process: when
//! our end closes, also because this process was killed, the script stops the service and removes its folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context;

const SCRIPT: &str = include_str!("watchdog.sh");

/// How long a service may take to obey a signal before it gets the next, harder one.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a service can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Quit,
    Kill,
}

impl Signal {
    fn word(self) -> &'static str {
        match self {
            Self::Interrupt => "INT",
            Self::Terminate => "TERM",
            Self::Quit => "QUIT",
            Self::Kill => "KILL",
        }
    }
}

/// A running program. Dropping it stops it and waits for its end.
#[derive(Debug)]
pub struct Service {
    watchdog: Child,
    end: Mutex<Receiver<String>>,
    ended: bool,
    code: Option<i32>,
    stopped: bool,
    stop_with: Signal,
    log: PathBuf,
}

/// Our ends of the watchdogs' pipes, by process id. Not in [`Service`], so that [`stop_everything`] reaches them all; `None` once it
/// has, so that nothing is started behind its back.
static ORDERS: Mutex<Option<BTreeMap<u32, ChildStdin>>> = Mutex::new(Some(BTreeMap::new()));

/// How many watchdogs have not ended yet.
static WATCHDOGS: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Stops every service of this process and waits for their end: for a process that is about to exit without unwinding.
pub fn stop_everything() {
    drop(locked(&ORDERS).take());
    let (running, change) = &WATCHDOGS;
    drop(change.wait_timeout_while(locked(running), PATIENCE * 2, |running| *running > 0));
}

/// What [`Service::start`] needs to know besides the command.
#[derive(Debug)]
pub struct ServiceOptions<'a> {
    /// Gets the output of the service, appended.
    pub log: &'a Path,
    /// The signal that this program takes for "end cleanly".
    pub stop_with: Signal,
    /// Removed by the watchdog if we die.
    pub folder: Option<&'a Path>,
    /// The user and group to run as.
    pub user: Option<(u32, u32)>,
}

impl Service {
    /// Starts `command` with the environment and folder it names; its standard streams are replaced.
    pub fn start(command: &Command, options: &ServiceOptions<'_>) -> anyhow::Result<Self> {
        let log = File::options().create(true).append(true).open(options.log).context("open a service's log")?;
        let folder = options.folder.map_or(OsStr::new(""), Path::as_os_str);
        let mut shell = in_shell(SCRIPT, &[folder, OsStr::new(options.stop_with.word())], command);
        if let Some((uid, gid)) = options.user {
            shell.gid(gid).uid(uid);
        }
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut orders = locked(&ORDERS);
        let orders = orders.as_mut().context("everything is being stopped")?;
        let mut watchdog = shell.spawn().context("start sh")?;
        let report = watchdog.stdout.take().context("the watchdog has no output")?;
        orders.insert(watchdog.id(), watchdog.stdin.take().context("the watchdog has no input")?);
        *locked(&WATCHDOGS.0) += 1;
        let (tell, end) = mpsc::channel();
        thread::spawn(move || {
            BufReader::new(report).lines().map_while(Result::ok).for_each(|code| drop(tell.send(code)));
            *locked(&WATCHDOGS.0) -= 1;
            WATCHDOGS.1.notify_all();
        });
        let (stop_with, log) = (options.stop_with, options.log.to_path_buf());
        Ok(Self { watchdog, end: Mutex::new(end), ended: false, code: None, stopped: false, stop_with, log })
    }

    pub fn signal(&mut self, signal: Signal) -> anyhow::Result<()> {
        self.order(signal.word())
    }

    /// Whether the program has ended by itself or ends within `bound`.
    pub fn ended(&mut self, bound: Duration) -> bool {
        if let (false, Ok(end)) = (self.ended, self.end.get_mut()) {
            let end = end.recv_timeout(bound);
            self.ended = !matches!(end, Err(RecvTimeoutError::Timeout));
            self.code = end.ok().and_then(|code| code.parse().ok());
        }
        self.ended
    }

    /// For a program that ends by itself: whether it did within `bound`, and well.
    pub(crate) fn succeeds(&mut self, bound: Duration) -> bool {
        self.ended(bound) && self.code == Some(0)
    }

    /// Asks it to end, then insists; returns when it is gone. Its folder stays.
    pub fn stop(&mut self) {
        for signal in [self.stop_with, Signal::Quit, Signal::Kill] {
            if self.ended(Duration::ZERO) || self.signal(signal).is_err() || self.ended(PATIENCE) {
                break;
            }
        }
        // A watchdog that was killed with its group cannot be told, and needs no telling.
        let _gone = self.order("leave");
        drop(locked(&ORDERS).as_mut().and_then(|orders| orders.remove(&self.watchdog.id())));
        let _reaped = self.watchdog.wait();
        self.stopped = true;
    }

    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of the log, for an error message.
    pub fn last_words(&self) -> String {
        let text = std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    fn order(&mut self, word: &str) -> anyhow::Result<()> {
        let mut orders = locked(&ORDERS);
        let pipe =
            orders.as_mut().and_then(|orders| orders.get_mut(&self.watchdog.id())).context("the service was stopped")?;
        writeln!(pipe, "{word}").context("the service's watchdog is gone")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if !self.stopped {
            self.stop();
        }
    }
}

/// A panic elsewhere leaves a map or a number as good as it was.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A shell that runs `script` with `arguments` and then `command`'s program and arguments, in `command`'s environment.
pub(crate) fn in_shell(script: &str, arguments: &[&OsStr], command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "watchdog"]).args(arguments);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell
}
