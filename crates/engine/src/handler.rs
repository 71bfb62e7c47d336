//! Handlers: the code that tasks name, by kind, and the registry that finds them by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use mainspring_model::{HandlerName, Verdict};

use crate::context::Context;

/// One of the four seams. A handler is called at least once for every job of its tasks; two bodies of one job can
/// overlap for a short time after a crash, and the fence tells them apart.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// Dropped at the deadline or at a cancellation; `context.cancelled()` says so a moment before.
    async fn handle(&self, context: Context) -> Verdict;
}

/// A function that blocks. It gets a thread of its own for the length of the attempt.
pub trait BlockingHandler: Send + Sync + 'static {
    /// Cannot be dropped: it should look at `context.is_cancelled()`, or it becomes a zombie after its deadline.
    fn handle(&self, context: Context) -> Verdict;
}

#[derive(Clone)]
pub(crate) enum Body {
    Async(Arc<dyn Handler>),
    Blocking(Arc<dyn BlockingHandler>),
}

/// What people see of a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerInfo {
    pub name: HandlerName,
    /// `async`, `blocking`, `command`, `http` …
    pub kind: &'static str,
    pub description: String,
}

#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) info: HandlerInfo,
    pub(crate) body: Body,
}

/// Handlers by name. Fixed when the engine starts.
#[derive(Clone, Default)]
pub struct Registry(BTreeMap<HandlerName, Registered>);

impl Registry {
    /// A second registration of a name replaces the first.
    pub fn add(&mut self, name: HandlerName, kind: &'static str, description: &str, handler: Arc<dyn Handler>) {
        self.insert(name, kind, description, Body::Async(handler));
    }

    pub fn add_blocking(&mut self, name: HandlerName, description: &str, handler: Arc<dyn BlockingHandler>) {
        self.insert(name, "blocking", description, Body::Blocking(handler));
    }

    fn insert(&mut self, name: HandlerName, kind: &'static str, description: &str, body: Body) {
        let info = HandlerInfo { name: name.clone(), kind, description: description.to_owned() };
        self.0.insert(name, Registered { info, body });
    }

    pub(crate) fn get(&self, name: &HandlerName) -> Option<&Registered> {
        self.0.get(name)
    }

    pub fn knows(&self, name: &HandlerName) -> bool {
        self.0.contains_key(name)
    }

    pub fn list(&self) -> Vec<HandlerInfo> {
        self.0.values().map(|registered| registered.info.clone()).collect()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys().map(HandlerName::as_str)).finish()
    }
}
