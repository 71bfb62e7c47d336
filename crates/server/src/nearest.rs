//! "Did you mean": the known name next to an unknown one.

use mainspring_model::refused::Complaints;
use mainspring_model::text;

pub(crate) fn complain_unknown(complaints: &mut Complaints, code: &'static str, name: &str, known: &[&'static str]) {
    let shown = text::excerpt(name, 40);
    let advice = match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "none is known here".to_owned(),
        None => format!("known are {}", known.join(", ")),
    };
    complaints.add(&shown, code, format!("`{shown}` is not known; {advice}"));
}

/// The known name that a slip of the fingers or another habit of writing leads to.
fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let plain = |text: &str| -> Vec<char> {
        text.chars().take(40).filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
    };
    let name = plain(name);
    let distances = known.iter().map(|candidate| (distance(&name, &plain(candidate)), *candidate));
    distances.filter(|(far, _)| *far <= 2 && *far < name.len()).min().map(|(_, candidate)| candidate)
}

/// Levenshtein.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_or_none() {
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(nearest(name, &["task", "bizId", "executeTime", "maxRetry"]), expect, "{name}");
        };
        check("taks", Some("task"));
        check("biz_id", Some("bizId"));
        check("BIZID", Some("bizId"));
        check("execute_time", Some("executeTime"));
        check("colour", None);
        check("x", None);
        check("", None);
        check(&"task".repeat(10_000), None);
    }
}
