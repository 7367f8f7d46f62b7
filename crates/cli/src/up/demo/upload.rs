//! Step 3: a leaf uploads to a TCP server of this process, which uses the host kernel's TCP.

use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use redpoll_sim::counting_lines;

use super::plan::{Plan, Upload};
use super::show::{Step, kbps};
use super::{Outcome, StepFailure};

/// Longest wait for the leaf's connection. The leaf tries to connect every few seconds.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(plan: &Plan, step: &Step) -> Result<Outcome, StepFailure> {
    let Some(upload) = &plan.upload else {
        return Ok(Outcome::LeftOut(
            "no node of this scenario sends a file to the host".to_owned(),
        ));
    };
    if !plan.host_is_joined {
        return Ok(Outcome::LeftOut(plan.needs_tun()));
    }
    let listener = TcpListener::bind(upload.server)
        .map_err(|e| format!("cannot listen on {}: {e}", upload.server))?;
    step.note(&format!(
        "a TCP server on this computer listens on {}",
        upload.server
    ));
    let mut stream = accept(&listener)?;
    // The listener closes, so that the leaf cannot connect again after its transfer.
    drop(listener);
    let started = Instant::now();
    step.note(&format!(
        "{} connected from {}",
        upload.node,
        stream.peer_addr()?
    ));
    let received = receive(&mut stream, upload, step)?;
    let rate = kbps(received, started.elapsed());
    Ok(Outcome::Done(format!(
        "{received} bytes, all correct, at {rate}"
    )))
}

fn accept(listener: &TcpListener) -> Result<TcpStream, StepFailure> {
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => {
                sleep(Duration::from_millis(20));
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                return Err(format!("no node connected within {} s", PATIENCE.as_secs()).into());
            }
            Err(e) => return Err(e.into()),
        }
    }
}

fn receive(stream: &mut TcpStream, upload: &Upload, step: &Step) -> Result<u64, StepFailure> {
    let bar = step.bar(upload.bytes);
    let mut received = 0;
    let mut block = [0; 4096];
    loop {
        let len = match stream.read(&mut block) {
            Ok(0) => break,
            Ok(len) => len,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(format!(
                    "no data arrived for {} s, after {received} bytes",
                    PATIENCE.as_secs()
                )
                .into());
            }
            Err(e) => return Err(format!("{e} after {received} bytes").into()),
        };
        let mut wanted = [0; 4096];
        counting_lines(received, &mut wanted);
        if let Some(place) = block
            .iter()
            .zip(&wanted)
            .take(len)
            .position(|(got, wanted)| got != wanted)
        {
            return Err(format!("byte {} is wrong", received + place as u64).into());
        }
        received += len as u64;
        bar.set_position(received);
    }
    bar.finish_and_clear();
    if received != upload.bytes {
        return Err(format!(
            "{received} of {} bytes arrived before the connection ended",
            upload.bytes
        )
        .into());
    }
    Ok(received)
}
