//! Waits until the server of a mesh with RPL can be reached, because RPL needs time to find routes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::StepFailure;
use super::plan::Plan;

/// Longest wait for the mesh to form. A mesh of a few hops forms in half a minute.
const PATIENCE: Duration = Duration::from_secs(90);
const ANSWER: Duration = Duration::from_secs(5);

/// Waits until the server has answered, and prints the time that this took.
pub(super) fn wait(plan: &Plan) -> Result<(), StepFailure> {
    let at = match (plan.host_is_joined, plan.forwarded_port) {
        (false, Some(port)) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        _ => SocketAddr::from((plan.server.address, plan.server.port)),
    };
    println!("\nWaiting until the mesh has found its routes.");
    let began = Instant::now();
    loop {
        match answers(at) {
            Ok(()) => {
                let name = &plan.server.name;
                let s = began.elapsed().as_secs_f64();
                println!("      {name} answered after {s:.0} s");
                return Ok(());
            }
            Err(e) if began.elapsed() > PATIENCE => return Err(e.into()),
            Err(_) => std::thread::sleep(Duration::from_secs(1)),
        }
    }
}

fn answers(at: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&at, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    stream.read_exact(&mut [0])
}
