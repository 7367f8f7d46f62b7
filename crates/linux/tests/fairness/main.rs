//! Compares the shares of Redpoll's TCP and Linux's Reno on a slow link whose queue is short.
//!
//! Pairs of a flow of the kernel and a flow of Redpoll pass one shaped link in real time, so the
//! full measurement takes ten minutes: `make fairness`, or `REDPOLL_FAIRNESS_SECONDS=600`. Without
//! these, the test takes a few seconds. It then only shows that the measurement works, and does not
//! judge the shares. The bench `fairness` of `redpoll bench` makes the same measurement with other
//! stacks, in virtual time.

#[path = "../common/mod.rs"]
mod common;
mod link;
#[path = "../common/node.rs"]
mod node;
mod share;

use std::process::ExitCode;
use std::time::Duration;

use common::Case;
use share::Pair;

const QUEUES: [usize; 5] = [6, 7, 8, 9, 10];
const FIRST_PREFIX: u16 = 0x400;

fn main() -> ExitCode {
    let seconds: Option<u64> = std::env::var("REDPOLL_FAIRNESS_SECONDS")
        .ok()
        .map(|text| text.parse().expect("REDPOLL_FAIRNESS_SECONDS is a number"));
    let queues = if seconds.is_some() {
        &QUEUES[..]
    } else {
        &QUEUES[..1]
    };
    let mut prefixes = FIRST_PREFIX..;
    let mut cases = Vec::new();
    for pair in Pair::ALL {
        for &queue in queues {
            let prefix = prefixes.next().expect("a prefix for each test");
            cases.push(Case::new(
                format!("{}_queue_of_{queue}", pair.name()),
                move || {
                    let time = Duration::from_secs(seconds.unwrap_or(3));
                    share::run(prefix, pair, queue, time, seconds.is_some());
                },
            ));
        }
    }
    // The tests wait most of the time, so all run at the same time.
    let threads = cases.len();
    common::main_with(cases, threads)
}
