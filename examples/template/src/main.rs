//! The echo service (RFC 862) over TCP: the node returns what it receives on port 7.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(any(board = "rp2040", test))]
mod at86rf233;
mod board;
mod node;

use embassy_executor::Spawner;
use embedded_io_async::{Read, Write};
use node::Net;

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    board::run(echo).await;
}

async fn echo(net: &Net) {
    let listener = net.tcp_listen(7).expect("the node has a free listener");
    loop {
        let Ok(mut stream) = listener.accept().await else {
            continue;
        };
        let mut bytes = [0; 256];
        while let Ok(len @ 1..) = stream.read(&mut bytes).await {
            if stream.write_all(&bytes[..len]).await.is_err() {
                break;
            }
        }
    }
}
