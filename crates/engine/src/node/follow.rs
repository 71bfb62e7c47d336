//! Follows what other nodes change: tasks, pools, calendars, and which nodes there are.

use std::sync::Arc;
use std::time::Duration;

use mainspring_model::limits;
use mainspring_store::{PoolSettings, StoreError};

use crate::builder::default_pool;
use crate::core::Core;

/// A fire time that lies further back was moved by another node, and this one has not heard of it.
const STALE_FIRE_MS: i64 = 2_000;

pub(crate) async fn follow(core: Arc<Core>) {
    let mut failures = 0_u32;
    loop {
        let wake = core.node.follow_wake.notified();
        tokio::select! {
            biased;
            () = wake => {}
            () = core.clock.sleep(Duration::from_millis(limits::NEWS_LOOK_MS)) => {}
        }
        match core.look_around().await {
            Ok(()) => failures = 0,
            Err(error) => {
                failures = failures.saturating_add(1);
                if failures == 1 {
                    tracing::warn!(%error, "what other nodes change is not known; it is asked again");
                }
            }
        }
        core.clock.sleep(Duration::from_millis(limits::NEWS_PAUSE_MS)).await;
    }
}

impl Core {
    async fn look_around(self: &Arc<Core>) -> Result<(), StoreError> {
        self.catch_up().await?;
        self.look_for_peers().await?;
        // A node that does not fire (it drains, say) does not meet the others' fires by itself.
        let stale = self.clock.now().plus_ms(-STALE_FIRE_MS);
        if !self.takes_work() && self.tasks.next_due().is_some_and(|next| next < stale) {
            self.read_tasks().await?;
        }
        Ok(())
    }

    /// When this returns, memory is as new as the store was when it was called.
    pub(crate) async fn catch_up(self: &Arc<Core>) -> Result<(), StoreError> {
        if !self.node.about.is_shared {
            return Ok(()); // every change goes through this engine
        }
        let news = self.store.news().await?;
        self.node.heard(news);
        if self.node.knows(news) {
            return Ok(());
        }
        let _alone = self.node.following.lock().await;
        // Asked before the tables are read: what changes meanwhile is read again.
        let news = self.store.news().await?;
        if !self.node.knows(news) {
            self.read_definitions().await?;
            self.node.has_read(news);
        }
        Ok(())
    }

    async fn read_definitions(self: &Arc<Core>) -> Result<(), StoreError> {
        let calendars = self.store.calendars().await?;
        let calendars_changed = self.tasks.put_calendars(calendars);
        for settings in self.store.pools().await? {
            self.follow_pool(settings);
        }
        self.read_tasks().await?;
        for task in self.tasks.all() {
            let name = &task.definition.pool;
            if self.pools.get(name).is_none() {
                self.pools.put(PoolSettings { name: name.clone(), ..default_pool() });
            }
        }
        if calendars_changed {
            self.plan_all_again().await;
        }
        // Limits may be other ones, and tasks that this node can run.
        self.pools.look_in_store();
        self.claim_wake.notify_one();
        self.schedule_wake.notify_one();
        Ok(())
    }

    fn follow_pool(self: &Arc<Core>, settings: PoolSettings) {
        let known = self.pools.get(&settings.name).map(|pool| pool.settings());
        if known.as_ref() != Some(&settings) {
            let pool = self.pools.put(settings);
            self.kick(&pool);
        }
    }

    /// All tasks in one read.
    pub(crate) async fn read_tasks(&self) -> Result<(), StoreError> {
        let from = self.tasks.last_change();
        let read = self.store.tasks().await?;
        for code in self.tasks.put_all_read(read, from) {
            // It changed here while it was read.
            self.reload_task(&code).await;
        }
        self.schedule_wake.notify_one();
        Ok(())
    }
}
