//! An HTTP proxy before the queue's endpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::http::{Answer, Request, serve};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqsFault {
    None,
    /// The connection is closed instead of an answer, and nothing is done.
    Refuse,
    /// It is done after this time.
    Delay(Duration),
    /// A send is done twice, so that there are two messages.
    Repeat,
    /// It is done, and the connection closed instead of an answer.
    DropAnswer,
}

pub struct SqsProxy {
    port: u16,
    orders: Arc<Orders>,
    _server: JoinSet<()>,
}

struct Orders {
    endpoint: String,
    http: reqwest::Client,
    fault: watch::Sender<SqsFault>,
    sends: AtomicU64,
}

impl SqsProxy {
    /// Before `endpoint`, such as `http://127.0.0.1:4566`. Needs a tokio runtime that goes on while it is used.
    pub async fn start(endpoint: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen before the queue")?;
        let port = listener.local_addr()?.port();
        let orders = Arc::new(Orders {
            endpoint: endpoint.to_owned(),
            http: reqwest::Client::builder().pool_max_idle_per_host(0).build()?,
            fault: watch::Sender::new(SqsFault::None),
            sends: AtomicU64::new(0),
        });
        let (mut server, served) = (JoinSet::new(), orders.clone());
        server.spawn(serve(listener, move |request| {
            let orders = served.clone();
            async move { orders.answer(&request).await }
        }));
        Ok(Self { port, orders, _server: server })
    }

    /// The value for `AWS_ENDPOINT_URL`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn set(&self, fault: SqsFault) {
        self.orders.fault.send_replace(fault);
    }

    /// How many calls to send something have come in, each try of a client counted.
    pub fn sends(&self) -> u64 {
        self.orders.sends.load(Ordering::SeqCst)
    }
}

impl Orders {
    async fn answer(&self, request: &Request) -> Option<Answer> {
        let is_send = request.header("x-amz-target").is_some_and(|target| target.contains(".SendMessage"));
        self.sends.fetch_add(u64::from(is_send), Ordering::SeqCst);
        let fault = *self.fault.borrow();
        match fault {
            SqsFault::None => {}
            SqsFault::Refuse => return None,
            SqsFault::Delay(wait) => tokio::time::sleep(wait).await,
            SqsFault::Repeat if is_send => drop(self.forward(request).await),
            SqsFault::Repeat => {}
            SqsFault::DropAnswer => {
                let _lost = self.forward(request).await;
                return None;
            }
        }
        self.forward(request).await.ok()
    }

    async fn forward(&self, request: &Request) -> reqwest::Result<Answer> {
        let mut call = match request.method.as_str() {
            "GET" => self.http.get(format!("{}{}", self.endpoint, request.target)),
            _ => self.http.post(format!("{}{}", self.endpoint, request.target)).body(request.body.clone()),
        };
        for (name, value) in &request.headers {
            if name == "content-type" || name == "authorization" || name.starts_with("x-amz") {
                call = call.header(name, value);
            }
        }
        let response = call.send().await?;
        let mut answer = Answer::new(response.status().as_u16(), "");
        for name in ["content-type", "x-amzn-requestid", "x-amzn-query-error"] {
            if let Some(value) = response.headers().get(name).and_then(|value| value.to_str().ok()) {
                answer = answer.header(name, value);
            }
        }
        answer.body = response.bytes().await?;
        Ok(answer)
    }
}
