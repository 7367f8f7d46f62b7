//! Nodes of another stack in the simulator: firmware as a shared object. Its interface is that of
//! Contiki-NG (from release 4.9 on) for the simulator Cooja.
//!
//! The user names a file; [`Modules`] loads a copy of it for each node and runs it in virtual time.
//! `docs/modules.md` states the purpose of such nodes and what they do not show.
//!
//! - `library.rs`: a private copy of a shared object;
//! - `interface.rs`: the symbols of the shared object;
//! - `node.rs`: the simulator's [`redpoll_sim::foreign::ForeignNode`];
//! - `random.rs`: libc's `rand`, with a state for each node;
//! - `watch.rs`: firmware that never waits;
//! - `guest/`: firmware with the interface of `redpoll_module.h`, each node in a separate process.
//!
//! A Contiki-NG module is foreign code in the process of the simulator. The module can do whatever
//! the process can, and a crash of the module is a crash of the program. This crate is therefore
//! separate, and the program contains it only with the feature `modules`.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod guest;
mod interface;
mod library;
mod node;
mod random;
mod watch;

use std::sync::Arc;

use redpoll_sim::foreign::{ForeignNode, ForeignSpec};
use redpoll_sim::guest::GuestNode;

use guest::Process;
use interface::Interface;
use library::Library;
use node::Module;
use watch::Watch;

pub struct Modules {
    watch: Arc<Watch>,
}

impl Modules {
    /// Returns a loader that calls `on_hang` with an explanation, in a separate thread, when a
    /// module has run for longer than the scenario allows. The module cannot be stopped: `on_hang`
    /// must end the process.
    pub fn new(on_hang: impl Fn(&str) + Send + 'static) -> Modules {
        Modules {
            watch: Watch::begin(on_hang),
        }
    }
}

impl Modules {
    /// Loads the node `spec` with its own copy of the firmware. The error is a one-line message.
    pub fn load(&self, spec: &ForeignSpec<'_>) -> Result<Box<dyn ForeignNode>, String> {
        let shown = spec.module.display();
        let file = std::fs::read(spec.module).map_err(|error| {
            format!("got {shown}, which cannot be read ({error}); allowed: a readable file")
        })?;
        let watched = self.watch.join(spec.name, spec.patience);
        let library = watched.during(|| Library::load(&file));
        let library = library.map_err(|problem| {
            format!("got {shown}, which is not a module ({problem}); allowed: a shared object for this machine")
        })?;
        let interface = Interface::find(library).map_err(|problem| {
            format!(
                "got {shown}, which {problem}; allowed: firmware for Cooja, built with \
                     Contiki-NG 4.9 or later"
            )
        })?;
        Ok(Box::new(Module::new(interface, watched, spec)))
    }
}

/// Loads the firmware of the node `spec`, with the interface of `redpoll_module.h`, in a separate
/// process.
pub fn load_guest(spec: &ForeignSpec<'_>) -> Result<Box<dyn GuestNode>, String> {
    match Process::start(spec) {
        Ok(process) => Ok(Box::new(process)),
        Err(problem) => Err(format!("got {}, which {problem}", spec.module.display())),
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        self.watch.end();
    }
}

impl std::fmt::Debug for Modules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Modules").finish_non_exhaustive()
    }
}
