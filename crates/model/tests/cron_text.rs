//! Any text is read or refused, and what was read prints itself.

use mainspring_model::Timestamp;
use mainspring_model::cron::{Cron, Zone};
use proptest::prelude::*;

fn check(text: &str, from_ms: i64) {
    let Ok(cron) = Cron::parse(text) else { return };
    let printed = cron.to_string();
    let again = Cron::parse(&printed).unwrap_or_else(|error| panic!("`{text}` prints as `{printed}`: {error}"));
    assert_eq!((&again, again.to_string()), (&cron, printed), "{text}");
    let zone = Zone::parse("America/New_York").expect("a zone");
    let mut last = Timestamp::from_ms(from_ms);
    for fire in cron.fires(&zone, last).take(20) {
        assert!(fire > last, "{text}: {fire} after {last}");
        assert_eq!(again.next(&zone, last), Some(fire), "{text}");
        last = fire;
    }
    let described = cron.describe();
    assert!(!described.en.is_empty() && !described.zh.is_empty(), "{text}");
    cron.warnings(&zone, last);
}

/// What looks like an item of a field.
fn item() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("*".to_owned()),
        2 => Just("?".to_owned()),
        4 => "[0-9]{1,2}",
        2 => "[0-9]{1,2}-[0-9]{1,2}(/[0-9]{1,2})?",
        2 => r"(\*|[0-9])?/[0-9]{1,2}",
        1 => "(SUN|mon|Fri|SAT|JAN|dec)(-(SUN|MON|FRI|FEB|NOV))?(/[1-3])?",
        1 => "L|LW|L-[0-9]{1,2}W?|[0-9]{1,2}W",
        1 => "([0-7]|MON|FRI)(L|#[0-6])",
        1 => "[-0-9*/,LW#?A-Za-z]{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_text_is_read_or_refused(text in any::<String>()) {
        check(&text, 0);
    }

    #[test]
    fn texts_of_the_right_characters_are_read_or_refused(text in r"[ \t@]?[-0-9*/,LW#?A-Z ]{0,60}") {
        check(&text, 1_700_000_000_000);
    }

    #[test]
    fn what_looks_like_an_expression_is_read_or_refused(
        fields in prop::collection::vec(prop::collection::vec(item(), 1..4), 4..9),
        from_ms in 0..4_102_444_800_000_i64,
    ) {
        let fields: Vec<String> = fields.iter().map(|items| items.join(",")).collect();
        check(&fields.join(" "), from_ms);
    }

    #[test]
    fn arbitrary_names_are_zones_or_refused(name in any::<String>()) {
        prop_assert!(Zone::parse(&name).is_err());
    }
}
