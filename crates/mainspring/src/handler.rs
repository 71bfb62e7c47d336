//! Typed functions as handlers: past this file the engine knows names and JSON only.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use mainspring_engine::{BlockingHandler, Context, Handler};
use mainspring_model::Verdict;
use serde::de::DeserializeOwned;

use crate::answer::Answer;

/// An async function of the context and the payload, as a handler.
pub fn handler<F, I, Fut>(function: F) -> impl Handler
where
    F: Fn(Context, I) -> Fut + Send + Sync + 'static,
    I: DeserializeOwned + Send + 'static,
    Fut: Future<Output: Answer> + Send + 'static,
{
    Typed { function, input: PhantomData::<fn(I)> }
}

/// A blocking function of the context and the payload, as a handler with a thread of its own for each attempt.
pub fn blocking_handler<F, I, A>(function: F) -> impl BlockingHandler
where
    F: Fn(Context, I) -> A + Send + Sync + 'static,
    I: DeserializeOwned + 'static,
    A: Answer + 'static,
{
    TypedBlocking { function, input: PhantomData::<fn(I) -> A> }
}

struct Typed<F, I> {
    function: F,
    input: PhantomData<I>,
}

struct TypedBlocking<F, I> {
    function: F,
    input: PhantomData<I>,
}

#[async_trait::async_trait]
impl<F, I, Fut> Handler for Typed<F, fn(I)>
where
    F: Fn(Context, I) -> Fut + Send + Sync + 'static,
    I: DeserializeOwned + Send + 'static,
    Fut: Future<Output: Answer> + Send + 'static,
{
    async fn handle(&self, context: Context) -> Verdict {
        match input(&context) {
            Ok(input) => (self.function)(context, input).await.into_verdict(),
            Err(verdict) => verdict,
        }
    }
}

impl<F, I, A> BlockingHandler for TypedBlocking<F, fn(I) -> A>
where
    F: Fn(Context, I) -> A + Send + Sync + 'static,
    I: DeserializeOwned + 'static,
    A: Answer + 'static,
{
    fn handle(&self, context: Context) -> Verdict {
        match input(&context) {
            Ok(input) => (self.function)(context, input).into_verdict(),
            Err(verdict) => verdict,
        }
    }
}

/// A payload of another shape does not get better by trying again.
fn input<I: DeserializeOwned>(context: &Context) -> Result<I, Verdict> {
    serde_json::from_str(context.payload())
        .map_err(|error| Verdict::fail(format!("the payload does not fit this handler: {error}")))
}

impl<F, I> fmt::Debug for Typed<F, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<F>())
    }
}

impl<F, I> fmt::Debug for TypedBlocking<F, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::any::type_name::<F>())
    }
}
