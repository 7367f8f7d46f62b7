//! Linux's TCP against Redpoll's: a kernel socket, and a node with a TUN interface over a link
//! without radio, on which packets are lost, duplicated and reordered.
//!
//! Every byte must arrive, every time, also if the node has one of the TCPs with which Redpoll's is
//! compared. `REDPOLL_INTEROP_SEEDS` is the number of seeds that are tried (1 unless set).

#[path = "../common/mod.rs"]
mod common;

mod bench;
mod fast_open;
mod garbage;
#[path = "../common/node.rs"]
mod node;
mod rivals;
mod transfer;

use std::process::ExitCode;

use common::Case;
use transfer::Direction;

/// Each test with this prefix number or a higher one makes an interface.
const FIRST_PREFIX: u16 = 0x100;

fn main() -> ExitCode {
    let seeds: u64 = std::env::var("REDPOLL_INTEROP_SEEDS").map_or(1, |text| {
        text.parse().expect("REDPOLL_INTEROP_SEEDS is a number")
    });
    let mut prefixes = FIRST_PREFIX..;
    let mut prefix = || prefixes.next().expect("a prefix for each test");
    let mut cases = vec![
        Case::new("garbage_from_the_host_is_dropped_and_counted", {
            let prefix = prefix();
            move || garbage::from_the_host(prefix)
        }),
        Case::with("ping", "the_kernel_pings_a_node", {
            let prefix = prefix();
            move || transfer::ping(prefix)
        }),
        Case::new("a_port_without_a_listener_refuses_the_kernel", {
            let prefix = prefix();
            move || transfer::refused(prefix)
        }),
        Case::new("a_kernel_port_without_a_listener_refuses_the_node", {
            let prefix = prefix();
            move || transfer::refused_by_the_kernel(prefix)
        }),
        Case::unless(
            fast_open::obstacle,
            "the_kernel_opens_a_connection_with_data",
            {
                let prefix = prefix();
                move || fast_open::from_the_kernel(prefix)
            },
        ),
        Case::unless(
            fast_open::obstacle,
            "the_node_opens_a_connection_to_the_kernel_with_data",
            {
                let prefix = prefix();
                move || fast_open::from_the_node(prefix)
            },
        ),
    ];
    for kind in rivals::Kind::ALL {
        for node_sends in [true, false] {
            let prefix = prefix();
            let verb = if node_sends {
                "sends_to"
            } else {
                "receives_from"
            };
            let name = format!("{}_{verb}_the_kernel", kind.name());
            cases.push(Case::new(name, move || {
                rivals::run(prefix, kind, node_sends);
            }));
        }
    }
    for seed in 1..=seeds {
        for loss_percent in [0, 5, 10] {
            for direction in Direction::ALL {
                let prefix = prefix();
                cases.push(Case::new(
                    format!(
                        "{}_at_{loss_percent}_percent_loss_with_seed_{seed}",
                        direction.name()
                    ),
                    move || transfer::run(prefix, direction, loss_percent, seed),
                ));
            }
        }
    }
    common::main(cases)
}
