//! Command templates: which program, with which arguments, and how a job's values get into them.
//!
//! **Invariant:** a value is one piece of one argument. It is never split, never seen by a shell, and cannot become
//! an option that the template did not write.

use std::path::PathBuf;
use std::time::Duration;

use mainspring_model::limits;
use mainspring_model::refused::Complaints;
use mainspring_model::{HandlerName, Refused, Shard};
use serde_json::Value;

use crate::context::Context;

/// One program that jobs may run. It is configuration: a job chooses values, never the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTemplate {
    pub name: HandlerName,
    /// A path, or a name that is looked for in `PATH`.
    pub program: String,
    /// May hold `{payload}`, `{payload.FIELD}`, `{jobId}`, `{attempt}`, `{fence}`, `{bizId}`, `{fireTime}`, `{shardIndex}`,
    /// `{shardTotal}`; `{{` is a brace.
    pub args: Vec<String>,
    pub cwd: Option<PathBuf>,
    /// Names of variables that the program inherits besides `PATH` and `LANG`.
    pub env: Vec<String>,
    /// Output kept from the beginning of each stream; of what follows, only the end.
    pub output_bytes_max: usize,
    /// Address space of the program and of each process that it starts.
    pub memory_bytes_max: Option<u64>,
    /// From the polite signal to signal 9.
    pub kill_grace: Duration,
}

/// Below this a program does not get as far as its own first line.
pub const MEMORY_BYTES_MIN: u64 = 64 * 1024 * 1024;
/// The engine gives a cancelled attempt up after `CANCEL_GRACE_MS`; the ladder ends before.
const KILL_GRACE_DEFAULT: Duration = Duration::from_millis(limits::CANCEL_GRACE_MS - 500);

impl CommandTemplate {
    pub fn new(name: HandlerName, program: impl Into<String>) -> CommandTemplate {
        CommandTemplate {
            name,
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            output_bytes_max: limits::OUTPUT_HEAD_BYTES_MAX,
            memory_bytes_max: None,
            kill_grace: KILL_GRACE_DEFAULT,
        }
    }

    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> CommandTemplate {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// All complaints at once, and the arguments ready to be filled.
    pub(super) fn compile(&self) -> Result<Vec<Argument>, Refused> {
        let mut complaints = Complaints::default();
        if self.program.is_empty() || self.program.contains('\0') {
            complaints.add("program", "REQUIRED", "program is empty or holds a NUL character");
        }
        if let Some(bytes) = self.memory_bytes_max.filter(|bytes| *bytes < MEMORY_BYTES_MIN) {
            let detail = format!("a program with {bytes} bytes cannot start, the least is {MEMORY_BYTES_MIN}");
            complaints.add("memory", "OUT_OF_RANGE", detail);
        }
        if let Some(name) = self.env.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            complaints.add("env", "BAD_CHARACTER", format!("`{name}` is not the name of a variable"));
        }
        let mut arguments = Vec::with_capacity(self.args.len());
        let mut options_ended = false;
        for text in &self.args {
            options_ended |= text == "--";
            arguments.extend(complaints.keep("args", Argument::parse(text, options_ended)));
        }
        complaints.into_result().map(|()| arguments)
    }
}

/// What a job brings into a command.
#[derive(Debug, Clone, Default)]
pub struct JobFacts {
    pub task: String,
    pub job_id: String,
    pub attempt: u32,
    pub fence: i64,
    pub biz_id: Option<String>,
    /// Of a job that a schedule made, as RFC 3339.
    pub fire_time: Option<String>,
    /// Of a part of a broadcast.
    pub shard: Option<Shard>,
    /// JSON text.
    pub payload: String,
}

impl JobFacts {
    pub(in crate::execute) fn of(context: &Context) -> JobFacts {
        JobFacts {
            task: context.task().to_string(),
            job_id: context.job_id().to_string(),
            attempt: context.attempt(),
            fence: context.fence().0,
            biz_id: context.biz_id().map(ToString::to_string),
            fire_time: context.fire_time().map(|time| time.to_string()),
            shard: context.shard(),
            payload: context.payload().to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Payload,
    Field(String),
    JobId,
    Attempt,
    Fence,
    FireTime,
    BizId,
    ShardIndex,
    ShardTotal,
}

/// One argument of a template, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Argument {
    pieces: Vec<Piece>,
    /// It stands behind `--`: nothing here is an option.
    options_ended: bool,
}

impl Argument {
    fn parse(text: &str, options_ended: bool) -> Result<Argument, Refused> {
        let bad = |code, detail: String| Err(Refused::field("args", code, detail));
        let (mut pieces, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}', '\0']) {
            literal.push_str(&rest[..at]);
            let found = &rest[at..];
            if let Some(after) = found.strip_prefix("{{").or_else(|| found.strip_prefix("}}")) {
                literal.push_str(&found[..1]);
                rest = after;
                continue;
            }
            let Some((word, after)) = found.strip_prefix('{').and_then(|open| open.split_once('}')) else {
                return bad(
                    "PLACEHOLDER",
                    format!("`{text}`: write {{{{ and }}}} for braces that stand for themselves"),
                );
            };
            let Some(piece) = Piece::parse(word) else {
                let known = "{payload}, {payload.FIELD}, {jobId}, {attempt}, {fence}, {bizId}, {fireTime}, {shardIndex}, \
                             {shardTotal}";
                return bad(
                    "PLACEHOLDER",
                    format!("`{{{word}}}` is not one of {known}; {{{{ is a brace that stands for itself"),
                );
            };
            if !literal.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
            }
            pieces.push(piece);
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Argument { pieces, options_ended })
    }

    fn fill(&self, facts: &JobFacts, payload: &Value) -> Result<String, String> {
        let mut filled = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            let value = piece.value(facts, payload)?;
            if value.contains('\0') {
                return Err("a value for the command holds a NUL character".to_owned());
            }
            let from_template = matches!(piece, Piece::Text(_));
            if at == 0 && !from_template && !self.options_ended && value.starts_with('-') {
                return Err(format!(
                    "the value `{}` would be read as an option: let the template write it as --name={{…}} or behind --",
                    mainspring_model::text::excerpt(&value, 40)
                ));
            }
            filled.push_str(&value);
        }
        Ok(filled)
    }
}

impl Piece {
    fn parse(word: &str) -> Option<Piece> {
        Some(match word {
            "payload" => Piece::Payload,
            "jobId" => Piece::JobId,
            "attempt" => Piece::Attempt,
            "fence" => Piece::Fence,
            "fireTime" => Piece::FireTime,
            "bizId" => Piece::BizId,
            "shardIndex" => Piece::ShardIndex,
            "shardTotal" => Piece::ShardTotal,
            _ => Piece::Field(word.strip_prefix("payload.").filter(|field| !field.is_empty())?.to_owned()),
        })
    }

    fn value(&self, facts: &JobFacts, payload: &Value) -> Result<String, String> {
        Ok(match self {
            Piece::Text(text) => text.clone(),
            Piece::Payload => facts.payload.clone(),
            Piece::JobId => facts.job_id.clone(),
            Piece::Attempt => facts.attempt.to_string(),
            Piece::Fence => facts.fence.to_string(),
            Piece::FireTime => facts.fire_time.clone().unwrap_or_default(),
            Piece::BizId => facts.biz_id.clone().unwrap_or_default(),
            Piece::ShardIndex => facts.shard.map(|shard| shard.index.to_string()).unwrap_or_default(),
            Piece::ShardTotal => facts.shard.map(|shard| shard.total.to_string()).unwrap_or_default(),
            Piece::Field(field) => match payload.get(field) {
                None => return Err(format!("the payload has no field `{field}`, which the command needs")),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            },
        })
    }
}

/// The arguments of one attempt, or why this job can never have any.
pub(super) fn fill(arguments: &[Argument], facts: &JobFacts) -> Result<Vec<String>, String> {
    let payload: Value = serde_json::from_str(&facts.payload).unwrap_or(Value::Null);
    arguments.iter().map(|argument| argument.fill(facts, &payload)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(args: &[&str], payload: &str) -> Result<Vec<String>, String> {
        let name = HandlerName::new("command.x").expect("a name");
        let template = CommandTemplate::new(name, "true").args(args.iter().copied());
        let arguments = template.compile().map_err(|refused| refused.errors[0].code.to_owned())?;
        let facts = JobFacts {
            job_id: "7".to_owned(),
            attempt: 2,
            fence: 3,
            biz_id: Some("订单 42".to_owned()),
            fire_time: Some("2026-12-01T08:00:00.000Z".to_owned()),
            shard: Some(Shard { index: 1, total: 3 }),
            payload: payload.to_owned(),
            ..JobFacts::default()
        };
        fill(&arguments, &facts)
    }

    #[test]
    fn values_stay_in_their_argument() {
        let check = |args: &[&str], payload: &str, expect: &[&str]| {
            assert_eq!(filled(args, payload).expect("fills"), expect, "{args:?}");
        };
        check(&[], "null", &[]);
        check(&["", "plain"], "null", &["", "plain"]);
        check(&["{jobId}-{attempt}-{fence}", "{bizId}"], "null", &["7-2-3", "订单 42"]);
        check(&["{shardIndex}/{shardTotal}"], "null", &["1/3"]);
        check(&["--hour={fireTime}"], "null", &["--hour=2026-12-01T08:00:00.000Z"]);
        check(&["{payload}"], r#"{"a": 1}"#, &[r#"{"a": 1}"#]);
        check(
            &["--to={payload.to}"],
            r#"{"to": "; rm -rf / $(id) `id` | x\ny"}"#,
            &["--to=; rm -rf / $(id) `id` | x\ny"],
        );
        check(&["--n={payload.n}"], r#"{"n": -5}"#, &["--n=-5"]);
        check(&["--", "{payload.f}"], r#"{"f": "-o"}"#, &["--", "-o"]);
        check(&["{payload.l}"], r#"{"l": [1, "x"]}"#, &[r#"[1,"x"]"#]);
        check(&["{payload.a b}"], r#"{"a b": null}"#, &["null"]);
        check(&["{{print $1}}"], "null", &["{print $1}"]);
        check(&["{payload.f}"], r#"{"f": "{jobId}"}"#, &["{jobId}"]);
    }

    #[test]
    fn what_cannot_be_filled_is_said() {
        let check = |args: &[&str], payload: &str, expect: &str| {
            let error = filled(args, payload).expect_err("must not fill");
            assert!(error.contains(expect), "{args:?}: {error}");
        };
        check(&["{payload.f}"], r#"{"f": "-o"}"#, "would be read as an option");
        check(&["{payload.f}"], r#"{"g": 1}"#, "no field `f`");
        check(&["{payload.f}"], "[]", "no field `f`");
        check(&["--x={payload.f}"], r#"{"f": "a\u0000b"}"#, "NUL");
        for bad in ["{", "}", "{}", "{payload", "{payload.}", "{job_id}", "{print $1}", "{payload}}"] {
            check(&[bad], "null", "PLACEHOLDER");
        }
    }
}
