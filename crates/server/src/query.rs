//! Strict reading of query parameters: the names that a handler asks for are the known ones.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use mainspring_model::limits::{PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX};
use mainspring_model::refused::Complaints;
use mainspring_model::{Refused, text};

use crate::nearest::complain_unknown;
use crate::problem::Problem;

/// Three numbers of 64 bits.
const CURSOR_BYTES_MAX: usize = 64;

/// The parameters of one request, until they are asked for.
#[derive(Debug)]
pub(crate) struct Params {
    pairs: Vec<(String, String)>,
    known: Vec<&'static str>,
    pub(crate) complaints: Complaints,
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Params, Problem> {
        let bad = |_| Problem::from(Refused::field("query", "NOT_A_QUERY", "the query is not of the form a=1&b=2"));
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map_err(bad)?;
        Ok(Params { pairs, known: Vec::new(), complaints: Complaints::default() })
    }
}

impl Params {
    fn take(&mut self, name: &'static str) -> Vec<String> {
        self.known.push(name);
        let taken: Vec<(String, String)> = self.pairs.extract_if(.., |(key, _)| key == name).collect();
        taken.into_iter().map(|(_, value)| value).collect()
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        let mut values = self.take(name);
        if values.len() > 1 {
            self.complaints.add(name, "REPEATED", format!("{name} is there more than once"));
        }
        let value = values.pop()?;
        if value.contains('\0') {
            self.complaints.add(name, "BAD_CHARACTER", format!("{name} holds a NUL character"));
            return None;
        }
        Some(value)
    }

    pub(crate) fn one<T: FromStr<Err = Refused>>(&mut self, name: &'static str) -> Option<T> {
        let text = self.text(name)?;
        self.complaints.keep(name, text.parse())
    }

    /// A repeatable one.
    pub(crate) fn many<T: FromStr<Err = Refused>>(&mut self, name: &'static str) -> Vec<T> {
        let values = self.take(name);
        values.iter().filter_map(|value| self.complaints.keep(name, value.parse())).collect()
    }

    pub(crate) fn number<T>(&mut self, name: &'static str, low: T, high: T) -> Option<T>
    where
        T: FromStr + PartialOrd + std::fmt::Display + Copy,
    {
        let text = self.text(name)?;
        match text.parse::<T>() {
            Ok(number) if low <= number && number <= high => Some(number),
            Ok(_) => {
                self.complaints.add(name, "OUT_OF_RANGE", format!("{name} is {text}, allowed are {low} to {high}"));
                None
            }
            Err(_) => {
                let shown = text::excerpt(&text, 40);
                self.complaints.add(name, "WRONG_TYPE", format!("`{shown}` is not a whole number"));
                None
            }
        }
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        match self.text(name).as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => {
                self.complaints.add(name, "WRONG_TYPE", format!("{name} is true or false"));
                false
            }
        }
    }

    /// `limit` of a long list.
    pub(crate) fn limit(&mut self) -> u32 {
        self.number("limit", 1, PAGE_SIZE_MAX).unwrap_or(PAGE_SIZE_DEFAULT)
    }

    /// Where a long list goes on. A store that cannot read one would begin anew, and a client's loop would never end.
    pub(crate) fn cursor(&mut self) -> Option<String> {
        let cursor = self.text("cursor")?;
        let ours =
            |text: &str| text.len() <= CURSOR_BYTES_MAX && text.split(':').all(|part| part.parse::<i64>().is_ok());
        if !ours(&cursor) {
            self.complaints.add("cursor", "NOT_A_CURSOR", "cursor is not one that a list answered as nextCursor");
            return None;
        }
        Some(cursor)
    }

    /// What is left was never asked for.
    pub(crate) fn finish(mut self) -> Result<(), Refused> {
        for (name, _) in &self.pairs {
            complain_unknown(&mut self.complaints, "UNKNOWN_PARAMETER", name, &self.known);
        }
        self.complaints.into_result()
    }
}

/// For routes that take no parameter at all.
#[derive(Debug)]
pub(crate) struct NoParams;

impl<S: Send + Sync> FromRequestParts<S> for NoParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<NoParams, Problem> {
        if parts.uri.query().is_none_or(str::is_empty) {
            return Ok(NoParams);
        }
        Params::from_request_parts(parts, state).await?.finish()?;
        Ok(NoParams)
    }
}
