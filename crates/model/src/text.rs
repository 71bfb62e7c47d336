//! Cutting text without breaking it.

/// At most `max_chars` characters; what is cut is marked with an ellipsis.
pub fn excerpt(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some(_) => {
            let kept = text.char_indices().nth(max_chars.saturating_sub(1)).map_or(0, |(at, _)| at);
            format!("{}…", &text[..kept])
        }
    }
}

/// Text that every store and every terminal can hold: NUL, which PostgreSQL refuses, is shown as a symbol.
pub fn storable(text: &str) -> String {
    if text.contains('\0') { text.replace('\0', "␀") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_end_on_characters() {
        assert_eq!(excerpt("任务很多", 3), "任务…");
        assert_eq!(excerpt("abc", 3), "abc");
        assert_eq!(excerpt("", 0), "");
        assert_eq!(storable("a\0b"), "a␀b");
    }
}
