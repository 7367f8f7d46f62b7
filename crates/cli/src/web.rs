//! `--web`: the live view of a run.

use std::net::SocketAddr;
use std::time::Instant;

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

/// Returns a text about the users who can also reach the page, if there are any.
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

/// A pair of virtual and real time at which the speed last changed. It determines how far a run
/// with this speed should be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Anchor(Option<(Instant, u64, f64)>);

impl Anchor {
    /// Returns the virtual time in microseconds that a run at `t` should have reached by now;
    /// `None` if it runs as fast as possible.
    pub(crate) fn goal(&mut self, t: u64, speed: Option<f64>) -> Option<u64> {
        let Some(speed) = speed else {
            self.0 = None;
            return None;
        };
        let now = Instant::now();
        let (at, from, _) = *match &mut self.0 {
            Some(anchor) if anchor.2 == speed => anchor,
            other => other.insert((now, t, speed)),
        };
        let passed_us = now.duration_since(at).as_micros() as f64 * speed;
        let goal = from + passed_us as u64;
        // A run that was too slow does not catch up later.
        if goal > t + (1e6 * speed) as u64 + 1_000 {
            self.0 = Some((now, t, speed));
            return Some(t + (20_000.0 * speed) as u64 + 1);
        }
        Some(goal)
    }
}
