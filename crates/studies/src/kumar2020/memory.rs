//! What TCP takes in memory: the paper's table 3. The numbers are those that
//! `cargo xtask size` measures on a Cortex-M0 and keeps in a file that `--check`
//! compares.

use crate::Criterion::AtMost;
use crate::{Fact, Figure, Table};

/// The snapshot.
const SIZES: &str = include_str!("../../../../firmware/size.txt");

/// Hamilton's memory in bytes.
const HAMILTON: f64 = 32.0 * 1_024.0;

const CONNECTION: &str = "redpoll_tcp::Connection<&'static mut [u8]>";
const CONNECTION_SLOT: &str = "redpoll_stack::ConnectionSlot<&'static mut [u8]>";
const LISTENER: &str = "redpoll_tcp::Listener";
const LISTENER_SLOT: &str = "redpoll_stack::ListenerSlot";
const SOCKET: &str = "redpoll_socket::posix::Socket";
const SUBSET_FLASH: &str = "flash: TCP with what TCPlp has";
const FLASH: &str = "flash: TCP";

/// The bytes that the snapshot has for a name.
fn bytes(name: &str) -> Option<f64> {
    let line = SIZES
        .lines()
        .find(|line| line.trim_start().split_once("  ").map(|(_, it)| it) == Some(name))?;
    line.split_whitespace().next()?.parse().ok()
}

const PROTOCOL: &str = "protocol";
const LAYER: &str = "socket layer";
const POSIX: &str = "posix_sockets";
const ACTIVE: (&str, &str) = ("RAM of an active socket", "B");
const PASSIVE: (&str, &str) = ("RAM of a passive socket", "B");
const ROM: (&str, &str) = ("ROM", "B");

/// A number: of which module, what, which of the snapshot's, less which, and the
/// paper's.
type Line = (
    &'static str,
    (&'static str, &'static str),
    &'static str,
    Option<&'static str>,
    Option<f64>,
);

const LINES: [Line; 8] = [
    (PROTOCOL, ROM, SUBSET_FLASH, None, Some(19_972.0)),
    ("all of it", ROM, FLASH, None, None),
    (PROTOCOL, ACTIVE, CONNECTION, None, Some(364.0)),
    (LAYER, ACTIVE, CONNECTION_SLOT, Some(CONNECTION), Some(88.0)),
    (POSIX, ACTIVE, SOCKET, None, Some(48.0)),
    (PROTOCOL, PASSIVE, LISTENER, None, Some(12.0)),
    (LAYER, PASSIVE, LISTENER_SLOT, Some(LISTENER), Some(88.0)),
    (POSIX, PASSIVE, SOCKET, None, Some(48.0)),
];

/// Table 3.
pub fn table_3() -> Figure {
    let mut facts: Vec<Fact> = Vec::new();
    for (module, metric, name, less, paper) in LINES {
        let fact = Fact::new(("ours", module), metric, move |_| {
            Some(bytes(name)? - less.map_or(Some(0.0), bytes)?)
        });
        facts.push(match paper {
            Some(paper) => fact.paper(paper).must(AtMost(paper)),
            None => fact.note("with a SYN cache and cookies, Fast Open, user timeouts, path MTU"),
        });
    }
    let share = |_: &Table<'_>| Some(100.0 * (bytes(CONNECTION_SLOT)? + bytes(SOCKET)?) / HAMILTON);
    facts.push(
        Fact::shape(
            "an active socket's share of 32 KiB, in %",
            share,
            AtMost(2.0),
        )
        .paper(1.53)
        .note("the paper: 2 % of what Hamilton has"),
    );
    Figure {
        name: "table-3",
        title: "Memory of TCP",
        x_label: "module",
        about: "Cortex-M0; a connection without its buffers. ROM of the protocol is the engine \
                with the features that TCPlp has. The protocol's sockets are Connection and \
                Listener; the socket layer is what a node's table adds to each, and \
                posix_sockets a Socket, the same for both. The ROM of those two is part of a \
                node's and not measured by itself. No more than the paper's.",
        points: Vec::new(),
        facts,
    }
}

#[cfg(test)]
mod tests {
    use super::{LINES, SIZES, bytes};

    #[test]
    fn the_snapshot_has_what_is_read() {
        for (_, _, name, less, _) in LINES {
            for name in [Some(name), less].into_iter().flatten() {
                assert!(
                    bytes(name).is_some_and(|bytes| bytes > 0.0),
                    "{name}\n{SIZES}"
                );
            }
        }
        assert_eq!(bytes("redpoll_tcp::Nothing"), None);
    }
}
