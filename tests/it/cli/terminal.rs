//! The program on a terminal, a pseudo-terminal of `script`: questions, secrets that are typed, colour and progress.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Stdio;
use std::time::Duration;

use hookledger_harness::built;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::replay::fake_stripe::{FakeStripe, KEY, event, five_minute_mark};
use super::replay::front::{Front, TOKEN};
use super::scene::Cli;
use crate::ground::Ground;

const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// Somebody at a terminal.
struct Typist {
    program: Child,
    shown: String,
    /// As far as what was waited for.
    seen: usize,
}

impl Typist {
    fn start(cli: &Cli, arguments: &str) -> Self {
        // Without a shell in between, which would end by the signal of a Ctrl-C itself.
        let program = format!("exec '{}' {arguments}", built("hookledger").unwrap().display());
        let mut script = Command::new("/usr/bin/script");
        script.args(["--quiet", "--return", "--flush", "--command", &program, "/dev/null"]);
        script.env_clear().envs(cli.variables().iter().cloned()).env("TERM", "xterm").env("SHELL", "/bin/sh");
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        Self { program: script.spawn().expect("script, of util-linux, to be installed"), shown: String::new(), seen: 0 }
    }

    /// Reads on until this is shown, after what was waited for before.
    async fn sees(&mut self, text: &str) {
        let reading = async {
            loop {
                if let Some(at) = self.shown[self.seen..].find(text) {
                    self.seen += at + text.len();
                    return;
                }
                let mut bytes = [0; 4_096];
                let read = self.program.stdout.as_mut().unwrap().read(&mut bytes).await.unwrap();
                assert!(read > 0, "{text:?} never came: {}", self.shown);
                self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        };
        if timeout(SHOWN_WITHIN, reading).await.is_err() {
            panic!("{text:?} is not shown: {}", self.shown);
        }
    }

    /// Types a secret where it is asked for, once it is not shown any more: a terminal shows what comes before.
    async fn types_secretly(&mut self, question: &str, secret: &str) {
        self.sees(question).await;
        let script = self.program.id().unwrap();
        let is_hidden = || {
            let asking = std::fs::read_to_string(format!("/proc/{script}/task/{script}/children")).unwrap();
            let stdin = std::fs::read_link(format!("/proc/{}/fd/0", asking.trim())).unwrap();
            let stty = std::process::Command::new("stty").arg("-F").arg(stdin).arg("-a").output().unwrap();
            String::from_utf8_lossy(&stty.stdout).contains(" -echo ")
        };
        let hidden = async {
            while !is_hidden() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(SHOWN_WITHIN, hidden).await.unwrap();
        self.types(&format!("{secret}\n")).await;
    }

    async fn types(&mut self, text: &str) {
        self.program.stdin.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    /// The rest of what is shown, and the exit code.
    async fn ends(mut self) -> (String, i32) {
        let mut rest = Vec::new();
        timeout(SHOWN_WITHIN, self.program.stdout.as_mut().unwrap().read_to_end(&mut rest)).await.unwrap().unwrap();
        self.shown.push_str(&String::from_utf8_lossy(&rest));
        (self.shown, self.program.wait().await.unwrap().code().unwrap())
    }
}

#[tokio::test]
async fn nothing_changes_unless_the_question_is_answered_with_yes() {
    let mut ground = Ground::new("cli_asks").await;
    ground.dead_letter("evt_1", "boom").await;
    let cli = Cli::on(&ground);
    for (answer, code, status) in [("n\n", 1, "(dead_letter)"), ("\n", 1, "(dead_letter)"), ("y\n", 0, "(claimed)")] {
        let mut typist = Typist::start(&cli, "events retry evt_1");
        typist.sees("1 event will be processed again").await;
        typist.sees("Go ahead? [y/N]").await;
        typist.types(answer).await;
        let (shown, ended) = typist.ends().await;
        assert_eq!(ended, code, "{answer:?}: {shown}");
        ground.check_read("SELECT status FROM webhook_event", status).await;
    }
}

#[tokio::test]
async fn colour_is_for_terminals_and_never_against_no_color() {
    let mut ground = Ground::new("cli_colour").await;
    ground.dead_letter("evt_1", "boom").await;
    let (shown, _) = Typist::start(&Cli::on(&ground), "events list").ends().await;
    assert!(shown.contains("\x1b[31mdead_letter"), "{shown:?}");
    let (shown, _) = Typist::start(&Cli::on(&ground).and("NO_COLOR", "1"), "events list").ends().await;
    assert!(shown.contains("dead_letter") && !shown.contains('\x1b'), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_asked_for_without_being_shown_and_ctrl_c_keeps_what_is_done() {
    let mut front = Front::new("typed").await;
    let start = five_minute_mark() - 3_600;
    let events = (0..40).map(|n| event(&format!("evt_{n}"), start + n)).collect();
    let api = std::sync::Arc::new(FakeStripe::of(events)).serve(&mut front.servers).await;
    let (to, checkpoint) = (front.url.clone(), front.path("checkpoint"));
    let replay =
        format!("replay stripe --since 2h --to {to} --api {api} --rate 1000 --concurrency 1 --checkpoint {checkpoint}");
    let nobody = Cli::with(&[]);
    front.let_through(15);
    let mut typist = Typist::start(&nobody, &replay);
    typist.types_secretly("(STRIPE_API_KEY): ", KEY).await;
    typist.types_secretly("(REPLAY_TOKEN): ", TOKEN).await;
    typist.sees("of 40 posted").await;
    front.until_answered(&checkpoint, 15).await;
    typist.types("\x03").await;
    let (shown, code) = typist.ends().await;
    assert!(code == 1 && shown.contains("interrupted; the same command goes on from here"), "{code} {shown}");
    assert!(!shown.contains(KEY) && !shown.contains(TOKEN), "{shown}");

    front.let_all_through();
    let cli = Cli::with(&[("STRIPE_API_KEY", KEY), ("REPLAY_TOKEN", TOKEN)]);
    let (shown, code) = Typist::start(&cli, &replay).ends().await;
    assert!(code == 0 && shown.contains("going on from") && shown.contains("40 events recovered"), "{shown}");
    assert_eq!(front.count("via = 'replay'").await, 40);
}
