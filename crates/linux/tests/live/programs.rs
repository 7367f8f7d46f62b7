//! Third-party programs, started for a test on a separate address and ended with the test.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// Debian installs daemons in a folder that is not in a user's PATH.
const MOSQUITTO: [&str; 2] = ["mosquitto", "/usr/sbin/mosquitto"];

/// A process, which ends when this value is dropped, and its output.
struct Server {
    child: Child,
    output: Option<JoinHandle<String>>,
}

impl Server {
    /// Starts the server with this input, and waits until it listens.
    fn start(mut command: Command, input: &str, address: SocketAddr) -> Option<Server> {
        let piped = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = piped.spawn().ok()?;
        let mut stdin = child.stdin.take().unwrap();
        // The end of the standard input ends the script.
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let mut stdout = child.stdout.take().unwrap();
        let output = Some(spawn(move || {
            let mut text = Vec::new();
            stdout.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        }));
        let server = Server { child, output };
        for _ in 0..200 {
            if TcpStream::connect(address).is_ok() {
                return Some(server);
            }
            sleep(Duration::from_millis(25));
        }
        panic!("nobody listens on {address}");
    }

    fn end(mut self) -> String {
        let _ = self.child.kill();
        self.output.take().unwrap().join().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns why a test with curl and mosquitto cannot run, if it cannot.
pub fn no_curl_or_mosquitto() -> Option<String> {
    let is_there = |program: &str| Command::new(program).arg("-h").output().is_ok();
    if !is_there("curl") {
        return Some("there is no curl".to_owned());
    }
    let found = MOSQUITTO.into_iter().any(is_there);
    (!found).then(|| "there is no mosquitto".to_owned())
}

pub struct Broker {
    server: Server,
    address: SocketAddr,
}

impl Broker {
    pub fn start(host: Ipv6Addr) -> Broker {
        let address = SocketAddr::new(host.into(), 1_883);
        let config = format!(
            "listener 1883 {host}\nallow_anonymous true\npersistence false\nlog_type all\n\
             log_dest stdout\nuser root\n"
        );
        // Version 2.0.21 refuses settings that are not in a regular file.
        let name = format!("redpoll-broker-{}-{host}.conf", std::process::id());
        let file = std::env::temp_dir().join(name.replace(':', "-"));
        fs::write(&file, config).unwrap();
        let server = MOSQUITTO.into_iter().find_map(|program| {
            let mut command = Command::new(program);
            command.arg("-c").arg(&file);
            Server::start(command, "", address)
        });
        let _ = fs::remove_file(&file);
        let server = server.expect("mosquitto is there");
        Broker { server, address }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Panics unless the broker received this number of readings.
    pub fn heard(self, readings: usize) {
        // The broker writes its output in blocks, and the last block at its end.
        let pid = nix::unistd::Pid::from_raw(self.server.child.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::SIGTERM).unwrap();
        let mut server = self.server;
        server.child.wait().unwrap();
        let log = server.end();
        let published = log.matches("Received PUBLISH from sample").count();
        assert_eq!(published, readings, "{log}");
    }
}

pub enum Proof<'p> {
    /// A pre-shared key of both ends, with its identity.
    Psk {
        key: &'p [u8],
        identity: &'p str,
    },
    Certificate(&'p Certificates),
}

/// A server of OpenSSL, which answers each line with the reversed line.
pub struct OpenSsl {
    _server: Server,
}

impl OpenSsl {
    pub fn start(address: SocketAddr, proof: &Proof<'_>) -> OpenSsl {
        let mut command = Command::new("openssl");
        // Tickets are for clients that return without a pre-shared key.
        command.args([
            "s_server",
            "-tls1_3",
            "-rev",
            "-num_tickets",
            "0",
            "-accept",
        ]);
        command.arg(address.to_string());
        match proof {
            Proof::Psk { key, identity } => {
                let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
                command.args(["-nocert", "-psk", &hex, "-psk_identity", identity]);
            }
            Proof::Certificate(files) => {
                command.arg("-cert").arg(files.path("server.pem"));
                command.arg("-key").arg(files.path("server.key"));
            }
        }
        OpenSsl {
            _server: Server::start(command, "", address).expect("openssl is there"),
        }
    }
}

/// An authority and a server's certificate for `localhost`, created for the test and removed
/// when dropped.
pub struct Certificates(PathBuf);

impl Certificates {
    pub fn make(n: u16) -> Certificates {
        let folder = format!("redpoll-tls-{}-{n}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let made = Certificates(folder);
        let new = |name: &str, subject: &str| {
            let (key, pem) = (format!("{name}.key"), format!("{name}.pem"));
            let key_options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
            let mut arguments = vec!["req", "-x509", "-nodes", "-days", "2"];
            arguments.extend(key_options);
            arguments.extend(["-keyout", &key, "-out", &pem, "-subj", subject]);
            if name == "server" {
                arguments.extend(["-CA", "ca.pem", "-CAkey", "ca.key"]);
                arguments.extend(["-addext", "subjectAltName=DNS:localhost"]);
                arguments.extend(["-addext", "basicConstraints=critical,CA:FALSE"]);
            }
            made.openssl(&arguments);
        };
        new("ca", "/CN=redpoll test authority");
        new("other", "/CN=somebody else");
        new("server", "/CN=localhost");
        made
    }

    fn openssl(&self, arguments: &[&str]) -> Output {
        let output = Command::new("openssl")
            .args(arguments)
            .current_dir(&self.0)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the certificate of `ca`, or of `other`, an authority that has signed nothing.
    pub fn der(&self, name: &str) -> Vec<u8> {
        let pem = format!("{name}.pem");
        self.openssl(&["x509", "-in", &pem, "-outform", "DER"])
            .stdout
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(Path::new(&self.0));
    }
}
