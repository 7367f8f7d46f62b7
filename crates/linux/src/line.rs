//! Byte streams to external nodes: sockets, as emulators use for their boards' serial lines.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::time::TimeSpec;

/// Pause between two attempts to reach a missing peer.
const AGAIN: Duration = Duration::from_millis(500);
/// Longest time for a connection to open.
const CONNECT: Duration = Duration::from_secs(2);
const CHUNK: usize = 4_096;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineAddress {
    /// The other end connects to this file.
    UnixListen(PathBuf),
    /// The other end listens at this file.
    Unix(PathBuf),
    /// The other end connects to this address and port.
    TcpListen(String),
    /// The other end listens at this address and port.
    Tcp(String),
}

impl LineAddress {
    /// Parses `text`; relative paths start at `folder`.
    pub fn parse(text: &str, folder: &Path) -> Result<LineAddress, String> {
        const ALLOWED: &str =
            "allowed: unix-listen:FILE, unix:FILE, tcp-listen:ADDRESS:PORT, tcp:ADDRESS:PORT";
        let wrong = || format!("got \"{text}\"; {ALLOWED}");
        let (kind, place) = text.split_once(':').ok_or_else(wrong)?;
        let file = || folder.join(place);
        let has_port = |place: &str| {
            let port = place.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
            port.is_some_and(|port| port.is_ok())
        };
        match kind {
            "unix-listen" if !place.is_empty() => Ok(LineAddress::UnixListen(file())),
            "unix" if !place.is_empty() => Ok(LineAddress::Unix(file())),
            "tcp-listen" if has_port(place) => Ok(LineAddress::TcpListen(place.to_owned())),
            "tcp" if has_port(place) => Ok(LineAddress::Tcp(place.to_owned())),
            _ => Err(wrong()),
        }
    }
}

/// Signals that bytes have arrived over one of several lines.
#[derive(Clone, Debug)]
pub struct LineWatch(Arc<Epoll>);

impl LineWatch {
    pub fn new() -> io::Result<LineWatch> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(LineWatch(Arc::new(epoll)))
    }

    fn add(&self, fd: impl AsFd) {
        // Without this registration, received bytes are found up to a second later.
        let _ = self.0.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, 0));
    }

    fn remove(&self, fd: impl AsFd) {
        let _ = self.0.delete(fd);
    }
}

impl AsFd for LineWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.0.as_fd()
    }
}

trait Stream: Read + Write + AsFd + Send {}
impl<T: Read + Write + AsFd + Send> Stream for T {}

enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(listener, _) => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // Ignore an error, because the file may have been removed already.
            let _ = fs::remove_file(path);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// No byte and no event.
    Nothing,
    Peer,
    Bytes,
    /// The end of the stream: the peer has closed it.
    Gone,
}

/// A stream of bytes with one peer at a time.
pub struct SocketLine {
    address: LineAddress,
    listener: Option<Listener>,
    stream: Option<Box<dyn Stream>>,
    /// Time of the last attempt to connect to the peer.
    sought: Option<Instant>,
    watch: LineWatch,
}

impl SocketLine {
    /// Returns a line that waits for its peer, or tries again and again to connect to it. Returns
    /// the kernel's error if it cannot listen at the address.
    pub fn open(address: LineAddress, watch: &LineWatch) -> io::Result<SocketLine> {
        let listener = match &address {
            LineAddress::UnixListen(path) => Some(listen_at(path)?),
            LineAddress::TcpListen(place) => Some(Listener::Tcp(TcpListener::bind(place)?)),
            LineAddress::Unix(_) | LineAddress::Tcp(_) => None,
        };
        match &listener {
            Some(Listener::Unix(listener, _)) => listener.set_nonblocking(true)?,
            Some(Listener::Tcp(listener)) => listener.set_nonblocking(true)?,
            None => {}
        }
        if let Some(listener) = &listener {
            watch.add(listener);
        }
        Ok(SocketLine {
            address,
            listener,
            stream: None,
            sought: None,
            watch: watch.clone(),
        })
    }

    /// Sends bytes; those that do not fit into the kernel's buffer are lost.
    pub fn send(&mut self, bytes: &[u8]) {
        if let Some(stream) = &mut self.stream {
            // If the stream has failed, the next read reports it.
            let _ = stream.write(bytes);
        }
    }

    /// Appends the received bytes, after a wait of at most `wait`.
    pub fn receive(&mut self, wait: Duration, bytes: &mut Vec<u8>) -> Arrived {
        let arrived = self.look(bytes);
        if arrived != Arrived::Nothing || wait.is_zero() {
            return arrived;
        }
        match (&self.stream, &self.listener) {
            (Some(stream), _) => await_readable(stream.as_fd(), wait),
            (None, Some(listener)) => await_readable(listener.as_fd(), wait),
            (None, None) => std::thread::sleep(wait.min(AGAIN)),
        }
        self.look(bytes)
    }

    fn look(&mut self, bytes: &mut Vec<u8>) -> Arrived {
        let Some(stream) = &mut self.stream else {
            return match self.seek() {
                Some(stream) => {
                    // While this peer is connected, others wait in the listener's backlog.
                    if let Some(listener) = &self.listener {
                        self.watch.remove(listener);
                    }
                    self.watch.add(stream.as_fd());
                    self.stream = Some(stream);
                    Arrived::Peer
                }
                None => Arrived::Nothing,
            };
        };
        let mut chunk = [0; CHUNK];
        match stream.read(&mut chunk) {
            Ok(len @ 1..) => {
                bytes.extend_from_slice(&chunk[..len]);
                Arrived::Bytes
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Arrived::Nothing
            }
            Ok(0) | Err(_) => {
                self.watch.remove(stream.as_fd());
                self.stream = None;
                if let Some(listener) = &self.listener {
                    self.watch.add(listener);
                }
                Arrived::Gone
            }
        }
    }

    /// Returns the peer, if one is connected.
    fn seek(&mut self) -> Option<Box<dyn Stream>> {
        match &self.listener {
            Some(Listener::Unix(listener, _)) => {
                let (stream, _) = listener.accept().ok()?;
                return unblocked(stream);
            }
            Some(Listener::Tcp(listener)) => {
                let (stream, _) = listener.accept().ok()?;
                return prompt(stream);
            }
            None => {}
        }
        if self.sought.is_some_and(|at| at.elapsed() < AGAIN) {
            return None;
        }
        self.sought = Some(Instant::now());
        match &self.address {
            LineAddress::Unix(path) => unblocked(UnixStream::connect(path).ok()?),
            LineAddress::Tcp(place) => {
                let address = place.to_socket_addrs().ok()?.next()?;
                prompt(TcpStream::connect_timeout(&address, CONNECT).ok()?)
            }
            LineAddress::UnixListen(_) | LineAddress::TcpListen(_) => None,
        }
    }
}

fn unblocked(stream: UnixStream) -> Option<Box<dyn Stream>> {
    stream.set_nonblocking(true).ok()?;
    Some(Box::new(stream))
}

/// Returns a stream that sends its bytes without delay.
fn prompt(stream: TcpStream) -> Option<Box<dyn Stream>> {
    stream.set_nonblocking(true).ok()?;
    stream.set_nodelay(true).ok()?;
    Some(Box::new(stream))
}

fn await_readable(fd: BorrowedFd<'_>, wait: Duration) {
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    // Ignore an error, because the next read finds it.
    let _ = ppoll(&mut fds, Some(TimeSpec::from_duration(wait)), None);
}

/// Listens at `path`. A socket file without a listener is removed.
fn listen_at(path: &Path) -> io::Result<Listener> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_deserted(path) => {
            fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        other => other?,
    };
    Ok(Listener::Unix(listener, path.to_owned()))
}

fn is_deserted(path: &Path) -> bool {
    let is_socket = fs::metadata(path).is_ok_and(|it| it.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).is_err_and(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("redpoll-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn line_addresses_are_parsed() {
        let folder = Path::new("/here");
        let parse = |text| LineAddress::parse(text, folder);
        let there = PathBuf::from("/here/leaf.sock");
        assert_eq!(
            parse("unix-listen:leaf.sock"),
            Ok(LineAddress::UnixListen(there.clone()))
        );
        assert_eq!(parse("unix:/here/leaf.sock"), Ok(LineAddress::Unix(there)));
        let tcp = LineAddress::Tcp("[::1]:5000".to_owned());
        assert_eq!(parse("tcp:[::1]:5000"), Ok(tcp));
        for wrong in [
            "leaf.sock",
            "unix:",
            "tcp:127.0.0.1",
            "tcp:x:70000",
            "serial:x",
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(wrong) && error.contains("unix-listen:FILE"));
        }
    }

    #[test]
    fn a_line_serves_one_peer_after_another() {
        let folder = scratch("line");
        let path = folder.join("peers.sock");
        let watch = LineWatch::new().unwrap();
        // Leaves a socket file without a listener, as a killed program does.
        drop(UnixListener::bind(&path).unwrap());
        let address = LineAddress::UnixListen(path.clone());
        let mut line = SocketLine::open(address, &watch).unwrap();
        let mut bytes = Vec::new();
        let wait = Duration::from_secs(5);
        assert_eq!(line.receive(Duration::ZERO, &mut bytes), Arrived::Nothing);
        for said in [b"one", b"two"] {
            let mut peer = UnixStream::connect(&path).unwrap();
            assert_eq!(line.receive(wait, &mut bytes), Arrived::Peer);
            peer.write_all(said).unwrap();
            assert_eq!(line.receive(wait, &mut bytes), Arrived::Bytes);
            line.send(b"heard");
            let mut heard = [0; 5];
            peer.read_exact(&mut heard).unwrap();
            drop(peer);
            assert_eq!(line.receive(wait, &mut bytes), Arrived::Gone);
        }
        assert_eq!(bytes, b"onetwo");
        let address = LineAddress::UnixListen(path.clone());
        let taken = SocketLine::open(address, &watch).err().unwrap();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
        drop(line);
        assert!(!path.exists());
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_line_connects_to_its_peer_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let watch = LineWatch::new().unwrap();
        let mut line = SocketLine::open(LineAddress::Tcp(place), &watch).unwrap();
        let mut bytes = Vec::new();
        assert_eq!(line.receive(Duration::ZERO, &mut bytes), Arrived::Peer);
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"x").unwrap();
        let wait = Duration::from_secs(5);
        assert_eq!(line.receive(wait, &mut bytes), Arrived::Bytes);
        await_readable(watch.as_fd(), Duration::ZERO);
    }
}
