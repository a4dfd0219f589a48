//! A service that cannot outlive us. Each is the child of a small shell script that reads a pipe from this process: when
//! our end closes, also because this process was killed, the script stops the service and removes its folder.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
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
    orders: Option<ChildStdin>,
    end: Mutex<Receiver<String>>,
    ended: bool,
    stop_with: Signal,
    log: PathBuf,
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
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "watchdog"]);
        shell.arg(options.folder.map_or(OsStr::new(""), Path::as_os_str)).arg(options.stop_with.word());
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
        if let Some((uid, gid)) = options.user {
            shell.gid(gid).uid(uid);
        }
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut watchdog = shell.spawn().context("start sh")?;
        let orders = watchdog.stdin.take();
        let report = watchdog.stdout.take().context("the watchdog has no output")?;
        let (tell, end) = mpsc::channel();
        thread::spawn(move || BufReader::new(report).lines().map_while(Result::ok).for_each(|code| drop(tell.send(code))));
        Ok(Self {
            watchdog,
            orders,
            end: Mutex::new(end),
            ended: false,
            stop_with: options.stop_with,
            log: options.log.into(),
        })
    }

    pub fn signal(&mut self, signal: Signal) -> anyhow::Result<()> {
        self.order(signal.word())
    }

    /// Whether the program has ended by itself or ends within `bound`.
    pub fn ended(&mut self, bound: Duration) -> bool {
        if let (false, Ok(end)) = (self.ended, self.end.get_mut()) {
            self.ended = !matches!(end.recv_timeout(bound), Err(RecvTimeoutError::Timeout));
        }
        self.ended
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
        self.orders = None;
        let _reaped = self.watchdog.wait();
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
        let orders = self.orders.as_mut().context("the service was stopped")?;
        writeln!(orders, "{word}").context("the service's watchdog is gone")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.orders.is_some() {
            self.stop();
        }
    }
}
