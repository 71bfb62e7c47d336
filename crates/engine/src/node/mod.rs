//! One node among others: who it is, whether it may act, what it hears of the others and does for them.
//!
//! **Invariant:** nothing begins here (a claim, a fire, a body) unless the lease was confirmed lately, by the monotonic
//! clock. A node that cannot confirm it stops its own bodies before others may start them, and comes back as a new
//! incarnation.
//! **Invariant:** what a node remembers of tasks, pools and calendars is a copy. The store decides; the copy follows.

mod drain;
mod fence;
mod follow;
mod hear;
mod identity;
mod lease;
mod peers;
mod reconcile;
mod take_over;

pub(crate) use follow::follow;
pub(crate) use hear::hear;
pub(crate) use identity::{About, Me, Node};
pub(crate) use lease::keep_lease;
pub(crate) use reconcile::reconcile;
pub(crate) use take_over::take_over;
