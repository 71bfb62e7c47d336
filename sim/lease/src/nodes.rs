//! A node as a process: what it has in memory, and what it knows of its lease.

use crate::world::{Database, End, Incarnation, Shown, World};

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) life: Life,
    /// Of the newest incarnation; 0 before the first.
    pub(crate) start: u8,
    /// Stopped by the machine: it does nothing, time goes on.
    pub(crate) paused: bool,
    /// Ghost: it was paused since it last knew that its lease is renewed.
    pub(crate) overslept: bool,
    /// Its connections lead to the server that is the primary now.
    pub(crate) connected: bool,
    /// Ticks until it stops its bodies by itself, by its own clock.
    pub(crate) left: u8,
    pub(crate) beat: Beat,
    /// A claim is under way, as far as it knows.
    pub(crate) claiming: bool,
    pub(crate) history: u8,
    /// The renewals that it knows of, where a faulty protocol counts them.
    pub(crate) confirmed: u8,
    pub(crate) holds: Vec<Hold>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Life {
    Down,
    /// The process runs, its incarnation has ended.
    Fenced,
    Up,
    Draining,
    /// It said good-bye, or had nothing left to drain.
    Left,
}

/// The renewal under way: its answer is. Its age is counted from the question.
///
/// It is carried out when it is asked for. Later would be safer: the database's lease would end later than the node
/// believes. One that comes too late finds its node gone, as one that a paused node asks for does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Beat {
    None,
    Answered { age: u8, renewal: Renewal },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Renewal {
    Granted {
        history: u8,
        beats: u8,
    },
    Refused,
    /// The row knows of fewer renewals than were confirmed.
    WentBack,
}

/// A claim in the hands of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Hold {
    pub(crate) fence: u8,
    /// Ghost.
    pub(crate) claim: u8,
    pub(crate) step: Step,
    pub(crate) start: StartMark,
    /// Ghost.
    pub(crate) ended: Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Step {
    Waiting,
    Running,
    /// `end` is what is written, `said` what the body answered.
    Answered {
        end: End,
        said: End,
    },
    GoingBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum StartMark {
    Unwritten,
    Written,
}

/// Ghost: why another body may run beside this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Ended {
    No,
    ByPerson,
    ByFailOver,
}

impl Node {
    pub(crate) fn new() -> Node {
        Node {
            life: Life::Down,
            start: 0,
            paused: false,
            overslept: false,
            connected: false,
            left: 0,
            beat: Beat::None,
            claiming: false,
            history: 0,
            confirmed: 0,
            holds: Vec::new(),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.life, Life::Up | Life::Draining)
    }

    /// It runs and the machine lets it.
    pub(crate) fn acts(&self) -> bool {
        self.is_running() && !self.paused
    }

    pub(crate) fn bodies(&self) -> usize {
        self.holds.iter().filter(|hold| hold.step == Step::Running).count()
    }

    /// The end of an incarnation: bodies are stopped, what is under way is forgotten.
    pub(crate) fn end(&mut self, life: Life) {
        let (start, history) = (self.start, self.history);
        *self = Node { life, start, history, ..Node::new() };
    }

    /// Bodies are stopped before the lease ends. Who was to leave anyway does not come back.
    pub(crate) fn fence(&mut self) {
        self.end(if self.life == Life::Draining { Life::Left } else { Life::Fenced });
    }

    pub(crate) fn tick(&mut self, age_max: u8) {
        self.left = self.left.saturating_sub(1);
        if let Beat::Answered { age, .. } = &mut self.beat {
            *age = (*age + 1).min(age_max);
        }
    }
}

impl World {
    pub(crate) fn new() -> World {
        World {
            db: Database::new(),
            replica: None,
            nodes: [Node::new(), Node::new()],
            calls: std::collections::BTreeSet::new(),
            listed: None,
            spent: crate::world::Spent::default(),
            ghost: crate::world::Ghost::default(),
        }
    }

    pub(crate) fn incarnation(&self, node: usize) -> Incarnation {
        Incarnation { node: node as u8, start: self.nodes[node].start }
    }

    pub(crate) fn shown(&self, node: usize, hold: &Hold) -> Shown {
        Shown { owner: self.incarnation(node), fence: hold.fence, claim: hold.claim }
    }

    /// An answer to this incarnation finds its way.
    pub(crate) fn listens(&self, of: Incarnation) -> bool {
        let node = &self.nodes[usize::from(of.node)];
        node.is_running() && node.connected && node.start == of.start
    }

    pub(crate) fn acts(&self, of: Incarnation) -> bool {
        self.nodes[usize::from(of.node)].acts()
    }

    /// The process of this incarnation, while it runs.
    pub(crate) fn process(&mut self, of: Incarnation) -> Option<&mut Node> {
        let node = &mut self.nodes[usize::from(of.node)];
        Some(node).filter(|node| node.is_running() && node.start == of.start)
    }
}
