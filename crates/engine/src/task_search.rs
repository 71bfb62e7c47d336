//! Which tasks a person looks for.

use mainspring_model::Task;
use mainspring_store::TaskFilter;

/// Those that the filter lets through.
pub(crate) fn filter(tasks: impl Iterator<Item = Task>, filter: &TaskFilter) -> Vec<Task> {
    let wanted = filter.text.as_deref().map(str::to_lowercase);
    let fits = |task: &Task| {
        filter.kind.is_none_or(|kind| task.definition.kind == kind)
            && filter.pool.as_ref().is_none_or(|pool| task.definition.pool == *pool)
            && filter.tag.as_ref().is_none_or(|tag| task.definition.tags.contains(tag))
            && wanted.as_deref().is_none_or(|text| mentions(task, text))
    };
    tasks.filter(fits).collect()
}

/// Every word of the text occurs in the code, the name, the owner or a tag, as a whole or with gaps between its letters:
/// `rpdl` finds `report.daily`.
fn mentions(task: &Task, text: &str) -> bool {
    let definition = &task.definition;
    let places = [task.code.as_str(), &definition.name, definition.owner.as_deref().unwrap_or("")];
    let places: Vec<String> =
        places.into_iter().chain(definition.tags.iter().map(String::as_str)).map(str::to_lowercase).collect();
    text.split_whitespace().all(|word| places.iter().any(|place| occurs(word, place)))
}

fn occurs(word: &str, place: &str) -> bool {
    if place.contains(word) {
        return true;
    }
    // Two letters with gaps occur everywhere.
    let mut letters = place.chars();
    word.chars().count() >= GAPPED_CHARS_MIN && word.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

const GAPPED_CHARS_MIN: usize = 3;

#[cfg(test)]
mod tests {
    use super::occurs;

    #[test]
    fn words_are_found_with_gaps() {
        let check = |word, place, expect| assert_eq!(occurs(word, place), expect, "{word} in {place}");
        check("daily", "report.daily", true);
        check("rpdl", "report.daily", true);
        check("dlrp", "report.daily", false);
        check("rd", "report.daily", false);
        check("日报", "销售日报", true);
    }
}
