//! Memory of TCP (the paper's table 3). `cargo xtask size` measures the numbers on a Cortex-M0 and
//! keeps them in a file, which its `--check` compares.

use redpoll_experiments::{At, Figure, Metric, VERDICT, X};

const SIZES: &str = include_str!("../../../../../firmware/size.txt");

const HAMILTON: f64 = 32.0 * 1_024.0;

const CONNECTION: &str = "redpoll_tcp::Connection<&'static mut [u8]>";
const CONNECTION_SLOT: &str = "redpoll_stack::ConnectionSlot<&'static mut [u8]>";
const LISTENER: &str = "redpoll_tcp::Listener";
const LISTENER_SLOT: &str = "redpoll_stack::ListenerSlot";
const SOCKET: &str = "redpoll_socket::posix::Socket";
const SUBSET_FLASH: &str = "flash: TCP with TCPlp's features";
const FLASH: &str = "flash: TCP";

/// Returns the size in bytes of `name` in [`SIZES`]. Panics if the file has no such name, for
/// example because `cargo xtask size` renamed it.
fn bytes(name: &str) -> f64 {
    let is_it = |line: &&str| line.trim_start().split_once("  ").map(|(_, it)| it) == Some(name);
    let line = SIZES.lines().find(is_it);
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| {
        panic!("firmware/size.txt has no {name}; use a name that `cargo xtask size` writes")
    })
}

const PROTOCOL: &str = "protocol";
const LAYER: &str = "socket layer";
const POSIX: &str = "posix_sockets";
const ACTIVE: Metric = Metric::new("RAM of an active socket", "B");
const PASSIVE: Metric = Metric::new("RAM of a passive socket", "B");
const ROM: Metric = Metric::new("ROM", "B");

/// A size in Redpoll and in the paper: its module, metric, name in the criteria, and bytes.
struct Size {
    module: &'static str,
    metric: Metric,
    id: &'static str,
    bytes: f64,
    paper: f64,
}

fn sizes() -> [Size; 7] {
    let of = |module, metric, id, bytes, paper| Size {
        module,
        metric,
        id,
        bytes,
        paper,
    };
    let slot = bytes(CONNECTION_SLOT) - bytes(CONNECTION);
    let listener_slot = bytes(LISTENER_SLOT) - bytes(LISTENER);
    [
        of(PROTOCOL, ROM, "rom", bytes(SUBSET_FLASH), 19_972.0),
        of(PROTOCOL, ACTIVE, "active", bytes(CONNECTION), 364.0),
        of(LAYER, ACTIVE, "active-layer", slot, 88.0),
        of(POSIX, ACTIVE, "active-posix", bytes(SOCKET), 48.0),
        of(PROTOCOL, PASSIVE, "passive", bytes(LISTENER), 12.0),
        of(LAYER, PASSIVE, "passive-layer", listener_slot, 88.0),
        of(POSIX, PASSIVE, "passive-posix", bytes(SOCKET), 48.0),
    ]
}

pub fn table_3() -> Figure {
    let mut figure = Figure::new("table-3", "Memory of TCP")
        .x_label("module")
        .about(
            "Sizes on a Cortex-M0; the size of a connection excludes its buffers. Module protocol: \
             the ROM is that of the engine with TCPlp's features, an active socket is a \
             Connection, and a passive socket is a Listener. Module socket layer: the size of a \
             slot in a node's table minus the size of the Connection or Listener in it. Module \
             posix_sockets: the size of a Socket of redpoll_socket::posix, which is the same type \
             for active and passive sockets. The ROM of the last two modules is part of a node's \
             ROM and is not measured separately. Each value should be at most the paper's.",
        );
    for size in sizes() {
        figure
            .known(At::new("ours", size.module), size.metric, size.bytes)
            .paper(size.paper)
            .judged(size.id);
    }
    figure
        .known(At::new("ours", "protocol, all features"), ROM, bytes(FLASH))
        .note(
            "this ROM includes the code of the SYN cache and SYN cookies, of Fast Open, of user \
             timeouts, and of path MTU discovery",
        );
    let share = 100.0 * (bytes(CONNECTION_SLOT) + bytes(SOCKET)) / HAMILTON;
    figure
        .known(
            At::new(VERDICT, X::None),
            Metric::new("an active socket's share of 32 KiB, in %", ""),
            share,
        )
        .paper(1.53)
        .note("the paper states 2 % of the memory of its node, a Hamilton");
    figure
}

#[cfg(test)]
mod tests {
    use super::sizes;

    #[test]
    fn the_snapshot_has_every_value_that_is_read() {
        assert!(sizes().iter().all(|size| size.bytes > 0.0));
    }

    #[test]
    #[should_panic(expected = "firmware/size.txt has no redpoll_tcp::Nothing")]
    fn an_unknown_type_panics() {
        super::bytes("redpoll_tcp::Nothing");
    }
}
