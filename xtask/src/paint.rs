//! A little colour, on a terminal only and never against `NO_COLOR` (no-color.org).

use std::io::{self, IsTerminal};

use hookledger_harness::setting;

/// Paints text, or leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) terminal: bool,
    colour: bool,
}

pub(crate) fn stdout() -> Paint {
    Paint::on(io::stdout().is_terminal())
}

pub(crate) fn stderr() -> Paint {
    Paint::on(io::stderr().is_terminal())
}

#[cfg(test)]
pub(crate) fn plain() -> Paint {
    Paint { terminal: false, colour: false }
}

impl Paint {
    fn on(terminal: bool) -> Self {
        Self { terminal, colour: terminal && setting("NO_COLOR").is_none() }
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
