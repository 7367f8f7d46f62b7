//! The footprint of the library for C on microcontrollers: flash and memory in a linked image.
//!
//! `crates/capi/tests/footprint.c` is linked with each archive, and runs on an emulator of the
//! processor. `docs/c.md` has the table.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection, SectionFlags};

use super::archives::{KINDS, Kind, Library, OVER_IP, TCP, WHOLE};
use super::install::target_dir;
use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

/// Action on the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Print,
    /// Writes the table into the document.
    Write,
    /// Compares the table with the document.
    Check,
}

const DOCUMENT: &str = "docs/c.md";
const BEGIN: &str = "<!-- footprint: cargo xtask c-libs --size --write -->\n";
const END: &str = "<!-- /footprint -->\n";

/// The nodes, and TCP alone, whose footprint is measured: a macro of `footprint.c`, the column's title, and the
/// library.
const NODES: [(&str, &str, Library); 5] = [
    ("ON_RADIO", "leaf on a radio", WHOLE),
    ("OVER_IP", "TCP client over your IPv6", OVER_IP),
    (
        "SERVER_OVER_IP",
        "TCP client and server over your IPv6",
        OVER_IP,
    ),
    ("TCP_ALONE", "TCP alone, client", TCP),
    ("SERVER_TCP_ALONE", "TCP alone, client and server", TCP),
];

/// Bytes of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Footprint {
    flash: u64,
    /// Bytes of RAM of the node, and of the library's variables outside of the node.
    memory: u64,
}

pub fn run(workspace: &Workspace, action: Action) -> Outcome {
    let mut rows = vec![
        format!(
            "| target | processors | {} |",
            NODES
                .map(|(_, title, _)| format!("{title}: flash, bytes | {title}: RAM, bytes"))
                .join(" | ")
        ),
        format!("|---|---|{}", "---:|---:|".repeat(NODES.len())),
    ];
    for kind in &KINDS {
        let mut cells = vec![format!("`{}`", kind.target), kind.processors.to_owned()];
        for (node, _, library) in NODES {
            let archive = kind.build(workspace, &library)?;
            let found = measure(workspace, kind, &archive, node)?;
            cells.extend([grouped(found.flash), grouped(found.memory)]);
        }
        rows.push(format!("| {} |", cells.join(" | ")));
    }
    let table = format!("\n{}\n\n", rows.join("\n"));
    print!("{table}");
    if action == Action::Print {
        return Ok(());
    }
    let path = workspace.root.join(DOCUMENT);
    let text = source::read(&path)?;
    let (before, old, after) = parts(&text)
        .ok_or_else(|| Failure::new(format!("{DOCUMENT}: no lines `{}`", BEGIN.trim())))?;
    match action {
        Action::Write => std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}"))
            .map_err(|e| Failure::new(format!("cannot write {DOCUMENT}: {e}"))),
        Action::Check if old != table => Err(Failure::new(format!(
            "{DOCUMENT}: the footprint differs; run `cargo xtask c-libs --size --write`"
        ))),
        Action::Check | Action::Print => Ok(()),
    }
}

/// Divides the document into the text before the table, the table and the text after it.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (table, after) = rest.split_once(END)?;
    Some((before, table, after))
}

fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}

/// Links an image, runs it and returns its footprint.
fn measure(
    workspace: &Workspace,
    kind: &Kind,
    archive: &Path,
    node: &str,
) -> Result<Footprint, Failure> {
    let image = link(workspace, kind, archive, node)?;
    let (flash, memory) = sizes(&image)?;
    let told = emulate(kind, &image)?;
    let of_node = told
        .lines()
        .find_map(|line| line.strip_prefix("node ")?.parse::<u64>().ok());
    let is_right = told.lines().any(|line| line == "sent");
    match of_node {
        Some(of_node) if is_right => Ok(Footprint {
            flash,
            memory: memory + of_node,
        }),
        _ => Err(Failure::new(format!(
            "{}: the image {} does not run; it printed: {told:?}",
            kind.target,
            image.display()
        ))),
    }
}

/// Returns the linker's script: code, then data, with the memory of the node in its own region.
fn script(kind: &Kind) -> String {
    let (code, data) = (kind.code, kind.data);
    format!(
        "ENTRY(start)
SECTIONS
{{
  .text {code:#x} : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.srodata*) }}
  .ARM.exidx : {{ *(.ARM.exidx*) }}
  .data {data:#x} : {{ *(.data*) *(.sdata*) }}
  .bss : {{ *(.bss*) *(.sbss*) *(COMMON) }}
  .node (NOLOAD) : {{ *(.node) }}
  stack = {data:#x} + 0x10000;
}}
"
    )
}

fn link(
    workspace: &Workspace,
    kind: &Kind,
    archive: &Path,
    node: &str,
) -> Result<PathBuf, Failure> {
    let capi = workspace.root.join("crates/capi");
    let folder = target_dir(workspace).join("c-libs/footprint");
    let name = format!("{}-{node}", kind.target);
    let (image, script_path) = (
        folder.join(format!("{name}.elf")),
        folder.join(format!("{name}.ld")),
    );
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&script_path, script(kind)))
        .map_err(|e| Failure::new(format!("cannot write {}: {e}", script_path.display())))?;
    let mut link = Command::new(kind.compiler[0]);
    link.args(&kind.compiler[1..]);
    link.args(["-std=gnu11", "-Os", "-Wall", "-Werror", "-ffreestanding"]);
    link.args([
        "-nostdlib",
        "-Wl,--gc-sections",
        "-Wl,--no-warn-rwx-segments",
        "-Wl,--no-warn-execstack",
    ]);
    link.args(["-fno-pic", "-Wl,--build-id=none"]);
    link.arg(format!("-D{node}")).arg("-T").arg(&script_path);
    link.arg("-I").arg(capi.join("include"));
    link.arg(capi.join("tests/footprint.c")).arg(archive);
    link.arg("-o").arg(&image);
    workspace::run(&mut link)?;
    Ok(image)
}

/// Returns the bytes in flash and the bytes of memory, without those of the node.
fn sizes(image: &Path) -> Result<(u64, u64), Failure> {
    let unreadable =
        |e: &dyn std::fmt::Display| Failure::new(format!("cannot read {}: {e}", image.display()));
    let bytes = std::fs::read(image).map_err(|e| unreadable(&e))?;
    let file = object::File::parse(&*bytes).map_err(|e| unreadable(&e))?;
    let (mut flash, mut memory) = (0, 0);
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            continue;
        };
        let is_loaded = sh_flags & u64::from(object::elf::SHF_ALLOC) != 0;
        if !is_loaded || section.name() == Ok(".node") {
            continue;
        }
        let is_writable = sh_flags & u64::from(object::elf::SHF_WRITE) != 0;
        let has_bytes = section.kind() != object::SectionKind::UninitializedData;
        flash += if has_bytes { section.size() } else { 0 };
        memory += if is_writable { section.size() } else { 0 };
    }
    Ok((flash, memory))
}

fn emulate(kind: &Kind, image: &Path) -> Result<String, Failure> {
    let mut qemu = Command::new("timeout");
    qemu.arg("60").args(kind.emulator);
    qemu.args(["-semihosting", "-display", "none", "-monitor", "none"]);
    qemu.args(["-serial", "none", "-kernel"]).arg(image);
    let output = qemu
        .output()
        .map_err(|e| Failure::new(format!("cannot run {}: {e}", kind.emulator[0])))?;
    let told = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&told).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_found() {
        let text = format!("a\n{BEGIN}table\n{END}b\n");
        assert_eq!(parts(&text), Some(("a\n", "table\n", "b\n")));
        assert_eq!(parts("a"), None);
        assert_eq!(grouped(13_045), "13,045");
        assert_eq!(grouped(45), "45");
    }
}
