//! Hints by LISTEN and NOTIFY: a connection that listens, and one that sends.
//!
//! Both are driven by tasks on the store's own runtime, and end with it. NOTIFY takes a lock of the whole server
//! at its commit, so it is never part of a transaction that writes jobs.
//!
//! **Invariant:** a connection that fell silent is given up: each node sends a word now and then, and hears its own.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::Clock;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::broadcast;

use crate::Wake;
use crate::server::connections::Connections;
use crate::server::fault::Outcome;
use crate::server::params::params;
use crate::server::sql;
use crate::server::wakes::{Bell, Hints, channel, wakes_of};

const CHANNEL: &str = "mainspring";
/// A word that means nothing.
const PING: &str = "ping";
const PING_EVERY: Duration = Duration::from_secs(5);
/// Without any word that long the connection is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(12);
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// Hints of so long go together.
const GATHER: Duration = Duration::from_millis(5);
const RETRY_MIN: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(1);
/// How long the first word may take to come back.
const PROOF_MAX: Duration = Duration::from_secs(2);

/// `None`: what is sent is not heard. Some pooler is in between, and everybody looks by himself.
#[expect(clippy::disallowed_methods, reason = "a store has no task set, and these two end with it")]
pub(crate) async fn open(options: &PgConnectOptions, sender: Connections, clock: Arc<dyn Clock>) -> Option<Hints> {
    let listener = match prove(options, &sender).await {
        Proof::Heard(listener) => Some(listener),
        Proof::Silent => return None,
        Proof::Failed => None,
    };
    let (bell, heard) = (Arc::new(Bell::default()), channel());
    let listening = listen(options.clone(), listener, heard.clone(), Arc::clone(&clock));
    let sending = send(Arc::clone(&bell), sender, clock);
    let tasks = vec![tokio::spawn(listening).abort_handle(), tokio::spawn(sending).abort_handle()];
    Some(Hints::new(bell, heard, tasks))
}

enum Proof {
    Heard(PgListener),
    Silent,
    /// The server was not to be had just now: that says nothing of a pooler.
    Failed,
}

/// Sends a word on one connection and waits for it on another.
async fn prove(options: &PgConnectOptions, sender: &Connections) -> Proof {
    let Ok(mut listener) = connect(options).await else { return Proof::Failed };
    if notify(sender, PING).await.is_err() {
        return Proof::Failed;
    }
    match tokio::time::timeout(PROOF_MAX, listener.try_recv()).await {
        Ok(Ok(Some(_))) => Proof::Heard(listener),
        Ok(_) => Proof::Failed,
        Err(_) => Proof::Silent,
    }
}

async fn connect(options: &PgConnectOptions) -> Result<PgListener, sqlx::Error> {
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(CONNECT_MAX).connect_lazy_with(options.clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

/// Listens for ever. After each loss of the connection the readers are told that they may have missed something.
async fn listen(
    options: PgConnectOptions,
    mut listener: Option<PgListener>,
    heard: broadcast::Sender<Wake>,
    clock: Arc<dyn Clock>,
) {
    let mut pause = RETRY_MIN;
    loop {
        if let Some(listener) = listener.take() {
            pause = RETRY_MIN;
            hear(listener, &heard).await;
            tracing::info!("the connection that brings hints is lost and made anew");
            say(&heard, Wake::Anything);
        }
        match tokio::time::timeout(CONNECT_MAX, connect(&options)).await {
            Ok(Ok(new)) => {
                listener = Some(new);
                say(&heard, Wake::Anything);
            }
            _ => {
                clock.sleep(pause).await;
                pause = (pause * 2).min(RETRY_MAX);
            }
        }
    }
}

/// Until the connection is lost, or says nothing any more.
async fn hear(mut listener: PgListener, heard: &broadcast::Sender<Wake>) {
    while let Ok(Ok(Some(word))) = tokio::time::timeout(SILENCE_MAX, listener.try_recv()).await {
        wakes_of(word.payload()).for_each(|wake| say(heard, wake));
    }
}

/// Nobody need listen.
fn say(heard: &broadcast::Sender<Wake>, wake: Wake) {
    let _ = heard.send(wake);
}

async fn send(bell: Arc<Bell>, sender: Connections, clock: Arc<dyn Clock>) {
    loop {
        let _ = tokio::time::timeout(PING_EVERY, bell.rung()).await;
        let words = bell.take();
        let words = if words.is_empty() { PING } else { words.as_str() };
        if let Err(fault) = notify(&sender, words).await {
            tracing::debug!(reason = fault.reason(), "a hint to the other nodes is lost");
        }
        clock.sleep(GATHER).await;
    }
}

async fn notify(sender: &Connections, words: &str) -> Outcome<()> {
    let mut lent = sender.take().await?;
    lent.session.rows(&sql::NOTIFY, &params![CHANNEL, words]).await?;
    lent.give_back();
    Ok(())
}
