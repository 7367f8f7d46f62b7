//! `--web`: the live view of a run.

use std::net::SocketAddr;

use redpoll_linux::entropy;
use redpoll_web::Server;

use crate::args::WebArgs;
use crate::run::Failure;
use crate::{FAILED, USAGE};

/// Listens where `args` say, if they do.
pub(crate) fn listen(args: &WebArgs) -> Result<Option<Server>, Failure> {
    let Some(address) = args.web else {
        return Ok(None);
    };
    let mut random = [0; 16];
    entropy::fill(&mut random).map_err(|error| (FAILED, error.to_string()))?;
    let server = Server::listen(address, random).map_err(|error| {
        let line = format!("--web: {error}; --web 127.0.0.1:0 takes a port that is free");
        (USAGE, line)
    })?;
    Ok(Some(server))
}

/// Where to look at the mesh, in lines for the terminal.
pub(crate) fn greeting(server: &Server) -> String {
    format!(
        "Look at it: {}\n{}",
        server.url(),
        exposure(server.address())
    )
}

/// Who else can, if anybody.
fn exposure(address: SocketAddr) -> String {
    match address.ip().is_loopback() {
        true => String::new(),
        false => format!(
            "Whoever reaches this computer at {address} can look at it, too; to change it takes what is behind the # above.\n"
        ),
    }
}
