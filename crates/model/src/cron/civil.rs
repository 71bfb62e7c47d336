//! Days and dates of the Gregorian calendar, as numbers.

pub(super) const DAY_S: i64 = 86_400;

/// A month, as far as its days are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Month {
    pub(super) days: u32,
    /// The weekday of its first day, 0 for Sunday.
    pub(super) first_weekday: u32,
}

/// Days since 1970-01-01 of a date. Years are counted from March, so that the leap day comes last.
pub(super) const fn days_of(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month as i64 + 9) % 12) + 2) / 5 + day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date of a count of days since 1970-01-01.
pub(super) const fn date_of(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * from_march + 2) / 5 + 1) as u32;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 } as u32;
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

pub(super) const fn days_in(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

impl Month {
    pub(super) const fn of(year: i64, month: u32) -> Month {
        // 1970-01-01 was a Thursday.
        let first_weekday = (days_of(year, month, 1) + 4).rem_euclid(7) as u32;
        Month { days: days_in(year, month), first_weekday }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let mut date = Date::constant(1969, 1, 1);
        for days in days_of(1969, 1, 1)..=days_of(2200, 12, 31) {
            let (year, month, day) = (i64::from(date.year()), date.month() as u32, date.day() as u32);
            assert_eq!((date_of(days), days_of(year, month, day)), ((year, month, day), days), "{date}");
            let shape = Month::of(year, month);
            let weekday = (shape.first_weekday + day - 1) % 7;
            assert_eq!(weekday, date.weekday().to_sunday_zero_offset() as u32, "{date}");
            assert_eq!(shape.days, date.days_in_month() as u32, "{date}");
            date = date.tomorrow().expect("before the year 9999");
        }
    }
}
