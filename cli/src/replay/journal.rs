//! The checkpoint of a replay: a file with a line for each delivery that was answered. Invariants: it holds ids, types and times,
//! never a payload or a secret; a line is written before the next delivery of its place begins, so that a crash costs no more
//! than what was in flight, and what was in flight is known to the receiver when it is posted again.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hookledger_core::Micros;
use serde::{Deserialize, Serialize};

use crate::ended::BadInput;
use crate::replay::feed::Delivery;
use crate::replay::receiver::Answered;
use crate::replay::tally::Tally;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// What was asked, as it was typed: `--since 24h` is the same question later.
    pub(crate) asked: Vec<String>,
    pub(crate) since: Option<Micros>,
    pub(crate) until: Micros,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Head(Head),
    /// The cursors of a feed that lists the newest first.
    Surveyed {
        feed: String,
        cursors: Vec<Option<String>>,
        deliveries: u64,
    },
    Answered(Entry),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) at: Option<Micros>,
    #[serde(rename = "type")]
    pub(crate) event_type: String,
    pub(crate) answer: Answered,
}

pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    pub(crate) head: Head,
    surveyed: Vec<(String, Vec<Option<String>>, u64)>,
    done: HashSet<String>,
    pub(crate) tally: Tally,
    /// Whether an earlier run left it.
    pub(crate) resumed: bool,
}

impl Journal {
    /// Takes up the file at `path` if it is there, and belongs to the same question; else begins it.
    pub(crate) fn open(path: &Path, head: Head) -> Result<Self> {
        let shown = path.display();
        let lines = match File::open(path) {
            Ok(file) => read(file).with_context(|| format!("cannot read the checkpoint {shown}"))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).context(format!("cannot read the checkpoint {shown}")),
        };
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let file = options.open(path).with_context(|| format!("cannot write the checkpoint {shown}"))?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            head: head.clone(),
            surveyed: Vec::new(),
            done: HashSet::new(),
            tally: Tally::default(),
            resumed: false,
        };
        let mut lines = lines.into_iter();
        match lines.next() {
            None => journal.write(&Line::Head(head))?,
            Some(Line::Head(before)) if before.asked == head.asked => (journal.head, journal.resumed) = (before, true),
            Some(_) => {
                let why = format!("{shown} is the checkpoint of another replay: finish that, remove it, or name another");
                return Err(BadInput(why + " with --checkpoint").into());
            }
        }
        for line in lines {
            match line {
                Line::Surveyed { feed, cursors, deliveries } => journal.surveyed.push((feed, cursors, deliveries)),
                Line::Answered(entry) => journal.count(entry),
                Line::Head(_) => bail!("{shown} has a second head"),
            }
        }
        Ok(journal)
    }

    pub(crate) fn cursors(&self, feed: &str) -> Option<&[Option<String>]> {
        self.surveyed.iter().find(|(name, _, _)| name == feed).map(|(_, cursors, _)| cursors.as_slice())
    }

    /// As far as the feeds were walked through.
    pub(crate) fn expected(&self) -> u64 {
        self.surveyed.iter().map(|(_, _, deliveries)| deliveries).sum()
    }

    pub(crate) fn surveyed(&mut self, feed: String, cursors: Vec<Option<String>>, deliveries: u64) -> Result<()> {
        self.write(&Line::Surveyed { feed: feed.clone(), cursors: cursors.clone(), deliveries })?;
        self.surveyed.push((feed, cursors, deliveries));
        Ok(())
    }

    pub(crate) fn is_done(&self, id: &str) -> bool {
        self.done.contains(id)
    }

    pub(crate) fn answered(&mut self, delivery: &Delivery, answer: Answered) -> Result<()> {
        let (id, event_type) = (delivery.id.clone(), delivery.event_type.clone());
        let entry = Entry { id, at: delivery.at, event_type, answer };
        match &entry.answer {
            // It is tried again by the next run.
            Answered::Failed(_) => {}
            Answered::New | Answered::Known | Answered::Ignored | Answered::Rejected(_) => {
                self.write(&Line::Answered(entry.clone()))?;
            }
        }
        self.count(entry);
        Ok(())
    }

    /// When all is done there is nothing to resume.
    pub(crate) fn finish(self) -> Result<Tally> {
        if self.tally.failed == 0 {
            std::fs::remove_file(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))?;
        }
        Ok(self.tally)
    }

    fn count(&mut self, entry: Entry) {
        self.done.insert(entry.id.clone());
        self.tally.add(entry);
    }

    fn write(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.write_all(&text).with_context(|| format!("cannot write the checkpoint {}", self.path.display()))
    }
}

/// A last line that a crash cut short is as good as none; what it told of is posted again.
fn read(file: File) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut texts = BufReader::new(file).lines().peekable();
    while let Some(text) = texts.next() {
        match serde_json::from_str(&text?) {
            Ok(line) => lines.push(line),
            Err(_) if texts.peek().is_none() => {}
            Err(error) => return Err(error).context("it is none that this program wrote"),
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(asked: &str) -> Head {
        Head { asked: vec![asked.to_owned()], since: Some(1), until: 2 }
    }

    fn delivery(id: &str) -> Delivery {
        Delivery { id: id.into(), at: None, event_type: "t".into(), headers: Vec::new(), body: bytes::Bytes::new() }
    }

    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("hookledger-journal-{}-{name}", std::process::id()));
            Self(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            drop(std::fs::remove_file(&self.0));
        }
    }

    #[test]
    fn a_replay_is_taken_up_where_it_broke_off_even_within_a_line() {
        let place = Place::new("resume");
        let mut journal = Journal::open(&place.0, head("24h")).unwrap();
        journal.surveyed("f".into(), vec![None, Some("c".into())], 3).unwrap();
        journal.answered(&delivery("a"), Answered::New).unwrap();
        journal.answered(&delivery("b"), Answered::Failed("no route".into())).unwrap();
        let mut file = OpenOptions::new().append(true).open(&place.0).unwrap();
        file.write_all(b"{\"answered\":{\"id\":\"c\",").unwrap();

        let later = Head { since: Some(10), until: 20, ..head("24h") };
        let journal = Journal::open(&place.0, later).unwrap();
        assert!(journal.resumed && journal.is_done("a") && !journal.is_done("b") && !journal.is_done("c"));
        assert_eq!(journal.head, head("24h"), "the first run's times hold");
        assert_eq!(journal.cursors("f").unwrap().len(), 2);
        assert_eq!((journal.expected(), journal.tally.new, journal.tally.failed), (3, 1, 0));
    }

    #[test]
    fn another_question_does_not_continue_it() {
        let place = Place::new("other");
        drop(Journal::open(&place.0, head("24h")).unwrap());
        let refused = Journal::open(&place.0, head("48h")).err().unwrap();
        assert!(refused.to_string().contains("another replay"), "{refused}");
    }

    #[test]
    fn only_a_finished_replay_takes_its_checkpoint_away() {
        let place = Place::new("finish");
        let mut journal = Journal::open(&place.0, head("x")).unwrap();
        journal.answered(&delivery("a"), Answered::Failed("no route".into())).unwrap();
        journal.finish().unwrap();
        assert!(place.0.exists());
        let mut journal = Journal::open(&place.0, head("x")).unwrap();
        journal.answered(&delivery("a"), Answered::Known).unwrap();
        assert_eq!(journal.finish().unwrap().known, 1);
        assert!(!place.0.exists());
    }
}
