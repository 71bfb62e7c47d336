//! For tests of your handlers: run one attempt inline, or a whole engine under a clock that you move.
//!
//! ```
//! use mainspring::prelude::*;
//!
//! async fn double(context: Context, number: u64) -> String {
//!     context.log("doubling");
//!     (number * 2).to_string()
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let ran = mainspring::testing::run_inline(double, &21).await;
//! assert_eq!(ran.verdict, Verdict::done_with("42"));
//! assert_eq!(ran.said, ["doubling"]);
//! # });
//! ```

use std::future::Future;

use mainspring_engine::Context;
pub use mainspring_engine::testing::Ran;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use mainspring_store::clock::ManualClock;

use crate::answer::Answer;

/// One attempt of the function with this payload, here and now, without a database. A panic goes through.
pub async fn run_inline<F, I, Fut, P>(function: F, payload: &P) -> Ran
where
    F: Fn(Context, I) -> Fut + Send + Sync + 'static,
    I: DeserializeOwned + Send + 'static,
    Fut: Future<Output: Answer> + Send + 'static,
    P: Serialize + ?Sized,
{
    let json = serde_json::to_string(payload).expect("a payload that can be written as JSON");
    mainspring_engine::testing::run_inline(&crate::handler(function), &json).await
}
