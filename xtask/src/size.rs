//! The cost of the engines on a microcontroller: `cargo xtask size`.
//!
//! - sizes of types on 32-bit ARM, from the compiler;
//! - flash, by crate: an image of `firmware/` with the whole TCP engine minus the same image
//!   without it, linked, without unused code;
//! - panics that the linker could not drop, by the line that may panic;
//! - instructions for a data segment, on QEMU's Cortex-M0;
//! - instructions of the steps of a whole node;
//! - flash and memory of another stack's leaf, for comparison.
//!
//! With `--check`, sizes are compared with the snapshot `firmware/size.txt` and with the promised
//! limits. A leaf's memory and stack, and the instructions for a segment, are compared only with
//! promised limits. Steps are compared with the simulator's table. Code that may panic is a
//! failure.

pub mod firmware;
mod flash;
mod image;
mod inline;
mod measured;
mod options;
mod peer;
mod profile;
mod qemu;
mod security;
mod snapshot;
mod stack;
mod steps;
mod tables;
mod thumb;
mod types;

use crate::purity::Toolchain;
use crate::report::{Failure, Outcome};
use crate::workspace::Workspace;
use flash::Flash;
use measured::Measured;
pub use options::Options;
use peer::Layers;
use stack::Stack;

/// Fails if no linker for images is found. [`Toolchain::find`] looks for compilers.
pub fn possible(toolchain: &Toolchain) -> Outcome {
    firmware::linker(toolchain).map(|_| ())
}

/// Returns the reason why no instructions can be counted, if there is one.
pub fn uncounted() -> Option<String> {
    let missing = || {
        format!(
            "instructions are not counted: {} is missing (scripts/setup.sh size)",
            qemu::EMULATOR
        )
    };
    (!firmware::on_path(qemu::EMULATOR)).then(missing)
}

/// Prints the cost of link-layer security in flash and instructions, or why it is unknown here.
pub fn print_security(workspace: &Workspace) -> Outcome {
    println!();
    let toolchain = Toolchain::find(None).and_then(|found| possible(&found).map(|()| found));
    let toolchain = match toolchain {
        Ok(toolchain) => toolchain,
        Err(reason) => {
            println!("skipped: flash and instructions of link-layer security: {reason}");
            return Ok(());
        }
    };
    let images = firmware::build(workspace, &toolchain)?;
    let reason = uncounted();
    security::measure(workspace, &images, reason.is_none())?.print();
    if let Some(reason) = reason {
        println!("left out: {reason}");
    }
    Ok(())
}

pub fn run(workspace: &Workspace, options: &Options) -> Outcome {
    let toolchain = Toolchain::find(options.with)?;
    eprintln!("size: {toolchain}");
    if let Some(text) = &options.inline {
        return inline::run(workspace, &toolchain, text);
    }
    let types = types::sizes(workspace, &toolchain)?;
    let images = firmware::build(workspace, &toolchain)?;
    let (instructions, steps, rivals) = match uncounted() {
        None => {
            let counts = qemu::count(&images.pair.path)?;
            let rivals = qemu::count_rivals(&images.rivals.path)?;
            (Ok(counts), steps::count(&images.mesh.path)?, rivals)
        }
        Some(reason) => (Err(format!("skipped {reason}")), Vec::new(), Vec::new()),
    };
    let measured = Measured {
        types,
        flash: Flash::between(&images.tcp, &images.bare),
        subset: Flash::between(&images.subset, &images.bare),
        node: Flash::between(&images.node, &images.bare),
        leaf: Flash::between(&images.leaf, &images.bare),
        leaf_panics: images.leaf.panics(&workspace.root),
        leaf_stack: Stack::of(&images.leaf),
        smoltcp: Layers::of(&images.smoltcp, &images.bare),
        routed: (images.routed.iter())
            .map(|(name, image)| (*name, Flash::between(image, &images.node)))
            .collect(),
        panics: images.tcp.panics(&workspace.root),
        node_panics: images.node.panics(&workspace.root),
        routed_panics: (images.routed.iter())
            .flat_map(|(_, image)| image.panics(&workspace.root))
            .collect(),
        security: security::measure(workspace, &images, instructions.is_ok())?,
        instructions,
        steps,
        rivals,
    };
    match options.json.as_deref() {
        None => measured.print(),
        Some("-") => println!("{}", measured.json()),
        Some(file) => std::fs::write(file, format!("{}\n", measured.json()))
            .map_err(|e| Failure::new(format!("cannot write {file}: {e}")))?,
    }
    if options.profile {
        println!();
        profile::print(workspace, &images.pair)?;
    }
    if options.accept {
        snapshot::write(workspace, &measured.snapshot())?;
        if !measured.steps.is_empty() {
            steps::write(workspace, &measured.steps)?;
        }
    }
    if options.check {
        measured.check(workspace, toolchain.unjudged().as_deref())
    } else {
        Ok(())
    }
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}
