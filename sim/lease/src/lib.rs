//! The lease protocol as a model, checked state by state.
//!
//! The model says what each statement tests and what each node does between statements; the checker tries every order
//! of them. `docs/lease-protocol.md` has the protocol in plain words.
//!
//! - `scenes`: what may happen, and how often. Scenes are small so that they can be searched to their end.
//! - `world`, `nodes`: a state. `moves`: what can happen next. `protocol`: what a move does.
//! - `statements`, `people`: what the database does. `process`, `fail_over`: what a node does.
//! - `laws`: what must hold, and what must be possible. `planted`: bugs, each of which a law must see.
//!
//! Not here: what a job is allowed to do (`mainspring_model`), limits and lanes, suspects and the care for them. No
//! guard of the protocol reads them.

mod fail_over;
mod laws;
mod moves;
mod nodes;
mod people;
mod planted;
mod process;
mod protocol;
mod scenes;
mod search;
mod statements;
mod symmetry;
mod world;

pub use laws::{Hope, Law};
pub use moves::{ClaimMove, Duty, Move, NodeMove};
pub use planted::Bug;
pub use scenes::Scene;
pub use search::{Findings, hunt, search};
