//! Opening: the schema, the server's clock, what it remembers of the cluster, and the way for hints.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mainspring_model::{Clock, Timestamp};

use super::address::Address;
use super::connections::{BEAT, Checks, Connections, Purpose, SCAN, WORK};
use super::days::Days;
use super::driver::Driver;
use super::durable::Durable;
use super::fault::{Fault, Outcome};
use super::history::History;
use super::kind::Server;
use super::session::Session;
use super::{ServerStore, migrate, sql};
use crate::OpenError;
use crate::clock::{ClockSample, DatabaseClock};

/// How long the statements of a migration may take: an index over a long history.
pub(super) const MIGRATION_MAX: Duration = Duration::from_secs(3_600);
/// How long a server may be silent before the first answer.
const SILENCE_MAX: Duration = Duration::from_secs(5);

impl ServerStore {
    /// Connects, brings the schema up to date and reads the server's clock. `clock` is the node's own. Connections, and the
    /// tasks that carry hints to and from other nodes, are driven by a thread of the store's own.
    pub async fn open(url: &str, clock: Arc<dyn Clock>) -> Result<ServerStore, OpenError> {
        let address = Address::parse(url)?;
        let server = Arc::new(Server::parse(&address)?);
        let place = server.place();
        let driver = Driver::start(&place)?;
        let opened = Driver::carry_out(&driver.runtime, ServerStore::opened(address, server, clock)).await;
        let ended = || OpenError::Unusable { place, reason: "its thread ended".to_owned() };
        Ok(ServerStore { _driver: Some(driver), ..opened.ok_or_else(ended)?? })
    }

    /// Is it a database of Mainspring? Nothing is written.
    pub async fn exists(url: &str) -> Result<bool, OpenError> {
        let server = Server::parse(&Address::parse(url)?)?;
        let unusable = |fault: Fault| fault.unusable(&server.place());
        let mut session = connect(&server).await.map_err(unusable)?;
        session.exists(&sql::MIGRATION_TABLE_THERE, &[]).await.map_err(unusable)
    }

    async fn opened(address: Address, server: Arc<Server>, clock: Arc<dyn Clock>) -> Result<ServerStore, OpenError> {
        let place = server.place();
        let unusable = |fault: Fault| fault.unusable(&place);
        let mut session = connect(&server).await.map_err(unusable)?;
        server.check(&mut session).await?;
        migrate::migrate(&mut session, &server, clock.now().as_ms()).await?;
        if let Some(from) = unfinished(&mut session).await.map_err(unusable)? {
            return Err(OpenError::Unfinished { place, from });
        }
        if server.is_open_to_others() {
            let hint = "PostgreSQL: sslmode=verify-full, MySQL: ssl-mode=VERIFY_IDENTITY";
            tracing::warn!(place, hint, "others may read what goes to the database: let its URL ask for TLS");
        }
        let durable = Durable::open(&server, &mut session, clock.monotonic()).await.map_err(unusable)?;
        let history = History::open(&mut session, &server, address.cluster.as_deref()).await?;
        let days = Arc::<Days>::default();
        let checks = Checks { history, durable: Arc::new(durable), days: Arc::clone(&days) };
        let sample = sample(&mut session, clock.as_ref()).await.map_err(unusable)?;
        let connections =
            |purpose: Purpose| Connections::new(Arc::clone(&server), purpose, Arc::clone(&clock), checks.clone());
        let (work, beat, scan) = (connections(WORK), connections(BEAT), connections(SCAN));
        let hints = server.hints(&clock, &checks).await;
        let store = ServerStore {
            kind: server.kind(),
            work,
            beat,
            scan,
            _driver: None,
            checks,
            hints,
            clock: DatabaseClock::new(clock, sample),
            place,
            repeated: AtomicU64::new(0),
            turn: AtomicU64::new(0),
            #[cfg(feature = "postgres")]
            days,
        };
        #[cfg(feature = "postgres")]
        store.open_partitions(sample.database).await;
        Ok(store)
    }
}

/// For what takes long. Who answers the connection and says nothing is no database.
pub(super) async fn connect(server: &Server) -> Outcome<Session> {
    let late = |_| Err(Fault::broken(format!("it accepts connections and says nothing for {SILENCE_MAX:?}")));
    tokio::time::timeout(SILENCE_MAX, server.connect(MIGRATION_MAX)).await.unwrap_or_else(late)
}

/// `mainspring migrate` fills the database, or was interrupted at it: from where.
pub(super) async fn unfinished(session: &mut Session) -> Outcome<Option<String>> {
    let mark = session.one(&sql::IMPORT_MARK, &[]).await?;
    mark.map_or(Ok(None), |row| Ok(row.text(0)?.map(str::to_owned)))
}

/// Asks the server for its time.
pub(super) async fn sample(session: &mut Session, node: &dyn Clock) -> Outcome<ClockSample> {
    let sent = node.monotonic();
    let database = session.number(&sql::NOW, &[]).await?.unwrap_or(0);
    Ok(ClockSample { sent, answered: node.monotonic(), database: Timestamp::from_ms(database) })
}
