//! What attempts say while they run.
use mainspring_store::Stream;
#[derive(Debug, Clone)]
pub struct OutputSink;
impl OutputSink { pub(crate) fn write(&self, _s: Stream, _t: &str) {} }
