//! A provider's API that gives the same answer to the same request.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};

use hookledger_harness::http::{Answer, Request, serve};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

type Admits = Box<dyn Fn(&Request) -> bool + Send + Sync>;

#[derive(Default)]
pub(crate) struct Canned {
    /// `GET /path?query` or `POST /path`, and what it is answered; `{api}` in an answer is where this is served.
    answers: Vec<(String, u16, String, String)>,
    otherwise: Option<(u16, String)>,
    asked: Mutex<Vec<String>>,
    /// Whether a request may be answered.
    admits: Option<Admits>,
}

impl Canned {
    /// Answers 401 without this header.
    pub(crate) fn behind(name: &str, value: &str) -> Self {
        let (name, value) = (name.to_owned(), value.to_owned());
        Self::admitting(move |request| request.header(&name) == Some(value.as_str()))
    }

    /// Answers 401 to all others.
    pub(crate) fn admitting(admits: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        Self { admits: Some(Box::new(admits)), ..Self::default() }
    }

    pub(crate) fn answer(self, request: &str, status: u16, body: impl ToString) -> Self {
        self.answer_with_link(request, status, body, "")
    }

    pub(crate) fn answer_with_link(mut self, request: &str, status: u16, body: impl ToString, link: &str) -> Self {
        self.answers.push((request.to_owned(), status, body.to_string(), link.to_owned()));
        self
    }

    /// What every other request is answered.
    pub(crate) fn otherwise(self, status: u16, body: impl ToString) -> Self {
        Self { otherwise: Some((status, body.to_string())), ..self }
    }

    pub(crate) async fn serve(self, servers: &mut JoinSet<()>) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let canned = Arc::new(self);
        let (serving, api) = (canned.clone(), url.clone());
        servers.spawn(serve(listener, move |request| {
            let answer = serving.look_up(&request, &api);
            async move { Some(answer) }
        }));
        (canned, url)
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn look_up(&self, request: &Request, api: &str) -> Answer {
        let asked = format!("{} {}", request.method, request.target);
        self.asked.lock().unwrap().push(asked.clone());
        if !self.admits.as_ref().is_some_and(|admits| admits(request)) {
            return Answer::new(401, r#"{"message":"Bad credentials"}"#);
        }
        match self.answers.iter().find(|(known, ..)| *known == asked) {
            Some((_, status, body, link)) => {
                let answer = Answer::new(*status, body.replace("{api}", api));
                if link.is_empty() { answer } else { answer.header("link", link.replace("{api}", api)) }
            }
            None if let Some((status, body)) = &self.otherwise => Answer::new(*status, body.clone()),
            None => Answer::new(404, format!(r#"{{"message":"nothing at {asked}"}}"#)),
        }
    }
}
