//! The environment's variables. Invariant: this is the only place that reads them, and no error shows a value, which may
//! be a secret.

use std::ffi::OsString;
use std::fmt;

type Lookup = Box<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// Where settings are looked up: the process's environment, or what a test gives. Read in init, once.
pub struct Env(Lookup);

/// A setting that stops the start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    #[error("{0} is not set")]
    NotSet(String),
    #[error("{0} is not UTF-8")]
    NotUtf8(String),
    #[error("{name} must be {expected}")]
    Invalid { name: String, expected: &'static str },
}

impl Env {
    #[expect(clippy::disallowed_methods, reason = "the one place that settings are read in")]
    pub fn process() -> Self {
        // var rather than var_os, because that is the call the lint knows.
        Self::new(|name| match std::env::var(name) {
            Ok(value) => Some(value.into()),
            Err(std::env::VarError::NotPresent) => None,
            Err(std::env::VarError::NotUnicode(raw)) => Some(raw),
        })
    }

    pub fn new(lookup: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) -> Self {
        Self(Box::new(lookup))
    }

    /// An empty value counts as none: that is what a template's parameter without a value becomes.
    pub fn optional(&self, name: &str) -> Result<Option<String>, EnvError> {
        let Some(raw) = (self.0)(name) else { return Ok(None) };
        let value = raw.into_string().map_err(|_| EnvError::NotUtf8(name.to_owned()))?;
        Ok((!value.is_empty()).then_some(value))
    }

    pub fn required(&self, name: &str) -> Result<String, EnvError> {
        self.optional(name)?.ok_or_else(|| EnvError::NotSet(name.to_owned()))
    }

    /// A whole number within `range`; `expected` says the range in words.
    pub fn number(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<u32>,
        expected: &'static str,
    ) -> Result<Option<u32>, EnvError> {
        let Some(text) = self.optional(name)? else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| EnvError::invalid(name, expected))
    }
}

impl EnvError {
    pub(crate) fn invalid(name: &str, expected: &'static str) -> Self {
        Self::Invalid { name: name.to_owned(), expected }
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Env(…)")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An environment of exactly these variables.
    pub(crate) fn env(variables: &[(&str, &str)]) -> Env {
        let owned: std::collections::HashMap<String, OsString> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        Env::new(move |name| owned.get(name).cloned())
    }

    #[test]
    fn a_missing_or_empty_variable_is_named() {
        for given in [env(&[]), env(&[("DATABASE_URL", "")])] {
            assert_eq!(given.required("DATABASE_URL").unwrap_err().to_string(), "DATABASE_URL is not set");
            assert_eq!(given.optional("DATABASE_URL"), Ok(None));
        }
    }

    #[test]
    fn a_value_that_is_not_text_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        let given = Env::new(|_| Some(OsString::from_vec(vec![0xff])));
        assert_eq!(given.optional("X"), Err(EnvError::NotUtf8("X".into())));
    }

    #[test]
    fn a_number_outside_its_range_is_refused_without_being_shown() {
        assert_eq!(env(&[("N", "7")]).number("N", 1..=9, "1 to 9"), Ok(Some(7)));
        assert_eq!(env(&[]).number("N", 1..=9, "1 to 9"), Ok(None));
        for bad in ["0", "10", "-1", "7.5", "seven", " 7"] {
            let error = env(&[("N", bad)]).number("N", 1..=9, "1 to 9").unwrap_err();
            assert_eq!(error.to_string(), "N must be 1 to 9", "{bad}");
        }
    }

    #[test]
    fn the_process_has_an_environment() {
        assert!(Env::process().required("PATH").is_ok());
    }

    #[test]
    fn every_variable_that_is_read_is_documented() {
        let documentation = include_str!("../../../docs/configuration.md");
        let mut found = 0;
        let files = ["/src", "/src/telemetry"].map(|folder| env!("CARGO_MANIFEST_DIR").to_owned() + folder);
        let files = files.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path());
        for path in files.filter(|path| path.is_file()) {
            let text = std::fs::read_to_string(path).unwrap();
            let before_tests = text.split("#[cfg(test)]").next().unwrap();
            for call in ["optional(\"", "required(\"", "number(\""] {
                for (_, rest) in before_tests.match_indices(call).map(|(at, _)| before_tests[at..].split_once('"').unwrap())
                {
                    let name = rest.split('"').next().unwrap();
                    assert!(
                        documentation.contains(&format!("| `{name}` |")),
                        "docs/configuration.md does not explain {name}"
                    );
                    found += 1;
                }
            }
        }
        assert!(found >= 15, "{found}");
    }
}
