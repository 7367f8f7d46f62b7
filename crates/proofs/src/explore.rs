//! The explorer: visits every state of a model, breadth first, so that it reports a failure with
//! one of the shortest sequences of actions that cause it.

use std::collections::HashSet;
use std::fmt::{self, Debug, Write};
use std::hash::{DefaultHasher, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A mechanism with its environment and a reference.
pub trait Model {
    /// An event of the environment.
    type Action: Copy + Debug;
    /// The mechanism, its environment and the reference.
    type World;

    /// Returns the first state.
    fn start(&self) -> Self::World;

    /// Returns the events that are possible in this state.
    fn actions(&self, world: &Self::World) -> Vec<Self::Action>;

    /// Applies an event, and compares the mechanism with the reference.
    ///
    /// # Errors
    /// A text that describes the difference.
    fn step(&self, world: &mut Self::World, action: Self::Action) -> Result<(), String>;

    /// Returns a number that differs between states that can behave differently.
    fn key(&self, world: &Self::World) -> u64;

    /// Returns a copy of the state. With `None`, the explorer repeats the actions from the start,
    /// which suits a mechanism that cannot be copied.
    fn copy(&self, _: &Self::World) -> Option<Self::World> {
        None
    }

    /// Checks what must be possible from every state, such as the end of a connection over a link
    /// without loss. The check may consume the state.
    ///
    /// # Errors
    /// A text that describes what should be possible from this state, but is not.
    fn finish(&self, _: Self::World) -> Result<(), String> {
        Ok(())
    }
}

/// The limits of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum number of actions in a sequence.
    pub depth: usize,
    /// Maximum number of states, at which the exploration stops.
    pub states: usize,
}

impl Bounds {
    /// No limit, for a model with finitely many states.
    pub const ALL: Bounds = Bounds {
        depth: usize::MAX,
        states: usize::MAX,
    };

    /// A limit on the depth only.
    pub const fn depth(depth: usize) -> Bounds {
        Bounds {
            depth,
            states: usize::MAX,
        }
    }
}

/// The result of an exploration.
#[derive(Debug)]
pub struct Outcome<A> {
    /// Number of different states.
    pub states: usize,
    /// Number of applied actions.
    pub steps: u64,
    /// Greatest distance of a state from the start, in actions along a shortest path.
    pub depth: usize,
    /// Whether every reachable state was visited.
    pub is_complete: bool,
    /// The first failure: the actions that lead to it, and its text.
    pub failure: Option<(Vec<A>, String)>,
}

impl<A: Debug> Outcome<A> {
    /// Prints a line with the size of the exploration.
    pub fn print(&self, name: &str) {
        let Outcome {
            states,
            steps,
            depth,
            is_complete,
            ..
        } = self;
        let extent = if *is_complete {
            "all reachable states"
        } else {
            "up to the bounds"
        };
        println!("{name}: {states} states, {steps} steps, depth {depth}, {extent}");
    }

    /// Prints the size of the exploration, and panics if the model failed.
    #[track_caller]
    pub fn expect_sound(&self, name: &str) {
        self.print(name);
        if let Some((path, why)) = &self.failure {
            panic!("{name}: {why}\nafter {path:#?}");
        }
    }

    /// Prints the failure that a planted defect causes, and panics without a failure.
    #[track_caller]
    pub fn expect_defect(&self, name: &str) {
        let Some((path, why)) = &self.failure else {
            panic!(
                "{name}: no failure in {} states, although a defect was planted",
                self.states
            );
        };
        println!(
            "{name}: the planted defect causes a failure after {} actions: {why}",
            path.len()
        );
    }
}

/// Returns whether the environment requests the long form of the models.
#[must_use]
pub fn is_deep() -> bool {
    std::env::var_os("REDPOLL_PROOFS").is_some_and(|value| value == "deep")
}

/// Returns a hash of the `Debug` text of `value`, which is the same in every run.
pub fn hash_of(value: &impl Debug) -> u64 {
    struct Sink(DefaultHasher);
    impl Write for Sink {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut sink = Sink(DefaultHasher::new());
    // Ignore the result: this sink returns no error.
    let _ = write!(sink, "{value:?}");
    sink.0.finish()
}

/// A visited state: the index of the previous state, the action from it, and the depth.
struct Visited<A> {
    before: u32,
    action: Option<A>,
    depth: u32,
}

struct Explorer<'m, M: Model> {
    model: &'m M,
    visited: Vec<Visited<M::Action>>,
}

/// Visits all states within `bounds`. Panics of the mechanism count as failures.
///
/// # Panics
/// If the number of states exceeds 2^32.
pub fn explore<M: Model>(model: &M, bounds: Bounds) -> Outcome<M::Action> {
    let mut this = Explorer {
        model,
        visited: vec![Visited {
            before: 0,
            action: None,
            depth: 0,
        }],
    };
    let mut keys = HashSet::from([model.key(&model.start())]);
    let mut outcome = Outcome {
        states: 1,
        steps: 0,
        depth: 0,
        is_complete: true,
        failure: None,
    };
    let mut next = 0;
    while next < this.visited.len() {
        let depth = this.visited[next].depth;
        outcome.depth = depth as usize;
        let world = this.rebuild(next);
        let actions = model.actions(&world);
        if let Err(why) = caught(|| model.finish(this.again(&world, next))) {
            outcome.failure = Some((this.path(next, None), why));
            outcome.is_complete = false;
            break;
        }
        if outcome.depth >= bounds.depth || this.visited.len() >= bounds.states {
            outcome.is_complete &= actions.is_empty();
            next += 1;
            continue;
        }
        for action in actions {
            let mut after = this.again(&world, next);
            outcome.steps += 1;
            if let Err(why) = caught(|| model.step(&mut after, action)) {
                outcome.failure = Some((this.path(next, Some(action)), why));
                outcome.is_complete = false;
                outcome.states = this.visited.len();
                return outcome;
            }
            if keys.insert(model.key(&after)) {
                this.visited.push(Visited {
                    before: u32::try_from(next).expect("fewer than 2^32 states"),
                    action: Some(action),
                    depth: depth + 1,
                });
            }
        }
        next += 1;
    }
    outcome.states = this.visited.len();
    outcome
}

impl<M: Model> Explorer<'_, M> {
    fn path(&self, state: usize, last: Option<M::Action>) -> Vec<M::Action> {
        let mut path: Vec<_> = last.into_iter().collect();
        let mut at = state;
        while let Some(action) = self.visited[at].action {
            path.push(action);
            at = self.visited[at].before as usize;
        }
        path.reverse();
        path
    }

    /// Repeats the actions that lead to a state.
    fn rebuild(&self, state: usize) -> M::World {
        let mut world = self.model.start();
        for action in self.path(state, None) {
            // The step succeeded when the state was found.
            let _ = self.model.step(&mut world, action);
        }
        world
    }

    fn again(&self, world: &M::World, state: usize) -> M::World {
        self.model
            .copy(world)
            .unwrap_or_else(|| self.rebuild(state))
    }
}

/// Calls `run`; returns a panic as an error.
fn caught(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("a panic: {}", text.unwrap_or("without a text")))
    })
}
