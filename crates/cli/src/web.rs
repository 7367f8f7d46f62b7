//! `--web`: the live view of a run.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use redpoll_linux::entropy;
use redpoll_web::Server;

use crate::FAILED;
use crate::args::WebArgs;
use crate::failure::Failure;

/// Listens at the address of `args`, if there is one.
pub(crate) fn listen(args: &WebArgs) -> Result<Option<Server>, Failure> {
    args.web.map(listen_at).transpose()
}

pub(crate) fn listen_at(address: SocketAddr) -> Result<Server, Failure> {
    let mut random = [0; 16];
    entropy::fill(&mut random).map_err(|error| (FAILED, error.to_string()))?;
    Server::listen(address, random).map_err(|error| {
        let line = format!("--web: {error}; to use a free port: --web 127.0.0.1:0");
        (FAILED, line)
    })
}

/// Returns lines for the terminal with the address of the live view.
pub(crate) fn greeting(server: &Server) -> String {
    format!(
        "Open this page: {}\n{}",
        server.url(),
        exposure(server.address())
    )
}

/// Returns a text about other users who can reach the page; empty if only users of this computer
/// can.
fn exposure(address: SocketAddr) -> String {
    if address.ip().is_loopback() {
        String::new()
    } else {
        format!(
            "Every user who can reach {address} can see the page. Changing the mesh requires the \
             token after the # above.\n"
        )
    }
}

/// Returns the real time since the first call (see [`goal`](redpoll_web::clock::Anchor::goal)).
pub(crate) fn now() -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed()
}
