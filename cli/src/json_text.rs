//! JSON made readable. Invariant: only white space between tokens changes; numbers, order and escapes stay as they were sent.

/// `text` with a line for each member and item. What is not JSON comes out as something just as unreadable.
pub(crate) fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut tokens = text.chars().peekable();
    while let Some(c) = tokens.next() {
        if in_string {
            out.push(c);
            (in_string, escaped) = match c {
                _ if escaped => (true, false),
                '\\' => (true, true),
                '"' => (false, false),
                _ => (true, false),
            };
            continue;
        }
        match c {
            ' ' | '\n' | '\r' | '\t' => {}
            '{' | '[' => {
                while tokens.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                let close = if c == '{' { '}' } else { ']' };
                out.push(c);
                if tokens.next_if_eq(&close).is_some() {
                    out.push(close);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// Deeper than this is not indented further: a body of brackets must not become one of spaces.
fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(40)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_white_space_changes() {
        let text = r#"{"b":1e400000,"a":[1, {} ,"x\"{,}:"],"c":[ ]}"#;
        let shown = "{\n  \"b\": 1e400000,\n  \"a\": [\n    1,\n    {},\n    \"x\\\"{,}:\"\n  ],\n  \"c\": []\n}";
        assert_eq!(indented(text), shown);
        assert_eq!(indented(shown), shown);
    }

    #[test]
    fn a_body_of_brackets_stays_small() {
        assert!(indented(&"[".repeat(100_000)).len() < 100_000 * 83);
    }
}
