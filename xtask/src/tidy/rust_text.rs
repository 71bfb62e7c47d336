//! Rust source, far enough taken apart to tell code from comments and texts, and to find the ends of functions.

/// Two texts of the length of the source, line by line alike: what is not of the kind is blank.
#[derive(Debug)]
pub(super) struct Parts {
    /// Without comments, and without the contents of texts and characters.
    pub(super) code: String,
    pub(super) comments: String,
}

pub(super) fn split(source: &str) -> Parts {
    let bytes = source.as_bytes();
    let mut code = blank(bytes);
    let mut comments = code.clone();
    let mut at = 0;
    while at < bytes.len() {
        let (kind, end) = next_piece(bytes, at);
        match kind {
            Piece::Code => code[at..end].copy_from_slice(&bytes[at..end]),
            Piece::Comment => comments[at..end].copy_from_slice(&bytes[at..end]),
            Piece::Text => {}
        }
        at = end;
    }
    let to_text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Parts { code: to_text(code), comments: to_text(comments) }
}

enum Piece {
    Code,
    Comment,
    /// A text or a character.
    Text,
}

fn blank(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }).collect()
}

fn next_piece(bytes: &[u8], at: usize) -> (Piece, usize) {
    let rest = &bytes[at..];
    let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    if rest.starts_with(b"//") {
        (Piece::Comment, at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()))
    } else if rest.starts_with(b"/*") {
        (Piece::Comment, at + block_comment(rest))
    } else if let Some(length) = raw_text(rest).filter(|_| !in_word) {
        (Piece::Text, at + length)
    } else if rest[0] == b'"' {
        (Piece::Text, at + quoted(rest, b'"'))
    } else if rest[0] == b'\'' && is_character(rest) {
        (Piece::Text, at + quoted(rest, b'\''))
    } else {
        (Piece::Code, at + 1)
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of `r"…"`, `r#"…"#`, `br#"…"#`.
fn raw_text(rest: &[u8]) -> Option<usize> {
    let prefix = if rest.starts_with(b"r") {
        1
    } else if rest.starts_with(b"br") {
        2
    } else {
        return None;
    };
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.extend(std::iter::repeat_n(b'#', hashes));
    let body = &rest[open + 1..];
    let end = body.windows(close.len()).position(|window| window == close).map_or(body.len(), |at| at + close.len());
    Some(open + 1 + end)
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `'a'` and `'\n'`, but not the lifetime `'a`.
fn is_character(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(first) => {
            let width = match first {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                0xf0.. => 4,
            };
            rest.get(1 + width) == Some(&b'\'')
        }
        None => false,
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Of `fn`, from 1.
    pub(super) line: usize,
    /// From `fn` to the closing brace.
    pub(super) lines: usize,
}

/// All functions with a body. `code` has no comments and no texts.
pub(super) fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if let Some(end) = body_end(&code[at..]).filter(|_| !name.is_empty()) {
            let line = code[..at].matches('\n').count() + 1;
            let lines = code[at..at + end].matches('\n').count() + 1;
            found.push(Function { name, line, lines });
        }
    }
    found
}

/// Behind the brace that closes the first body; `None` for a declaration without one.
fn body_end(code: &str) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            '{' => braces += 1,
            '}' if braces <= 1 => return Some(at + 1),
            '}' => braces -= 1,
            ';' if braces == 0 && brackets == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The words that the compiler sees as names, with their lines.
pub(super) fn names(code: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(code.lines()).flat_map(|(number, line)| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .map(move |word| (number, word))
    })
}

/// As a whole word, wherever it stands.
pub(super) fn holds_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let joined = |c: char| c.is_alphanumeric() || c == '_';
        !text[..at].ends_with(joined) && !text[at + word.len()..].starts_with(joined)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_comments_are_not_code() {
        let check = |source: &str, code: &str, comments: &str| {
            let parts = split(source);
            assert_eq!(parts.code.split_whitespace().collect::<Vec<_>>().join(" "), code, "{source}");
            assert_eq!(parts.comments.trim(), comments, "{source}");
            assert_eq!(parts.code.len(), source.len());
        };
        check("a /* { /* x */ } */ b", "a b", "/* { /* x */ } */");
        check("a(\"{ \\\" //\") // it's", "a( )", "// it's");
        check("x(r#\"{ \" \"#, '{', '\\'', b'}')", "x( , , , b )", "");
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}", "");
        check("let c = 'é'; let d = '日';", "let c = ; let d = ;", "");
    }

    #[test]
    fn functions_are_measured() {
        let source = "trait T { fn declared(x: [u8; 3]); }\nfn one() {\n    \"}\";\n}\nasync fn two<T>(\n  a: T,\n) -> T {\n if x { y }\n z\n}\n";
        let found = functions(&split(source).code);
        let seen: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(seen, [("one", 2, 3), ("two", 5, 6)]);
    }
}
