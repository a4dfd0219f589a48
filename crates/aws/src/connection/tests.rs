//! Against a server that answers as it is told, on a real socket.

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use crate::connector::Connector;
use crate::roots::Roots;

const REQUEST: &[u8] = b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n";
const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

/// Answers each request with the next of `answers`, in the pieces that they have, and ends a connection behind what is followed by
/// nothing. Gives for each connection how many requests it took.
#[expect(clippy::disallowed_methods, reason = "a server beside the test")]
async fn server(connections: Vec<Vec<Vec<&'static str>>>) -> (Connection, JoinHandle<Vec<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let taken = tokio::spawn(async move {
        let mut taken = Vec::new();
        for answers in connections {
            let (mut stream, _) = listener.accept().await.unwrap();
            taken.push(0);
            for pieces in answers {
                let mut request = [0; REQUEST.len()];
                stream.read_exact(&mut request).await.unwrap();
                assert_eq!(request, REQUEST);
                *taken.last_mut().unwrap() += 1;
                for piece in pieces {
                    stream.write_all(piece.as_bytes()).await.unwrap();
                    tokio::task::yield_now().await;
                }
            }
        }
        taken
    });
    (Connector::new(&Roots::Amazon).unwrap().connection(uri), taken)
}

#[tokio::test]
async fn a_connection_is_kept_behind_a_whole_answer_in_however_many_pieces() {
    let pieces = vec!["HTTP/1.1 503 Slow", " Down\r\ncontent-length:", " 3\r\n", "\r\n", "a", "bc"];
    let (connection, taken) = server(vec![vec![vec![WHOLE], pieces, vec![WHOLE]]]).await;
    for status in [200, 503, 200] {
        assert_eq!(connection.ask(REQUEST).await.unwrap(), status);
    }
    assert_eq!(taken.await.unwrap(), [3]);
}

#[tokio::test]
async fn an_answer_that_ends_in_another_way_counts_and_its_connection_is_not_used_again() {
    for answer in [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nconnection: keep-alive, Close\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 12\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 500 Not asked for\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n",
    ] {
        let (connection, taken) = server(vec![vec![vec![answer]], vec![vec![WHOLE]]]).await;
        for _ in 0..2 {
            assert_eq!(connection.ask(REQUEST).await.unwrap(), 200, "{answer}");
        }
        assert_eq!(taken.await.unwrap(), [1, 1], "{answer}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_an_error_and_nothing_is_sent_twice() {
    for answer in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{", "no HTTP\r\n\r\n"] {
        let (connection, taken) = server(vec![vec![vec![answer]], vec![vec![WHOLE]]]).await;
        connection.ask(REQUEST).await.unwrap_err();
        assert_eq!(connection.ask(REQUEST).await.unwrap(), 200);
        assert_eq!(taken.await.unwrap(), [1, 1]);
    }
}

#[tokio::test]
async fn a_head_without_an_end_is_read_so_far_and_no_further() {
    let endless: &str = ("HTTP/1.1 200 OK\r\nx: ".to_owned() + &"x".repeat(2 * HEAD_BYTES_MAX)).leak();
    let (connection, _taken) = server(vec![vec![vec![endless]]]).await;
    assert_eq!(connection.ask(REQUEST).await.unwrap_err().to_string(), "an answer's head is too long");
}

#[tokio::test]
async fn a_connection_that_ended_meanwhile_is_replaced() {
    let (connection, taken) = server(vec![vec![vec![WHOLE]], vec![vec![WHOLE]]]).await;
    assert_eq!(connection.ask(REQUEST).await.unwrap(), 200);
    // Until its end has come, it looks as if it could be used.
    while let Some(open) = connection.take() {
        connection.keep(open);
        tokio::task::yield_now().await;
    }
    assert_eq!(connection.ask(REQUEST).await.unwrap(), 200);
    assert_eq!(taken.await.unwrap(), [1, 1]);
}

/// Whether the connection is kept is told by how many requests each took.
async fn check_fetched(pieces: Vec<&'static str>, body: &str, is_kept: bool) {
    let connections =
        if is_kept { vec![vec![pieces.clone(), vec![WHOLE]]] } else { vec![vec![pieces.clone()], vec![vec![WHOLE]]] };
    let (connection, taken) = server(connections).await;
    let answer = connection.fetch(REQUEST).await.unwrap();
    assert_eq!((answer.status, answer.header("x-id"), answer.header("x")), (200, Some("1: 2"), None), "{pieces:?}");
    assert_eq!(answer.into_body(), body, "{pieces:?}");
    assert_eq!(connection.ask(REQUEST).await.unwrap(), 200);
    assert_eq!(taken.await.unwrap(), if is_kept { vec![2] } else { vec![1, 1] }, "{pieces:?}");
}

#[tokio::test]
async fn an_answer_is_read_to_its_end_however_that_is_marked() {
    let long: &str = "x".repeat(1 << 20).leak();
    let head = "HTTP/1.1 200 OK\r\nX-Id: 1: 2\r\n";
    let of = |rest: &str| -> &'static str { format!("{head}{rest}").leak() };
    let chunked = of("Transfer-Encoding: Chunked\r\n\r\n");
    check_fetched(vec![of("content-length: 5\r\n\r\nab"), "c", "de"], "abcde", true).await;
    check_fetched(vec![of("content-length: 1048576\r\n\r\n"), long], long, true).await;
    check_fetched(vec![chunked, "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"], "abcde", true).await;
    check_fetched(vec![chunked, "3\r", "\na", "bc\r", "\n0\r\n", "\r\n"], "abc", true).await;
    check_fetched(vec![chunked, "100000\r\n", long, "\r\n1\r\na\r\n0\r\n\r\n"], &format!("{long}a"), true).await;
    check_fetched(vec![chunked, "1 ;x\r\na\r\n00\r\nx: y", "\r\nz:\r\n\r\n"], "a", true).await;
    check_fetched(vec![of("connection: close\r\n\r\na"), "bc"], "abc", false).await;
    check_fetched(vec![of("connection: close\r\ncontent-length: 3\r\n\r\nabc")], "abc", false).await;
    check_fetched(vec![of("content-length: 3\r\n\r\nabcHTTP/1.1 500 Not asked for\r\n\r\n")], "abc", false).await;
    check_fetched(vec![chunked, "1\r\na\r\n0\r\n\r\nHTTP/1.1 500 Not asked for\r\n\r\n"], "a", false).await;
}

#[tokio::test]
async fn an_answer_without_a_body_ends_with_its_head() {
    let (connection, taken) = server(vec![vec![vec!["HTTP/1.1 204 No Content\r\n\r\n"], vec![WHOLE]]]).await;
    let answer = connection.fetch(REQUEST).await.unwrap();
    assert_eq!((answer.status, answer.into_body().len()), (204, 0));
    assert_eq!(connection.fetch(REQUEST).await.unwrap().into_body(), "{}");
    assert_eq!(taken.await.unwrap(), [2]);
}

#[tokio::test]
async fn half_an_answer_is_none() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for rest in [
        "",
        "2\r\na",
        "1\r\na\r\n",
        "1\r\nabc0\r\n\r\n",
        "x\r\n\r\n",
        "ffffffffffffffff\r\n",
        "\r\n",
        "+1\r\na\r\n0\r\n\r\n",
        "1 2\r\na\r\n0\r\n\r\n",
        "1\r\na\r\n0\r\nx: y\r\n",
    ] {
        let (connection, _taken) = server(vec![vec![vec![chunked, rest]]]).await;
        assert!(connection.fetch(REQUEST).await.is_err(), "{rest}");
    }
    let endless: &str = (chunked.to_owned() + &"1".repeat(2 * LINE_BYTES_MAX)).leak();
    let (connection, _taken) = server(vec![vec![vec![endless]]]).await;
    let why = connection.fetch(REQUEST).await.err().unwrap().to_string();
    assert_eq!(why, "a line between an answer's chunks is too long");
    for answer in ["HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab", "HTTP/1.1 200 OK\r\n"] {
        let (connection, _taken) = server(vec![vec![vec![answer]]]).await;
        assert!(connection.fetch(REQUEST).await.is_err(), "{answer}");
    }
}

/// Its status is known all the same.
#[tokio::test]
async fn an_answer_whose_end_is_unclear_is_not_waited_for() {
    for framing in [
        "content-length: x",
        "content-length: +2",
        "content-length: 2, 2",
        "content-length: 2\r\ncontent-length: 3",
        "content-length: 99999999999999999999",
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: gzip\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ntransfer-encoding: gzip",
        "content-length: 2\r\ntransfer-encoding: \u{ff}",
    ] {
        let answer: &str = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{{}}").leak();
        let (connection, taken) = server(vec![vec![vec![answer]], vec![vec![answer]], vec![vec![WHOLE]]]).await;
        assert!(connection.fetch(REQUEST).await.is_err(), "{framing}");
        assert_eq!(connection.ask(REQUEST).await.unwrap(), 200, "{framing}");
        assert_eq!(connection.ask(REQUEST).await.unwrap(), 200, "{framing}");
        assert_eq!(taken.await.unwrap(), [1, 1, 1], "{framing}");
    }
}

#[tokio::test]
async fn what_comes_before_an_answer_is_passed_by() {
    let early = vec!["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early", " Hints\r\nlink: x\r\n\r\n", WHOLE];
    let (connection, taken) = server(vec![vec![early.clone(), early]]).await;
    assert_eq!(connection.fetch(REQUEST).await.unwrap().into_body(), "{}");
    assert_eq!(connection.ask(REQUEST).await.unwrap(), 200);
    assert_eq!(taken.await.unwrap(), [2]);
}

#[tokio::test]
async fn a_header_is_found_beside_one_that_is_no_text() {
    let answer = "HTTP/1.1 200 OK\r\nx-other: \u{ff}\r\nX-Ids: 1\r\nX-Id:2\r\ncontent-length: 0\r\n\r\n";
    let latin: Vec<u8> = answer.chars().map(|c| c as u8).collect();
    let head_bytes = latin.len();
    let answer = Answer { status: 200, head_bytes, bytes: latin };
    assert_eq!(
        ["x-id", "x-ids", "x-other", "x-i", ""].map(|name| answer.header(name)),
        [Some("2"), Some("1"), None, None, None]
    );
}
