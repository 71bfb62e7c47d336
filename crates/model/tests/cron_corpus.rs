//! Every row of `corpus/cron.tsv`: expected fires and refusals, most of them confirmed by several implementations.
//!
//! Columns: id, expression (`\t` and `\n` stand for the characters, blanks count), dialect, zone, start, expected
//! (up to 5 instants with `;` between; `END` when there are no more; `NEVER`; `INVALID:<class>`), source.

use mainspring_model::cron::{Class, Cron, CronError, Start, Zone};

struct Row<'a> {
    id: &'a str,
    expression: String,
    dialect: &'a str,
    zone: &'a str,
    start: &'a str,
    expected: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let mut rows = Vec::new();
    for line in include_str!("corpus/cron.tsv").lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, expression, dialect, zone, start, expected, _source] = columns[..] else { panic!("{line}") };
        let expression = expression.replace("\\t", "\t").replace("\\n", "\n");
        rows.push(Row { id, expression, dialect, zone, start, expected });
    }
    rows
}

fn answer(row: &Row<'_>) -> Result<String, CronError> {
    let cron = Cron::parse(&row.expression)?;
    let zone = Zone::parse(row.zone)?;
    assert_eq!(cron.dialect().as_str(), row.dialect.replace("macro", "crontab"), "{}", row.id);
    assert_eq!(Cron::parse(&cron.to_string()).as_ref(), Ok(&cron), "{}: {cron}", row.id);
    let start: Start = row.start.parse().expect(row.id);
    let mut fires: Vec<String> = cron.fires(&zone, start).take(5).map(|fire| zone.show(fire)).collect();
    if fires.is_empty() {
        return Ok("NEVER".to_owned());
    }
    if fires.len() < 5 {
        fires.push("END".to_owned());
    }
    Ok(fires.join(";"))
}

#[test]
fn the_corpus_is_answered_to_the_letter() {
    let mut wrong = Vec::new();
    let rows = rows();
    assert!(rows.len() > 800);
    for row in &rows {
        let seen = answer(row).unwrap_or_else(|error| format!("INVALID:{}", error.class));
        if seen != row.expected {
            wrong.push(format!(
                "{} `{}` {}\n  seen   {seen}\n  wanted {}",
                row.id, row.expression, row.zone, row.expected
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn an_error_names_its_field_and_its_place() {
    for row in rows().iter().filter(|row| row.expected.starts_with("INVALID")) {
        let Err(error) = answer(row) else { continue };
        let chars = row.expression.chars().count();
        assert!(error.position >= 1, "{}", row.id);
        assert!(error.class == Class::Zone || error.position <= chars + 1, "{}: {error:?}", row.id);
        let of_field = !matches!(
            error.class,
            Class::Empty | Class::TooLong | Class::Charset | Class::Macro | Class::FieldCount | Class::Zone
        );
        assert_eq!(error.field.is_some(), of_field, "{}: {error:?}", row.id);
    }
}
