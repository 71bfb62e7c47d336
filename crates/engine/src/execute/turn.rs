//! Who may run beside whom after a crash (`model::decide::Care`).

use std::time::Duration;

use mainspring_model::decide::Care;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use crate::core::Core;

/// For how long a job on its last chance waits to be alone. Others wait behind it, so it must not be for ever: beside a
/// job that runs for hours it takes its chance in company.
const ALONE_WAIT: Duration = Duration::from_secs(30);

/// What an attempt holds while it runs and until its outcome is written, so that the guilty one among suspects is found.
#[derive(Debug)]
#[expect(dead_code, reason = "the guards are held, not read")]
pub(crate) enum Turn {
    Free,
    Careful(OwnedRwLockReadGuard<()>),
    Alone(OwnedRwLockWriteGuard<()>),
}

impl Turn {
    pub(super) fn is_careful(&self) -> bool {
        !matches!(self, Turn::Free)
    }
}

/// Its turn, if it need not wait.
pub(super) fn turn_at_once(core: &Core, care: Care) -> Option<Turn> {
    match care {
        Care::Normal => Some(Turn::Free),
        Care::WriteStartFirst => core.careful.clone().try_read_owned().ok().map(Turn::Careful),
        Care::Alone => core.careful.clone().try_write_owned().ok().map(Turn::Alone),
    }
}

pub(super) async fn wait_for_turn(core: &Core, care: Care) -> Turn {
    let among_others = core.careful.clone().read_owned();
    match care {
        Care::Normal => Turn::Free,
        Care::WriteStartFirst => Turn::Careful(among_others.await),
        Care::Alone => tokio::select! {
            biased;
            alone = core.careful.clone().write_owned() => Turn::Alone(alone),
            () = core.clock.sleep(ALONE_WAIT) => Turn::Careful(among_others.await),
        },
    }
}
