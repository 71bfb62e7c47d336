//! Strict reading of bodies.
//!
//! A body is split into its members without looking into them (`RawValue`: no recursion, so depth is harmless), then
//! each member is read by the name that the handler asks for. What was never asked for is unknown and refused, with
//! the nearest name that was. All complaints are told at once.

use std::borrow::Cow;
use std::fmt;

use mainspring_model::refused::Complaints;
use mainspring_model::{Refused, payload};
use serde::de::{self, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::from_json::FromJson;
use crate::nearest::complain_unknown;

/// The members of one JSON object, until they are asked for.
pub(crate) struct Fields<'a> {
    members: Vec<(Cow<'a, str>, Option<&'a RawValue>)>,
    known: Vec<&'static str>,
    pub(crate) complaints: Complaints,
}

/// What a body says of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Given<T> {
    Absent,
    Null,
    Value(T),
}

impl<T> Given<T> {
    /// What becomes of a value that can be absent.
    pub(crate) fn or_stay(self, now: Option<T>) -> Option<T> {
        match self {
            Given::Absent => now,
            Given::Null => None,
            Given::Value(value) => Some(value),
        }
    }
}

impl<'a> Fields<'a> {
    pub(crate) fn of(body: &'a [u8]) -> Result<Fields<'a>, Refused> {
        let text = utf8(body)?;
        let members: Members<'a> = serde_json::from_str(text).map_err(|error| {
            let code = if error.is_data() { "NOT_AN_OBJECT" } else { "NOT_JSON" };
            Refused::field("body", code, format!("the body is not a JSON object: {error}"))
        })?;
        Ok(Fields { members: members.0, known: Vec::with_capacity(12), complaints: Complaints::default() })
    }

    /// For operations that need nothing said.
    pub(crate) fn of_optional(body: &'a [u8]) -> Result<Fields<'a>, Refused> {
        if body.is_empty() { Fields::of(b"{}") } else { Fields::of(body) }
    }

    fn take(&mut self, name: &'static str) -> Option<&'a RawValue> {
        self.known.push(name);
        let mut found = None;
        for (_, value) in self.members.iter_mut().filter(|(key, value)| key == name && value.is_some()) {
            if found.is_some() {
                self.complaints.add(name, "REPEATED", format!("{name} is there more than once"));
            }
            found = value.take();
        }
        found
    }

    pub(crate) fn given<T: FromJson>(&mut self, name: &'static str) -> Given<T> {
        match self.take(name).map(RawValue::get) {
            None => Given::Absent,
            Some("null") => Given::Null,
            Some(raw) => self.complaints.keep(name, T::from_json(raw)).map_or(Given::Absent, Given::Value),
        }
    }

    /// Null is as good as absent.
    pub(crate) fn optional<T: FromJson>(&mut self, name: &'static str) -> Option<T> {
        match self.given(name) {
            Given::Value(value) => Some(value),
            Given::Absent | Given::Null => None,
        }
    }

    /// `None` always comes with a complaint, so that `finish` hands out what was required or refuses.
    pub(crate) fn required<T: FromJson>(&mut self, name: &'static str) -> Option<T> {
        let raw = self.raw_required(name)?;
        self.complaints.keep(name, T::from_json(raw.get()))
    }

    pub(crate) fn raw_required(&mut self, name: &'static str) -> Option<&'a RawValue> {
        let found = self.take(name).filter(|raw| raw.get() != "null");
        if found.is_none() {
            self.complaints.add(name, "REQUIRED", format!("{name} is missing"));
        }
        found
    }

    /// JSON that is passed on unparsed. Too large is a refusal of its own.
    pub(crate) fn json(&mut self, name: &'static str) -> Result<Given<&'a str>, Refused> {
        match self.take(name).map(RawValue::get) {
            None => Ok(Given::Absent),
            Some("null") => Ok(Given::Null),
            Some(raw) => match payload::check(raw) {
                Err(refused) if refused.errors.is_empty() => Err(refused),
                checked => Ok(self.complaints.keep(name, checked).map_or(Given::Absent, |()| Given::Value(raw))),
            },
        }
    }

    /// A whole number within bounds.
    pub(crate) fn number(&mut self, name: &'static str, low: u32, high: u32) -> Option<u32> {
        let value: u32 = self.optional(name)?;
        self.complaints.keep(name, within(name, value, low, high))
    }

    /// The same for one that can be taken away.
    pub(crate) fn given_number(&mut self, name: &'static str, low: u32, high: u32) -> Given<u32> {
        match self.given(name) {
            Given::Value(value) => {
                self.complaints.keep(name, within(name, value, low, high)).map_or(Given::Absent, Given::Value)
            }
            given => given,
        }
    }

    /// Members that have a meaning elsewhere: told apart from slips.
    pub(crate) fn refuse_known(&mut self, names: impl Iterator<Item = (&'static str, &'static str, &'static str)>) {
        for (name, code, why) in names {
            let found = self.members.iter_mut().find(|(key, value)| key == name && value.is_some());
            if let Some((_, value)) = found {
                *value = None;
                self.complaints.add(name, code, format!("{name} cannot be written here: {why}"));
            }
        }
    }

    /// What is left was never asked for.
    pub(crate) fn finish<T>(mut self, required: Option<T>) -> Result<T, Refused> {
        for (name, value) in &self.members {
            if value.is_some() {
                complain_unknown(&mut self.complaints, "UNKNOWN_FIELD", name, &self.known);
            }
        }
        self.complaints.into_result()?;
        required.ok_or_else(|| Refused::field("body", "REQUIRED", "a required field is missing"))
    }
}

fn within(name: &str, value: u32, low: u32, high: u32) -> Result<u32, Refused> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(Refused::field(name, "OUT_OF_RANGE", format!("{name} is {value}, allowed are {low} to {high}")))
    }
}

pub(crate) fn utf8(body: &[u8]) -> Result<&str, Refused> {
    std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        Refused::field("body", "NOT_UTF8", format!("the body is not UTF-8: the byte at {at} begins no character"))
    })
}

struct Members<'a>(Vec<(Cow<'a, str>, Option<&'a RawValue>)>);

impl<'de: 'a, 'a> de::Deserialize<'de> for Members<'a> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(Cow<'de, str>, Option<&'de RawValue>)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, Some(map.next_value()?)));
                }
                Ok(members)
            }
        }
        from.deserialize_map(Object).map(Members)
    }
}

/// Borrows where the text holds no escapes, which plain `Cow` never does.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> de::Deserialize<'de> for Key<'a> {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        from.deserialize_str(Text).map(Key)
    }
}

#[cfg(test)]
mod tests {
    use mainspring_model::{BizId, TaskCode, text};

    use super::*;

    #[test]
    fn members_are_read_and_complained_of_by_name() {
        let check = |body: &str, expect: &[(&str, &str)]| {
            let refused = (|| {
                let mut fields = Fields::of(body.as_bytes())?;
                let task: Option<TaskCode> = fields.required("task");
                fields.optional::<BizId>("bizId");
                fields.number("maxRetry", 0, 10);
                fields.json("payload")?;
                fields.finish(task)
            })();
            let seen: Vec<(String, &str)> = match refused {
                Ok(_) => Vec::new(),
                Err(refused) => refused.errors.into_iter().map(|error| (error.field, error.code)).collect(),
            };
            let seen: Vec<(&str, &str)> = seen.iter().map(|(field, code)| (field.as_str(), *code)).collect();
            assert_eq!(seen, expect, "{}", text::excerpt(body, 80));
        };
        check(r#"{"task":"a"}"#, &[]);
        check(r#" {"t\u0061sk":"\u0061","payload":{"x":[1,2]},"bizId":null} "#, &[]);
        check("{}", &[("task", "REQUIRED")]);
        check("", &[("body", "NOT_JSON")]);
        check("[]", &[("body", "NOT_AN_OBJECT")]);
        check("{\"task\":\"a\"} x", &[("body", "NOT_JSON")]);
        check(
            r#"{"task":1,"bizId":{},"maxRetry":"3"}"#,
            &[("task", "WRONG_TYPE"), ("bizId", "WRONG_TYPE"), ("maxRetry", "WRONG_TYPE")],
        );
        check(r#"{"task":"a","task":"b"}"#, &[("task", "REPEATED")]);
        check(r#"{"task":"a","maxRetry":11}"#, &[("maxRetry", "OUT_OF_RANGE")]);
        check(r#"{"task":"a","maxRetry":-1}"#, &[("maxRetry", "OUT_OF_RANGE")]);
        check(r#"{"task":"a","maxRetry":1.5}"#, &[("maxRetry", "WRONG_TYPE")]);
        check(r#"{"task":"a","maxRetry":99999999999999999999}"#, &[("maxRetry", "WRONG_TYPE")]);
        check(r#"{"task":"a","payload":"\u0000"}"#, &[("payload", "NUL")]);
        check(r#"{"task":"\ud800"}"#, &[("task", "BAD_CHARACTER")]);
        check(r#"{"task":"a","tsak":1,"colour":2}"#, &[("tsak", "UNKNOWN_FIELD"), ("colour", "UNKNOWN_FIELD")]);
        let deep = "[".repeat(500_000);
        check(&format!(r#"{{"task":"a","payload":{deep}{}}}"#, "]".repeat(500_000)), &[("payload", "TOO_DEEP")]);
        check(&format!(r#"{{"task":{deep}{}}}"#, "]".repeat(500_000)), &[("task", "WRONG_TYPE")]);
        check(&format!(r#"{{"task":"a","x":{deep}"#), &[("body", "NOT_JSON")]);
        check(&deep, &[("body", "NOT_AN_OBJECT")]);
    }
}
