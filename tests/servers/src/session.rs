//! A command-line client that stays connected: for what must happen between two statements of a session.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result, ensure};

use crate::client::client;

/// Dropping it ends the client in the middle of what it does; its transaction goes with it.
#[derive(Debug)]
pub struct Session {
    client: Child,
    statements: Option<ChildStdin>,
    rows: BufReader<ChildStdout>,
}

impl Session {
    pub fn open(url: &str) -> Result<Session> {
        let program = client(url)?;
        let mut command = program.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut client = command.spawn().with_context(|| format!("start {program:?}"))?;
        let statements = client.stdin.take();
        let rows = BufReader::new(client.stdout.take().context("stdout is piped")?);
        Ok(Session { client, statements, rows })
    }

    /// Sends a statement and does not wait for its answer.
    pub fn tell(&mut self, statement: &str) -> Result<()> {
        let input = self.statements.as_mut().context("the session is open")?;
        Ok(writeln!(input, "{statement};")?)
    }

    /// The next row, when it comes.
    pub fn hear(&mut self) -> Result<String> {
        let mut row = String::new();
        ensure!(self.rows.read_line(&mut row)? > 0, "the session has ended: {}", self.complaint());
        Ok(row.trim_end_matches('\n').to_owned())
    }

    /// Waits until all that was told is done; an error if any of it failed.
    pub fn close(mut self) -> Result<()> {
        self.statements = None;
        self.rows.read_to_end(&mut Vec::new())?;
        let complaint = self.complaint();
        let status = self.client.wait()?;
        ensure!(status.success(), "{status}: {complaint}");
        Ok(())
    }

    /// Complete only when the client has ended.
    fn complaint(&mut self) -> String {
        let mut said = String::new();
        if let Some(errors) = self.client.stderr.as_mut() {
            let _ = errors.read_to_string(&mut said);
        }
        said
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}
