//! Standard output, standard error and questions. Invariants: progress and colour appear on a terminal only, and colour
//! never against `NO_COLOR` (no-color.org); control characters of others' texts never reach a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hookledger_core::Secret;
use hookledger_runtime::Env;
use serde::Serialize;

use crate::ended::BadInput;

pub(crate) struct Terminal {
    pub(crate) json: bool,
    yes: bool,
    pub(crate) paint: Paint,
    paint_errors: Paint,
}

/// Paints text, or leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(bool);

impl Paint {
    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }
    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }
    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }
    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }
    fn wrap(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

impl Terminal {
    pub(crate) fn new(json: bool, yes: bool, env: &Env) -> Self {
        let colour = !env.optional("NO_COLOR").is_ok_and(|value| value.is_some());
        Self {
            json,
            yes,
            paint: Paint(colour && !json && io::stdout().is_terminal()),
            paint_errors: Paint(colour && io::stderr().is_terminal()),
        }
    }

    /// A line of our own words on standard output.
    pub(crate) fn line(&self, text: &str) -> Result<()> {
        Ok(writeln!(io::stdout().lock(), "{text}")?)
    }

    pub(crate) fn json(&self, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(value)?;
        self.line(&text)
    }

    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        Ok(out.flush()?)
    }

    /// A remark, which is no part of the answer.
    pub(crate) fn note(&self, text: &str) {
        eprintln!("{}", self.paint_errors.dim(text));
    }

    pub(crate) fn warn(&self, text: &str) {
        eprintln!("{}", self.paint_errors.yellow(text));
    }

    /// Whether to go ahead. Where nobody can be asked, only `--yes` says so.
    pub(crate) fn confirm(&self, what: &str) -> Result<bool> {
        if self.yes {
            return Ok(true);
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(BadInput(format!("{what}: say --yes to go ahead where nobody can be asked")).into());
        }
        eprint!("{}. Go ahead? [y/N] ", self.paint_errors.bold(what));
        io::stderr().flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// A secret from the environment, or asked for without showing it. Never an argument: other users of a machine see those.
    pub(crate) fn secret(&self, env: &Env, name: &str, what: &str) -> Result<Secret> {
        let text = match env.optional(name)? {
            Some(text) => text,
            None if io::stdin().is_terminal() => {
                rpassword::prompt_password(format!("{what} ({name}): ")).context("cannot read a secret")?
            }
            None => return Err(BadInput(format!("{name} is not set: it holds {what}")).into()),
        };
        Secret::new(text.trim()).map_err(|_| BadInput(format!("{name} is empty: it holds {what}")).into())
    }

    pub(crate) fn progress(&self) -> Progress {
        Progress { shown: io::stderr().is_terminal(), dirty: false, drawn: None }
    }
}

/// One line that is written over.
pub(crate) struct Progress {
    shown: bool,
    dirty: bool,
    drawn: Option<Instant>,
}

impl Progress {
    pub(crate) fn show(&mut self, text: &str) {
        let often_enough = self.drawn.is_some_and(|drawn| drawn.elapsed() < Duration::from_millis(100));
        if self.shown && !often_enough {
            eprint!("\r\x1b[K{text}");
            // A progress line that cannot be written is not worth failing for.
            drop(io::stderr().flush());
            (self.dirty, self.drawn) = (true, Some(Instant::now()));
        }
    }

    /// What comes next is shown at once, however soon.
    pub(crate) fn clear(&mut self) {
        if self.dirty {
            eprint!("\r\x1b[K");
        }
        (self.dirty, self.drawn) = (false, None);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Others' text as it may be shown: a control character could move the cursor or rename the window.
pub(crate) fn safe(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_s_commands_are_not_passed_on() {
        assert_eq!(safe("a\x1b[2Jb\u{9b}c\n"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}");
        assert_eq!(safe("Grüße 日本"), "Grüße 日本");
    }

    #[test]
    fn colour_is_a_choice() {
        assert_eq!(Paint(true).red("x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Paint(false).red("x"), "x");
        assert_eq!(Paint(true).red(""), "");
    }
}
