//! What may be stored as a payload: JSON, bounded in size and depth.

use crate::limits;
use crate::refused::{Code, Refused};

/// One pass, no recursion: a payload that would overflow a recursive reader is refused here.
pub fn check(text: &str) -> Result<(), Refused> {
    if text.len() > limits::PAYLOAD_BYTES_MAX {
        let detail =
            format!("the payload has {} bytes, at most {} are accepted", text.len(), limits::PAYLOAD_BYTES_MAX);
        return Err(
            Refused::new(Code::PayloadTooLarge, detail).hint("store the data elsewhere and pass a reference to it")
        );
    }
    let depth = depth(text);
    if depth > limits::PAYLOAD_DEPTH_MAX {
        let detail = format!("the payload is nested {depth} deep, at most {} are accepted", limits::PAYLOAD_DEPTH_MAX);
        return Err(Refused::field("payload", "TOO_DEEP", detail));
    }
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        return Err(Refused::field("payload", "NOT_JSON", format!("the payload is not JSON: {error}")));
    }
    if holds_lone_surrogate(text) {
        let detail = "the payload holds half of a surrogate pair (\\ud800 to \\udfff), which is no character";
        return Err(Refused::field("payload", "NOT_TEXT", detail));
    }
    if holds_nul(text) {
        let detail = "the payload holds a NUL character, which not every database can store";
        return Err(Refused::field("payload", "NUL", detail));
    }
    Ok(())
}

/// `\u0000` in JSON that has been read: one whose backslash is escaped itself (`\\u0000`) is six harmless characters.
fn holds_nul(text: &str) -> bool {
    let is_escape = |(at, _): (usize, &str)| {
        let backslashes = text.as_bytes()[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        backslashes % 2 == 0
    };
    text.contains('\0') || text.match_indices("\\u0000").any(is_escape)
}

/// An escape such as `\ud83d` that its other half does not follow: readers in many languages fail at it.
fn holds_lone_surrogate(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at..];
        let unit = code_unit(escape);
        let taken = match unit {
            Some(0xd800..=0xdbff) => match escape.get(6..).and_then(code_unit) {
                Some(0xdc00..=0xdfff) => 12,
                _ => return true,
            },
            Some(0xdc00..=0xdfff) => return true,
            Some(_) => 6,
            None => 2,
        };
        rest = escape.get(taken..).unwrap_or("");
    }
    false
}

fn code_unit(escape: &str) -> Option<u32> {
    u32::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_bounded_json() {
        let check_code = |text: &str, expect: &str| {
            let seen = match check(text) {
                Ok(()) => "ok",
                Err(refused) => refused.errors.first().map_or(refused.code.as_str(), |error| error.code),
            };
            assert_eq!(seen, expect, "{}", crate::text::excerpt(text, 60));
        };
        check_code("{}", "ok");
        check_code("null", "ok");
        check_code(r#"{"brackets in text": "[[[[[[\"{{{{"}"#, "ok");
        check_code("", "NOT_JSON");
        check_code(r#""\ud83d\ude00""#, "ok");
        check_code(r#""\\ud800""#, "ok");
        check_code(r#""\ud800""#, "NOT_TEXT");
        check_code(r#""\ud800\u0041""#, "NOT_TEXT");
        check_code(r#"{"\udc00": 1}"#, "NOT_TEXT");
        check_code("{", "NOT_JSON");
        check_code("{} {}", "NOT_JSON");
        check_code(r#""\u0000""#, "NUL");
        check_code(r#""\\u0000""#, "ok");
        check_code(r#""\\\u0000""#, "NUL");
        check_code(r#""\\u0000\\\u0000""#, "NUL");
        check_code(r#""\\u0000 \\\\u0000""#, "ok");
        check_code(r#"{"a\u0000": 1}"#, "NUL");
        check_code("\"\0\"", "NOT_JSON");
        check_code(&("[".repeat(64) + &"]".repeat(64)), "ok");
        check_code(&("[".repeat(65) + &"]".repeat(65)), "TOO_DEEP");
        check_code(&"[".repeat(200_000), "TOO_DEEP");
        check_code(&format!("\"{}\"", "x".repeat(limits::PAYLOAD_BYTES_MAX)), "PAYLOAD_TOO_LARGE");
    }
}
