//! Sizes of the engines' types in bytes, on 32-bit ARM.
//!
//! No ARM machine is needed: a probe crate uses each size as the length of an array, with a wrong
//! value, and the compiler's error states the right one.

use std::process::Command;

use serde_json::Value;

use crate::purity::{Libraries, Toolchain};
use crate::report::Failure;
use crate::workspace::Workspace;

/// Types whose sizes are printed or have promised limits. Connections are built without counters.
pub const CONNECTION: &str = "redpoll_tcp::Connection<&'static mut [u8]>";
pub const SLOT: &str = "redpoll_stack::ConnectionSlot<&'static mut [u8]>";
pub const LISTENER: &str = "redpoll_tcp::Listener";
pub const SOCKET: &str = "redpoll_socket::posix::Socket";
pub const HALF_OPEN: &str = "redpoll_tcp::HalfOpen";

/// The types, with the crate that must exist for each.
const TYPES: [(&str, &str); 15] = [
    ("tcp", CONNECTION),
    // The size of a connection's counters, where they are compiled in.
    ("tcp", "redpoll_tcp::Stats"),
    ("tcp", LISTENER),
    ("tcp", HALF_OPEN),
    ("tcp", "redpoll_tcp::SegmentDesc"),
    ("tcp", "redpoll_tcp::Config"),
    ("mac", "redpoll_mac::Mac"),
    ("mac", "redpoll_mac::FrameBuf"),
    (
        "lowpan",
        "redpoll_lowpan::Lowpan<redpoll_base::StaticMemory>",
    ),
    ("stack", SLOT),
    ("stack", "redpoll_stack::ListenerSlot"),
    // The size of a neighbour and a downward route in a node with RPL.
    ("stack", "core::option::Option<redpoll_stack::RplNeighbour>"),
    ("stack", "core::option::Option<redpoll_stack::RouteSlot>"),
    ("socket", SOCKET),
    ("stack", "redpoll_stack::Node<redpoll_base::StaticMemory>"),
];

/// A type and its size in bytes.
pub type Size = (&'static str, u64);

/// Returns the sizes of the types whose crates exist.
pub fn sizes(workspace: &Workspace, toolchain: &Toolchain) -> Result<Vec<Size>, Failure> {
    let crates = workspace.device_crates()?;
    let types: Vec<&str> = TYPES
        .into_iter()
        .filter(|(name, _)| crates.contains(name))
        .map(|(_, path)| path)
        .collect();
    let sizes = measure(workspace, toolchain, &crates, &types)?;
    Ok(types.into_iter().zip(sizes).collect())
}

fn measure(
    workspace: &Workspace,
    toolchain: &Toolchain,
    crates: &[&str],
    types: &[&str],
) -> Result<Vec<u64>, Failure> {
    let folder = workspace.root.join("target/size-probe");
    let unwritable = |e| Failure::new(format!("cannot write {}: {e}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(unwritable)?;
    let manifest = manifest(workspace, crates);
    std::fs::write(folder.join("Cargo.toml"), manifest).map_err(unwritable)?;
    std::fs::write(folder.join("lib.rs"), probe(types)).map_err(unwritable)?;

    let mut cargo: Command = toolchain.cargo(workspace, "check", Libraries::Core);
    cargo.current_dir(&folder);
    cargo.args(["--quiet", "--message-format", "json"]);
    // The compiler fails by design.
    let output = cargo
        .output()
        .map_err(|e| Failure::new(format!("cannot run cargo: {e}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let sizes = said(&text);
    if sizes.len() == types.len() {
        return Ok(sizes);
    }
    Err(Failure::new(format!(
        "size: the output of the compiler is not only sizes:\n{}{}",
        rendered(&text),
        String::from_utf8_lossy(&output.stderr)
    )))
}

fn manifest(workspace: &Workspace, crates: &[&str]) -> String {
    let mut text = String::from(
        "[package]\nname = \"size-probe\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies]\n",
    );
    for name in crates {
        let path = workspace.root.join("crates").join(name);
        let features = match *name {
            "stack" => ", features = [\"rpl\"]",
            _ => "",
        };
        text.push_str(&format!(
            "redpoll-{name} = {{ path = {path:?}, default-features = false{features} }}\n"
        ));
    }
    text
}

fn probe(types: &[&str]) -> String {
    let mut text = String::from("#![no_std]\n");
    for path in types {
        text.push_str(&format!(
            "const _: [(); usize::MAX] = [(); core::mem::size_of::<{path}>()];\n"
        ));
    }
    text
}

/// Returns the sizes that the compiler's errors state, in the order of the source lines.
fn said(messages: &str) -> Vec<u64> {
    let mut sizes: Vec<(u64, u64)> = errors(messages)
        .filter_map(|error| {
            let span = error["spans"].as_array()?.first()?.clone();
            let label = span["label"].as_str()?;
            let (_, found) = label.rsplit_once("size of ")?;
            Some((span["line_start"].as_u64()?, found.trim().parse().ok()?))
        })
        .collect();
    sizes.sort_unstable();
    sizes.into_iter().map(|(_, size)| size).collect()
}

fn rendered(messages: &str) -> String {
    errors(messages)
        .filter_map(|error| error["rendered"].as_str().map(String::from))
        .collect()
}

fn errors(messages: &str) -> impl Iterator<Item = Value> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-message")
        .map(|message| message["message"].clone())
        .filter(|message| message["level"] == "error")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_are_read_in_the_order_of_the_types() {
        let message = |line: u64, label: &str| {
            let spans = json!([{ "line_start": line, "label": label }]);
            let error = json!({ "level": "error", "spans": spans, "rendered": label });
            json!({ "reason": "compiler-message", "message": error }).to_string()
        };
        let messages = [
            message(
                3,
                "expected an array with a size of 9, found one with a size of 16",
            ),
            json!({ "reason": "compiler-artifact" }).to_string(),
            "no JSON at all".to_owned(),
            message(
                2,
                "expected an array with a size of 9, found one with a size of 736",
            ),
            message(4, "cannot find type `Nonsense`"),
        ]
        .join("\n");
        assert_eq!(said(&messages), [736, 16]);
        assert!(rendered(&messages).contains("Nonsense"));
    }

    #[test]
    fn the_probe_names_each_type_on_a_line_of_its_own() {
        let text = probe(&["a::B", "c::D"]);
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("size_of::<c::D>()"));
    }
}
