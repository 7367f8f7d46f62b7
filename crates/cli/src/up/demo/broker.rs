//! Step 4: a leaf publishes its readings to a real MQTT broker.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::net::{SocketAddrV6, TcpStream};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::mqtt::Subscriber;
use super::plan::{Plan, Readings};
use super::show::Step;
use super::{Outcome, StepFailure, command};

/// Debian installs daemons in a folder that is not in a user's PATH.
const PROGRAMS: [&str; 3] = [
    "mosquitto",
    "/usr/sbin/mosquitto",
    "/usr/local/sbin/mosquitto",
];
/// Number of complete batches that the step requires.
const BATCHES: usize = 2;
/// Longest wait for the readings. The leaf tries to connect every few seconds.
const PATIENCE: Duration = Duration::from_secs(90);

pub(super) fn run(plan: &Plan, step: &Step) -> Result<Outcome, StepFailure> {
    let Some(readings) = &plan.readings else {
        return Ok(Outcome::LeftOut(
            "no node of this scenario sends readings to the host".to_owned(),
        ));
    };
    if !plan.host_is_joined {
        return Ok(Outcome::LeftOut(plan.needs_tun()));
    }
    let Some(broker) = Broker::start(readings.broker)? else {
        return Ok(Outcome::LeftOut(
            "mosquitto is not installed: sudo apt-get install mosquitto".to_owned(),
        ));
    };
    step.note(&format!("mosquitto listens on {}", readings.broker));
    let mut subscriber = Subscriber::connect(readings.broker)?;
    let result = watch(&mut subscriber, readings, step);
    drop(broker);
    result
}

/// Watches the arriving readings until [`BATCHES`] batches are complete, and at least for the time
/// of one batch: the first readings may be older than the broker, because the leaf stored them.
fn watch(
    subscriber: &mut Subscriber,
    readings: &Readings,
    step: &Step,
) -> Result<Outcome, StepFailure> {
    let batch = usize::from(readings.batch);
    let wanted = BATCHES * batch;
    let started = Instant::now();
    let mut arrived = 0;
    while arrived < wanted || started.elapsed() < readings.batch_time() {
        let Some(message) = subscriber.next()? else {
            if started.elapsed() > PATIENCE {
                return Err(format!(
                    "{arrived} of {wanted} readings arrived in {} s",
                    PATIENCE.as_secs()
                )
                .into());
            }
            continue;
        };
        if message.topic != readings.topic {
            continue;
        }
        if message.payload.len() != usize::from(readings.bytes) {
            let len = message.payload.len();
            return Err(format!(
                "a reading of {len} bytes arrived; expected: {} bytes",
                readings.bytes
            )
            .into());
        }
        arrived += 1;
        if arrived % batch == 1 % batch {
            step.note(&format!("{}: {}", message.topic, shown(&message.payload)));
        }
        if arrived % batch == 0 {
            step.note(&format!(
                "a batch of {batch} readings was complete {:.1} s after the start of this step",
                started.elapsed().as_secs_f64()
            ));
        }
    }
    Ok(Outcome::Done(format!(
        "{arrived} readings of {} bytes each",
        readings.bytes
    )))
}

/// Returns a reading without its padding.
fn shown(payload: &[u8]) -> String {
    let text = String::from_utf8_lossy(payload);
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|&word| word != ".")
        .collect();
    words.join(" ")
}

/// A mosquitto process of the demonstration. Dropping the value kills the process.
struct Broker(Child);

impl Broker {
    /// Starts the broker on the address; `None` if no broker is installed.
    fn start(listen: SocketAddrV6) -> Result<Option<Broker>, StepFailure> {
        let config = format!(
            "listener {} {}\nallow_anonymous true\npersistence false\nlog_type error\nuser root\n",
            listen.port(),
            listen.ip()
        );
        let config = unnamed_file(&config)?;
        let spawn = |program: &&str| {
            let child = command(program)
                .args(["-c", "/dev/stdin"])
                .stdin(config.try_clone().ok()?)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            child.ok()
        };
        let Some(child) = PROGRAMS.iter().find_map(spawn) else {
            return Ok(None);
        };
        let mut broker = Broker(child);
        for _ in 0..100 {
            if TcpStream::connect(listen).is_ok() {
                return Ok(Some(broker));
            }
            if let Some(status) = broker.0.try_wait()? {
                return Err(format!(
                    "mosquitto does not start on {listen} ({status}): is the port in use?"
                )
                .into());
            }
            sleep(Duration::from_millis(50));
        }
        Err(format!("mosquitto has not opened {listen} within 5 s").into())
    }
}

/// Returns a file in memory with the text. mosquitto 2.0.21 refuses a pipe as its configuration.
fn unnamed_file(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("mosquitto.conf", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// mosquitto opens `/dev/stdin`, and reads it only if it is a file.
    #[test]
    fn a_program_can_open_the_configuration_by_its_path() {
        let config = unnamed_file("listener 1883\n").unwrap();
        let output = Command::new("sh")
            .args(["-c", "test -f /dev/stdin && cat /dev/stdin"])
            .stdin(config)
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"listener 1883\n");
    }
}
