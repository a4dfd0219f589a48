//! As much of Redis's protocol (RESP 2, redis.io/docs/latest/develop/reference/protocol-spec) as the hint speaks: a command
//! as an array of strings, and an answer of one line.
//!
//! The `redis` crate would bring eight crates more for two commands.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Longest answer in bytes that is read: every answer to our commands is shorter.
const LINE_BYTES_MAX: u64 = 512;

#[derive(Debug)]
pub(crate) struct Connection(BufReader<TcpStream>);

/// An answer of one line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// `+OK`.
    Status,
    /// `:1`.
    Integer(i64),
}

impl Connection {
    pub(crate) async fn open(host: &str, port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Any error, Redis's own included, leaves the connection in no known state: drop it.
    pub(crate) async fn call(&mut self, command: &[&str]) -> io::Result<Reply> {
        self.0.write_all(&encode(command)).await?;
        let mut line = Vec::new();
        (&mut self.0).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
        decode(&line).ok_or_else(|| io::Error::other("redis did not answer as expected"))
    }
}

/// Strings go with their length before them, so that nothing in a key can end it early.
fn encode(command: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
    for word in command {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn decode(line: &[u8]) -> Option<Reply> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix("\r\n")?;
    match line.split_at_checked(1)? {
        ("+", "OK") => Some(Reply::Status),
        (":", number) => number.parse().ok().map(Reply::Integer),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_cannot_smuggle_a_command() {
        let bytes = encode(&["EXISTS", "a\r\nFLUSHALL\r\n"]);
        assert_eq!(bytes, b"*2\r\n$6\r\nEXISTS\r\n$13\r\na\r\nFLUSHALL\r\n\r\n");
    }

    #[test]
    fn only_whole_and_expected_lines_are_answers() {
        assert_eq!(decode(b"+OK\r\n"), Some(Reply::Status));
        assert_eq!(decode(b":1\r\n"), Some(Reply::Integer(1)));
        for bad in [&b""[..], b"\r\n", b"+OK", b":1", b":x\r\n", b"-ERR no\r\n", b"+QUEUED\r\n", b"$1\r\n", b"\xff\r\n"] {
            assert_eq!(decode(bad), None);
        }
    }
}
