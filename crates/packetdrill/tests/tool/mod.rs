//! packetdrill's side of the interface, implemented from its description, without the library.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_longlong, c_short, c_uint, c_ulong, c_void};
use std::mem::transmute;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::{fs, thread, time};

use libloading::os::unix::{Library, Symbol};

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;

/// The peer's initial sequence number and, below, its port.
const ISN: u32 = 0xffff_ff00;
const PEER_PORT: u16 = 40_000;
const PORT: u16 = 8080;

const LOCAL_6: [u8; 16] = [
    0xfd, 0x3d, 0xfa, 0x7b, 0xd1, 0x7d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7,
];
const REMOTE_6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const LOCAL_4: [u8; 4] = [192, 168, 0, 77];
const REMOTE_4: [u8; 4] = [192, 0, 2, 1];

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Net {
    V4,
    V6,
}

/// A segment whose numbers are relative to the SYNs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seg {
    pub flags: u8,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub mss: Option<u16>,
    pub payload: Vec<u8>,
    ports: (u16, u16),
}

impl Seg {
    pub fn peer(flags: u8, seq: u32) -> Seg {
        Seg {
            flags,
            seq,
            ack: 0,
            window: 0,
            mss: None,
            payload: Vec::new(),
            ports: (0, 0),
        }
    }

    pub fn ack(self, ack: u32) -> Seg {
        Seg { ack, ..self }
    }

    pub fn win(self, window: u16) -> Seg {
        Seg { window, ..self }
    }

    pub fn mss(self, mss: u16) -> Seg {
        let mss = Some(mss);
        Seg { mss, ..self }
    }

    pub fn data(self, len: usize) -> Seg {
        let payload = vec![1; len];
        Seg { payload, ..self }
    }
}

type Answer<T> = Result<T, c_int>;

/// The library has one state per process, and this process runs many tests.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub struct Tool {
    slots: [usize; 33],
    net: Net,
    /// The library's initial sequence number, once known, and the ports.
    live: Mutex<Cell<(u32, (u16, u16))>>,
    task: (mpsc::SyncSender<i32>, Mutex<mpsc::Receiver<i32>>),
    _library: Library,
    _turn: MutexGuard<'static, ()>,
}

// SAFETY: only `_turn` is not `Sync`, and no method uses it.
unsafe impl Sync for Tool {}

fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.with_file_name("libredpoll_packetdrill.so")
}

type User = *mut c_void;

const FLAGS: c_int = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NODELETE | libc::RTLD_DEEPBIND;

/// Calls the function in slot `$slot` with the given types.
macro_rules! slot {
    ($tool:expr, $slot:expr, ($($arg:expr => $type:ty),*) -> $result:ty) => {{
        // SAFETY: by the description of the interface, the slot holds a function of this type, and
        // the arguments are valid.
        unsafe {
            let function: extern "C" fn(User $(, $type)*) -> $result =
                transmute::<usize, _>($tool.slots[$slot]);
            function($tool.slots[0] as User $(, $arg)*)
        }
    }};
}

fn answer<T: TryInto<i64>>(value: T) -> Answer<i32> {
    match value.try_into() {
        Ok(-1) => Err(std::io::Error::last_os_error().raw_os_error().unwrap()),
        Ok(value) => Ok(value as i32),
        Err(_) => panic!("an impossible value"),
    }
}

impl Tool {
    pub fn load(net: Net, flags: &str) -> Tool {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let local = match net {
            Net::V4 => "192.168.0.77",
            Net::V6 => "fd3d:fa7b:d17d::7",
        };
        let flags = CString::new(format!("local={local},{flags}")).unwrap();
        let mut slots = [0usize; 33];
        // SAFETY: the library has no initialisers; by the description the symbol has this type, and
        // both pointers are valid.
        let library = unsafe {
            let library = Library::open(Some(library()), FLAGS).expect("the library is built");
            let begin: Symbol<extern "C" fn(*const c_char, *mut [usize; 33])> =
                library.get(b"packetdrill_interface_init\0").unwrap();
            begin(flags.as_ptr(), &raw mut slots);
            library
        };
        let (send, receive) = mpsc::sync_channel(1);
        Tool {
            slots,
            net,
            live: Mutex::new(Cell::new((0, (PORT, PEER_PORT)))),
            task: (send, Mutex::new(receive)),
            _library: library,
            _turn: turn,
        }
    }

    pub fn empty_slots(&self) -> Vec<usize> {
        (1..33).filter(|&slot| self.slots[slot] == 0).collect()
    }

    pub fn call_without_arguments(&self, slot: usize) -> Answer<i32> {
        // Passes six zeros, one for each argument of the function with the most arguments.
        answer(
            slot!(self, slot, (0 => usize, 0 => usize, 0 => usize, 0 => usize, 0 => usize, 0 => usize) -> c_int),
        )
    }

    pub fn free(&self) {
        slot!(self, 1, () -> ());
    }

    pub fn socket(&self) -> i32 {
        let domain = match self.net {
            Net::V4 => libc::AF_INET,
            Net::V6 => libc::AF_INET6,
        };
        let args = (libc::SOCK_STREAM, libc::IPPROTO_TCP);
        answer(slot!(self, 2, (domain => c_int, args.0 => c_int, args.1 => c_int) -> c_int))
            .unwrap()
    }

    fn sockaddr(&self, local: bool) -> Vec<u8> {
        let pick = |ours: &[u8], theirs: &[u8]| {
            if local {
                ours.to_vec()
            } else {
                theirs.to_vec()
            }
        };
        let (family, mut addr) = match self.net {
            Net::V4 => (libc::AF_INET, pick(&LOCAL_4, &REMOTE_4)),
            Net::V6 => (libc::AF_INET6, pick(&LOCAL_6, &REMOTE_6)),
        };
        let mut raw = (family as u16).to_ne_bytes().to_vec();
        raw.extend(PORT.to_be_bytes());
        if self.net == Net::V6 {
            raw.extend([0; 4]);
        }
        raw.append(&mut addr);
        raw.extend(match self.net {
            Net::V4 => vec![0; 8],
            Net::V6 => vec![0; 4],
        });
        raw
    }

    pub fn bind(&self, fd: i32) -> Answer<i32> {
        let addr = self.sockaddr(true);
        answer(
            slot!(self, 3, (fd => c_int, addr.as_ptr() => *const u8, addr.len() as u32 => u32) -> c_int),
        )
    }

    pub fn listen(&self, fd: i32) -> Answer<i32> {
        answer(slot!(self, 4, (fd => c_int, 5 => c_int) -> c_int))
    }

    pub fn connect(&self, fd: i32) -> Answer<i32> {
        let addr = self.sockaddr(false);
        answer(
            slot!(self, 6, (fd => c_int, addr.as_ptr() => *const u8, addr.len() as u32 => u32) -> c_int),
        )
    }

    /// Accepts a connection, and checks the reported peer.
    pub fn accept(&self, fd: i32) -> Answer<i32> {
        let mut addr = [0xee; 64];
        let mut len: u32 = 64;
        let fd = answer(
            slot!(self, 5, (fd => c_int, addr.as_mut_ptr() => *mut u8, &raw mut len => *mut u32) -> c_int),
        )?;
        let mut expected = self.sockaddr(false);
        expected[2..4].copy_from_slice(&PEER_PORT.to_be_bytes());
        assert_eq!(addr[..len as usize], expected);
        Ok(fd)
    }

    pub fn read(&self, fd: i32, len: usize) -> Answer<i32> {
        let mut out = vec![0xee; len];
        let count = answer(
            slot!(self, 7, (fd => c_int, out.as_mut_ptr() => *mut u8, len => usize) -> isize),
        )?;
        check_received(&out, count);
        Ok(count)
    }

    pub fn recv(&self, fd: i32, len: usize, flags: i32) -> Answer<i32> {
        let mut out = vec![0xee; len];
        let count = answer(
            slot!(self, 9, (fd => c_int, out.as_mut_ptr() => *mut u8, len => usize, flags => c_int) -> isize),
        )?;
        check_received(&out, count);
        Ok(count)
    }

    pub fn write(&self, fd: i32, len: usize) -> Answer<i32> {
        let data = vec![0u8; len];
        answer(slot!(self, 12, (fd => c_int, data.as_ptr() => *const u8, len => usize) -> isize))
    }

    pub fn writev(&self, fd: i32, lens: &[usize]) -> Answer<i32> {
        let mut buffers = buffers(lens, 0);
        let vectors = vectors(&mut buffers);
        answer(
            slot!(self, 13, (fd => c_int, vectors.as_ptr() => *const libc::iovec, vectors.len() as i32 => c_int) -> isize),
        )
    }

    pub fn readv(&self, fd: i32, lens: &[usize]) -> Answer<i32> {
        let mut buffers = buffers(lens, 0xee);
        let vectors = vectors(&mut buffers);
        let count = answer(
            slot!(self, 8, (fd => c_int, vectors.as_ptr() => *const libc::iovec, vectors.len() as i32 => c_int) -> isize),
        )?;
        check_received(&buffers.concat(), count);
        Ok(count)
    }

    pub fn sendmsg(&self, fd: i32, lens: &[usize]) -> Answer<i32> {
        let mut buffers = buffers(lens, 0);
        let mut vectors = vectors(&mut buffers);
        let message = message(&mut vectors);
        answer(
            slot!(self, 16, (fd => c_int, &raw const message => *const libc::msghdr, 0 => c_int) -> isize),
        )
    }

    pub fn sendto(&self, fd: i32, len: usize, flags: i32) -> Answer<i32> {
        let (data, addr) = (vec![0u8; len], self.sockaddr(false));
        answer(
            slot!(self, 15, (fd => c_int, data.as_ptr() => *const u8, len => usize, flags => c_int,
                addr.as_ptr() => *const u8, addr.len() as u32 => u32) -> isize),
        )
    }

    pub fn sendmsg_to(&self, fd: i32, lens: &[usize], flags: i32) -> Answer<i32> {
        let mut buffers = buffers(lens, 0);
        let mut vectors = vectors(&mut buffers);
        let mut addr = self.sockaddr(false);
        let mut message = message(&mut vectors);
        message.msg_name = addr.as_mut_ptr().cast();
        message.msg_namelen = addr.len() as u32;
        answer(
            slot!(self, 16, (fd => c_int, &raw const message => *const libc::msghdr, flags => c_int) -> isize),
        )
    }

    pub fn recvmsg(&self, fd: i32, lens: &[usize]) -> Answer<i32> {
        let mut buffers = buffers(lens, 0xee);
        let mut vectors = vectors(&mut buffers);
        let mut message = message(&mut vectors);
        let count = answer(
            slot!(self, 11, (fd => c_int, &raw mut message => *mut libc::msghdr, 0 => c_int) -> isize),
        )?;
        check_received(&buffers.concat(), count);
        Ok(count)
    }

    /// Calls the variadic `fcntl` with `argument` as int.
    pub fn fcntl(&self, fd: i32, command: i32, argument: i32) -> Answer<i32> {
        // SAFETY: as in `slot!`; packetdrill also makes this call as variadic.
        let value = unsafe {
            let function: extern "C" fn(User, c_int, c_int, ...) -> c_int =
                transmute::<usize, _>(self.slots[17]);
            function(self.slots[0] as User, fd, command, argument)
        };
        answer(value)
    }

    pub fn inq(&self, fd: i32) -> Answer<i32> {
        let mut count: c_int = -1;
        // SAFETY: as in `fcntl`.
        let value = unsafe {
            let function: extern "C" fn(User, c_int, c_ulong, ...) -> c_int =
                transmute::<usize, _>(self.slots[18]);
            function(self.slots[0] as User, fd, libc::FIONREAD, &raw mut count)
        };
        answer(value).map(|_| count)
    }

    pub fn close(&self, fd: i32) -> Answer<i32> {
        answer(slot!(self, 19, (fd => c_int) -> c_int))
    }

    pub fn so_error(&self, fd: i32) -> Answer<i32> {
        let (mut value, mut len): (c_int, u32) = (-1, 4);
        let (level, name) = (libc::SOL_SOCKET, libc::SO_ERROR);
        answer(
            slot!(self, 21, (fd => c_int, level => c_int, name => c_int, &raw mut value => *mut c_int, &raw mut len => *mut u32) -> c_int),
        )?;
        assert_eq!(len, 4);
        Ok(value)
    }

    pub fn setsockopt(&self, fd: i32, level: i32, name: i32, value: i32) -> Answer<i32> {
        answer(
            slot!(self, 22, (fd => c_int, level => c_int, name => c_int, &raw const value => *const c_int, 4 => u32) -> c_int),
        )
    }

    pub fn poll(&self, fd: i32, events: c_short, timeout_ms: i32) -> Answer<c_short> {
        let mut entry = libc::pollfd {
            fd,
            events,
            revents: 0x7fff,
        };
        let count = answer(
            slot!(self, 23, (&raw mut entry => *mut libc::pollfd, 1 => c_ulong, timeout_ms => c_int) -> c_int),
        )?;
        assert_eq!(count, i32::from(entry.revents != 0));
        Ok(entry.revents)
    }

    pub fn inject(&self, seg: Seg) {
        let (isn, (port, peer_port)) = self.live.lock().unwrap().get();
        let mut tcp = Vec::new();
        tcp.extend(peer_port.to_be_bytes());
        tcp.extend(port.to_be_bytes());
        tcp.extend(ISN.wrapping_add(seg.seq).to_be_bytes());
        let ack = if seg.flags & ACK == 0 {
            0
        } else {
            isn.wrapping_add(seg.ack)
        };
        tcp.extend(ack.to_be_bytes());
        tcp.extend([if seg.mss.is_some() { 0x60 } else { 0x50 }, seg.flags]);
        tcp.extend(seg.window.to_be_bytes());
        tcp.extend([0; 4]);
        if let Some(mss) = seg.mss {
            tcp.extend([2, 4]);
            tcp.extend(mss.to_be_bytes());
        }
        tcp.extend(&seg.payload);
        let sum = !self.tcp_sum(&tcp);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        let packet = match self.net {
            Net::V6 => {
                let mut ip = vec![0x60, 0, 0, 0];
                ip.extend((tcp.len() as u16).to_be_bytes());
                ip.extend([6, 255]);
                ip.extend(REMOTE_6);
                ip.extend(LOCAL_6);
                [ip, tcp].concat()
            }
            Net::V4 => {
                let mut ip = vec![0x45, 0];
                ip.extend((tcp.len() as u16 + 20).to_be_bytes());
                ip.extend([0, 0, 0, 0, 255, 6, 0, 0]);
                ip.extend(REMOTE_4);
                ip.extend(LOCAL_4);
                let sum = !ones_sum(&ip);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
                [ip, tcp].concat()
            }
        };
        let sent = slot!(self, 24, (packet.as_ptr() => *const u8, packet.len() => usize) -> c_int);
        assert_eq!(sent, 0);
    }

    /// Makes later sequence numbers relative to `syn`, which the library sent.
    pub fn learn(&self, syn: &Seg) {
        self.live.lock().unwrap().set((syn.seq, syn.ports));
    }

    /// Returns the next packet and its time; `None` if the library sends no packet.
    pub fn receive(&self) -> Option<(i64, Seg)> {
        let mut packet = vec![0; 2048];
        let (mut len, mut time): (usize, c_longlong) = (packet.len(), 0);
        let got = slot!(self, 25, (packet.as_mut_ptr() => *mut u8, &raw mut len => *mut usize, &raw mut time => *mut c_longlong) -> c_int);
        assert_eq!(got, 0);
        packet.truncate(len);
        (len > 0).then(|| (time, self.parse(&packet)))
    }

    fn parse(&self, packet: &[u8]) -> Seg {
        let tcp = match self.net {
            Net::V6 => {
                assert_eq!((packet[0] >> 4, packet[6]), (6, 6));
                assert_eq!(packet[8..24], LOCAL_6);
                assert_eq!(packet[24..40], REMOTE_6);
                &packet[40..]
            }
            Net::V4 => {
                assert_eq!((packet[0], packet[9]), (0x45, 6));
                assert_eq!(packet[12..16], LOCAL_4);
                assert_eq!(packet[16..20], REMOTE_4);
                assert_eq!(
                    usize::from(u16::from_be_bytes([packet[2], packet[3]])),
                    packet.len()
                );
                assert_eq!(ones_sum(&packet[..20]), 0xffff, "header checksum");
                &packet[20..]
            }
        };
        assert_eq!(self.tcp_sum(tcp), 0xffff, "TCP checksum");
        let half = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let header_len = usize::from(tcp[12] >> 4) * 4;
        Seg {
            flags: tcp[13],
            seq: word(4),
            ack: word(8).wrapping_sub(if tcp[13] & ACK == 0 { 0 } else { ISN }),
            window: half(14),
            mss: (header_len >= 24 && half(20) == 0x204).then(|| half(22)),
            payload: tcp[header_len..].to_vec(),
            ports: (half(0), half(2)),
        }
    }

    /// Returns the checksum over the pseudo-header and the segment.
    fn tcp_sum(&self, tcp: &[u8]) -> u16 {
        let mut all = match self.net {
            Net::V6 => [LOCAL_6, REMOTE_6].concat(),
            Net::V4 => [LOCAL_4, REMOTE_4].concat(),
        };
        all.extend((tcp.len() as u32).to_be_bytes());
        all.extend([0, 6]);
        all.extend(tcp);
        ones_sum(&all)
    }

    pub fn usleep(&self, us: u32) {
        assert_eq!(slot!(self, 26, (us => c_uint) -> c_int), 0);
    }

    pub fn time(&self) -> i64 {
        let mut time = libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        };
        let nothing = std::ptr::null_mut::<c_void>();
        let got =
            slot!(self, 27, (&raw mut time => *mut libc::timeval, nothing => *mut c_void) -> c_int);
        assert_eq!(got, 0);
        time.tv_sec * 1_000_000 + time.tv_usec
    }

    /// Sends the ID of the second thread to the first, just before the blocking call.
    pub fn send_task(&self, task: i32) {
        self.task.0.send(task).unwrap();
    }

    pub fn wait_for_task(&self) -> i32 {
        self.task.1.lock().unwrap().recv().unwrap()
    }
}

fn buffers(lens: &[usize], byte: u8) -> Vec<Vec<u8>> {
    lens.iter().map(|&len| vec![byte; len]).collect()
}

fn vectors(buffers: &mut [Vec<u8>]) -> Vec<libc::iovec> {
    let vector = |buffer: &mut Vec<u8>| libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    buffers.iter_mut().map(vector).collect()
}

fn message(vectors: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: all zeros is an empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = vectors.len();
    message
}

/// Checks that the first `count` bytes come from the peer, and that no later byte has changed.
fn check_received(out: &[u8], count: i32) {
    let (received, rest) = out.split_at(count as usize);
    assert!(received.iter().all(|byte| *byte == 1));
    assert!(rest.iter().all(|byte| *byte == 0xee));
}

/// Returns the ones' complement sum of the bytes (RFC 1071).
fn ones_sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| u32::from(*b));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

pub fn close_real(fd: i32) -> bool {
    // SAFETY: takes no pointer; nothing else uses the descriptor.
    unsafe { libc::close(fd) == 0 }
}

pub fn task_id() -> i32 {
    // SAFETY: takes no pointer.
    unsafe { libc::gettid() }
}

/// Waits, like packetdrill, until a thread of this process sleeps.
pub fn wait_until_asleep(task: i32) {
    let mut asleep = 0;
    for _ in 0..10_000 {
        let stat = fs::read_to_string(format!("/proc/self/task/{task}/stat")).unwrap();
        let state = stat.rsplit(')').next().unwrap().trim().chars().next();
        asleep = if state == Some('S') { asleep + 1 } else { 0 };
        // Require several sleeps in a row, because the thread may sleep once to wait for the lock.
        if asleep > 20 {
            return;
        }
        thread::sleep(time::Duration::from_micros(200));
    }
    panic!("the thread does not sleep");
}
