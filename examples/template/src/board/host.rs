//! This computer: the node and a neighbour on simulated radios. The neighbour sends `hello` to port 7
//! and prints the answer; then the program ends.

use std::convert::Infallible;

use embassy_futures::select::{Either4, select4};
use embassy_futures::yield_now;
use embedded_io_async::{Read, Write};
use redpoll_sim::{Ether, RadioConfig};
use redpoll_socket::stack::LeafStorage;
use redpoll_socket::stack::base::Instant;
use redpoll_socket::stack::mac::Radio;
use redpoll_socket::stack::transport::Endpoint;

use crate::node::{self, LEAF, Net, PARENT, Place, Random};

thread_local! {
    /// Two radios that receive each other.
    static ETHER: Ether = Ether::new(2, &RadioConfig::default());
}

fn now() -> Instant {
    ETHER.with(|ether| ether.radio(0).now())
}

/// Runs `app` until the neighbour has its answer, and ends the program.
pub async fn run(app: impl AsyncFnOnce(&Net)) {
    println!("the answer is {:?}", ask(app).await);
    std::process::exit(0);
}

/// Runs `app` on the node; returns the answer that its neighbour gets.
pub async fn ask(app: impl AsyncFnOnce(&Net)) -> String {
    let ether = ETHER.with(Ether::clone);
    let (mut radio, mut other) = (ether.radio(0), ether.radio(1));
    let storage = || Box::leak(Box::new(LeafStorage::NEW));
    let random = |byte| Random {
        secret: [byte; 16],
        seed: byte.into(),
    };
    let (short, parent) = (LEAF, PARENT);
    let net = node::start(
        &mut radio,
        now,
        storage(),
        Place { short, parent },
        random(1),
    );
    let (short, parent) = (PARENT, LEAF);
    let neighbour = node::start(
        &mut other,
        now,
        storage(),
        Place { short, parent },
        random(2),
    );
    let to = Endpoint::new(net.ask(|node, _| node.address()), 7);
    let nodes = embassy_futures::join::join(net.run_on(&mut radio), neighbour.run_on(&mut other));
    match select4(app(&net), nodes, hello(&neighbour, to), air(&ether)).await {
        Either4::Third(answer) => answer,
        _ => panic!("the program has ended before its answer"),
    }
}

async fn hello(net: &Net, to: Endpoint) -> String {
    let mut stream = net.tcp_connect(to).await.expect("the node listens");
    stream
        .write_all(b"hello")
        .await
        .expect("the node is connected");
    let mut answer = [0; 5];
    stream
        .read_exact(&mut answer)
        .await
        .expect("the node answers");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Advances the time of the radios after all other tasks have run.
async fn air(ether: &Ether) -> Infallible {
    loop {
        yield_now().await;
        assert!(ether.step(), "neither node waits for an event");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_answer_is_what_was_sent() {
        let answer = embassy_futures::block_on(super::ask(crate::echo));
        assert_eq!(answer, "hello");
    }
}
