//! Nodes with firmware of other stacks: their loader, and the log of the text that they print.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use redpoll_sim::foreign::{ForeignNode, ForeignSpec};
use redpoll_sim::guest::GuestNode;
use redpoll_sim::{PrintedLine, Scenario, World};

use crate::failure::{Failure, cannot_write};

type Loaded = Result<Box<dyn ForeignNode>, String>;

/// Returns a loader of modules. It ends the program if a module hangs.
#[cfg(feature = "modules")]
pub(crate) fn loader(scenario: &str) -> impl Fn(&ForeignSpec<'_>) -> Loaded {
    let scenario = scenario.to_owned();
    let modules = redpoll_modules::Modules::new(move |line| {
        let line = format!("{scenario}: {line}");
        // The process must exit here: the thread that would end the run is the one that hangs.
        let _ = crate::output::fail(crate::USAGE, line);
        std::process::exit(crate::USAGE.into());
    });
    move |node| modules.load(node)
}

/// Returns a loader that refuses every node, for a program without the feature `modules`.
#[cfg(not(feature = "modules"))]
pub(crate) fn loader(_: &str) -> impl Fn(&ForeignSpec<'_>) -> Loaded {
    |_| {
        Err("nodes of the kind module are not in this build; allowed: a program that was built with the feature `modules`".to_owned())
    }
}

/// Loads a node with the interface of `redpoll_module.h`.
#[cfg(feature = "modules")]
pub(crate) fn guest(node: &ForeignSpec<'_>) -> Result<Box<dyn GuestNode>, String> {
    redpoll_modules::load_guest(node)
}

#[cfg(not(feature = "modules"))]
pub(crate) fn guest(_: &ForeignSpec<'_>) -> Result<Box<dyn GuestNode>, String> {
    Err("nodes of the kinds module and openthread are not in this build; allowed: a program that was built with the feature `modules`".to_owned())
}

/// Returns a line for each node whose firmware failed.
pub(crate) fn failures(file: &str, world: &World) -> Vec<Failure> {
    let line = |it: &PrintedLine| {
        let name = &world.scenario().nodes[it.node].name;
        let seconds = it.at.as_micros() as f64 / 1e6;
        let text = format!(
            "{file}: nodes.{name}: after {seconds:.3} s the firmware failed, and the node was \
             switched off: {}",
            it.text
        );
        (crate::USAGE, text)
    };
    world.failed_firmware().iter().map(line).collect()
}

/// The file for the text that nodes with firmware print.
pub(crate) struct Log {
    file: BufWriter<File>,
    name: String,
}

impl Log {
    pub(crate) fn create(path: &Path) -> Result<Log, Failure> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| cannot_write(&name, &error))?;
        Ok(Log {
            file: BufWriter::new(file),
            name,
        })
    }

    /// Writes the text that was printed since the last call: seconds, node, line.
    pub(crate) fn write(&mut self, world: &mut World) -> Result<(), Failure> {
        let lines = world.take_printed();
        let write = |scenario: &Scenario, file: &mut BufWriter<File>| {
            for line in &lines {
                let at = line.at.as_micros();
                let (seconds, rest) = (at / 1_000_000, at % 1_000_000);
                let name = &scenario.nodes[line.node].name;
                writeln!(file, "{seconds}.{rest:06} {name} {}", line.text)?;
            }
            file.flush()
        };
        write(world.scenario(), &mut self.file).map_err(|error| cannot_write(&self.name, &error))
    }
}
