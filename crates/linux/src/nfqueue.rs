//! NFQUEUE: Linux holds packets in a queue until a program returns a verdict on each by netlink
//! (`linux/netfilter/nfnetlink_queue.h`).
//!
//! The only verdict of this program is "accept". The queue fails open (`NFQA_CFG_F_FAIL_OPEN`):
//! packets pass if the queue is full, or if this program reads too slowly. A rule with `bypass`
//! lets all packets pass while no program has opened the queue.
//!
//! The crate `nfq` cannot be polled, loses packets while it opens a queue, and has no batch
//! verdict (ADR 43).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    setsockopt, socket, sockopt,
};

/// `NFNL_SUBSYS_QUEUE`, in the upper byte of a message's type.
const SUBSYSTEM: u16 = 3 << 8;
/// `NFQNL_MSG_PACKET`, `_VERDICT`, `_CONFIG`, `_VERDICT_BATCH`.
const PACKET: u16 = SUBSYSTEM;
const VERDICT: u16 = SUBSYSTEM | 1;
const CONFIG: u16 = SUBSYSTEM | 2;
const VERDICT_BATCH: u16 = SUBSYSTEM | 3;
/// `NLMSG_ERROR`, `NLM_F_REQUEST`, `NLM_F_ACK`.
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
/// Attributes of a packet: `NFQA_PACKET_HDR`, `NFQA_VERDICT_HDR`, `NFQA_PAYLOAD`.
const PACKET_HEADER: u16 = 1;
const VERDICT_HEADER: u16 = 2;
const PAYLOAD: u16 = 10;
/// Attributes of a queue: `NFQA_CFG_CMD`, `_PARAMS`, `_QUEUE_MAXLEN`, `_MASK`, `_FLAGS`.
const COMMAND: u16 = 1;
const PARAMS: u16 = 2;
const MAX_LEN: u16 = 3;
const MASK: u16 = 4;
const FLAGS: u16 = 5;
/// `NFQNL_CFG_CMD_BIND`, `_UNBIND`, `NFQNL_COPY_PACKET`.
const BIND: u8 = 1;
const UNBIND: u8 = 2;
const COPY_PACKET: u8 = 2;
/// `NFQA_CFG_F_FAIL_OPEN`, and `NFQA_CFG_F_GSO`: the kernel does not split large packets for this
/// program.
const FAIL_OPEN: u32 = 1;
const GSO: u32 = 4;
/// `NF_ACCEPT`.
const ACCEPT: u32 = 1;
/// Bytes of `nlmsghdr` and `nfgenmsg`.
const HEADER: usize = 20;
const VERDICT_LEN: usize = HEADER + 12;
/// Bytes copied per packet: IPv6 and TCP headers with options, and room for extension headers.
const COPIED: u32 = 256;
const VERDICTS: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The kernel requires `CAP_NET_ADMIN`.
    #[error(
        "no permission to use NFQUEUE (needs root, or CAP_NET_ADMIN: setcap cap_net_admin+ep on the program, or AmbientCapabilities=CAP_NET_ADMIN in its systemd unit)"
    )]
    NoPermission,
    #[error(
        "queue {0} is used by another program: end that program, or choose another number for this \
         program and for its firewall rule (/proc/net/netfilter/nfnetlink_queue lists the queues \
         in use)"
    )]
    Taken(u16),
    #[error(
        "this kernel has no NFQUEUE: load it with `modprobe nfnetlink_queue`, or build it with CONFIG_NETFILTER_NETLINK_QUEUE"
    )]
    NoModule,
    #[error("cannot {step}: {source}")]
    Io {
        step: &'static str,
        source: io::Error,
    },
}

fn at(step: &'static str) -> impl Fn(Errno) -> QueueError {
    move |errno| QueueError::Io {
        step,
        source: errno.into(),
    }
}

/// Returns the error for a netfilter socket that could not be opened.
fn no_socket(errno: Errno) -> QueueError {
    match errno {
        Errno::EPROTONOSUPPORT | Errno::EAFNOSUPPORT => QueueError::NoModule,
        errno => at("open a netlink socket")(errno),
    }
}

/// Returns the reason for which the kernel refuses queue `number`. A program that may ask for the
/// queue gets EPERM if another program has it, and EINVAL if the kernel lacks queues.
fn refused(errno: Errno, number: u16, may_ask: bool) -> QueueError {
    match errno {
        Errno::EPERM if !may_ask => QueueError::NoPermission,
        Errno::EPERM | Errno::EBUSY => QueueError::Taken(number),
        Errno::EINVAL | Errno::EOPNOTSUPP | Errno::ENOENT => QueueError::NoModule,
        errno => at("bind to the queue")(errno),
    }
}

#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket<'q> {
    /// Number of the packet in the queue, for [`NfQueue::accept`].
    pub id: u32,
    /// The first bytes of the packet.
    pub bytes: &'q [u8],
}

/// A queue that this process has opened. When it is closed, for any reason, the kernel drops the
/// held packets without a verdict; call [`NfQueue::accept_all`] before.
#[derive(Debug)]
pub struct NfQueue {
    socket: OwnedFd,
    number: u16,
    sequence: u32,
    verdicts: Vec<u8>,
    buffer: Box<[u8]>,
    last: u32,
    overflows: u64,
}

impl NfQueue {
    /// Opens queue `number`, in which at most `packets` are held.
    pub fn open(number: u16, packets: u32) -> Result<NfQueue, QueueError> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkNetFilter,
        )
        .map_err(no_socket)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(at("bind a netlink socket"))?;
        // A packet that does not fit into the buffer passes without a verdict. The call fails only
        // for a program that may not open the queue either.
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &(16 << 20));
        let mut queue = NfQueue {
            socket,
            number,
            sequence: 0,
            verdicts: Vec::with_capacity(VERDICTS * VERDICT_LEN),
            buffer: vec![0; 65_536].into_boxed_slice(),
            last: 0,
            overflows: 0,
        };
        let refused = |errno| refused(errno, number, crate::privilege::has_net_admin());
        let [high, low] = (libc::PF_INET6 as u16).to_be_bytes();
        let [a, b, c, d] = COPIED.to_be_bytes();
        let flags = FAIL_OPEN | GSO;
        // One message binds the queue and sets its mode, so no packet arrives before the mode is
        // set.
        queue
            .configure(&[
                (COMMAND, &[BIND, 0, high, low]),
                (PARAMS, &[a, b, c, d, COPY_PACKET]),
                (MAX_LEN, &packets.to_be_bytes()),
                (MASK, &flags.to_be_bytes()),
                (FLAGS, &flags.to_be_bytes()),
            ])
            .map_err(refused)?;
        queue.flush().map_err(|source| QueueError::Io {
            step: "send the verdicts of the first packets",
            source,
        })?;
        Ok(queue)
    }

    /// Returns the next packet in the kernel's queue; `None` if there is none now. Counts the
    /// kernel's reports of lost notices (ENOBUFS), whose packets have passed.
    pub fn recv(&mut self) -> io::Result<Option<QueuedPacket<'_>>> {
        let len = loop {
            let flags = MsgFlags::MSG_DONTWAIT;
            match recv(self.socket.as_raw_fd(), &mut self.buffer, flags) {
                Ok(len) => {
                    // Other messages are errors about verdicts on packets that no longer exist.
                    if let Some((id, _)) = packet_of(&self.buffer[..len]) {
                        self.last = id;
                        break len;
                    }
                }
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => {}
                Err(Errno::ENOBUFS) => self.overflows = self.overflows.wrapping_add(1),
                Err(errno) => return Err(errno.into()),
            }
        };
        let found = packet_of(&self.buffer[..len]);
        Ok(found.map(|(id, bytes)| QueuedPacket { id, bytes }))
    }

    /// Returns how often packets passed because this program read too slowly and the socket had no
    /// room for them. One report of the kernel may stand for several packets.
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Limits the packets that the kernel holds to `packets`. This number includes packets that
    /// this program has received and not yet accepted. The kernel lets further packets pass.
    /// [`NfQueue::flush`] sends the limit.
    pub fn limit(&mut self, packets: u32) {
        let limit: (u16, &[u8]) = (MAX_LEN, &packets.to_be_bytes());
        let message = message(CONFIG, REQUEST, 0, self.number, &[limit]);
        self.verdicts.extend(message);
    }

    /// Accepts a packet. [`NfQueue::flush`] sends the verdict at the latest.
    pub fn accept(&mut self, id: u32) -> io::Result<()> {
        self.verdict(VERDICT, id);
        if self.verdicts.len() >= VERDICTS * VERDICT_LEN {
            return self.flush();
        }
        Ok(())
    }

    /// Sends all verdicts to the kernel.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        let sent = send(self.socket.as_raw_fd(), &self.verdicts, MsgFlags::empty());
        self.verdicts.clear();
        sent.map(drop).map_err(io::Error::from)
    }

    /// Accepts all held packets, in the order of their arrival, and closes the queue. Returns the
    /// kernel's errors.
    pub fn accept_all(mut self) -> io::Result<()> {
        self.flush()?;
        // The verdict is for all packets up to number `last` + 2^30, so for those that this program
        // has not read as well.
        self.verdict(VERDICT_BATCH, self.last.wrapping_add(1 << 30));
        // The verdict and the request to unbind the queue are sent together, so no packet arrives
        // between them.
        let [high, low] = (libc::PF_INET6 as u16).to_be_bytes();
        let unbind: (u16, &[u8]) = (COMMAND, &[UNBIND, 0, high, low]);
        let message = message(CONFIG, REQUEST, 0, self.number, &[unbind]);
        self.verdicts.extend(message);
        self.flush()
    }

    fn verdict(&mut self, kind: u16, id: u32) {
        let mut header = [0; 8];
        header[..4].copy_from_slice(&ACCEPT.to_be_bytes());
        header[4..].copy_from_slice(&id.to_be_bytes());
        let verdict = message(kind, REQUEST, 0, self.number, &[(VERDICT_HEADER, &header)]);
        self.verdicts.extend(verdict);
    }

    /// Sends attributes of the queue and waits for the kernel's answer.
    fn configure(&mut self, attributes: &[(u16, &[u8])]) -> Result<(), Errno> {
        self.sequence += 1;
        let flags = REQUEST | ACK;
        let message = message(CONFIG, flags, self.sequence, self.number, attributes);
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        loop {
            let len = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
            // struct nlmsgerr: the error, and the header of the message that caused it.
            let Some(reply) = self.buffer[..len].first_chunk::<32>() else {
                continue;
            };
            let kind = u16::from_ne_bytes([reply[4], reply[5]]);
            let sequence = u32::from_ne_bytes([reply[8], reply[9], reply[10], reply[11]]);
            if kind == ERROR && sequence == self.sequence {
                let error = i32::from_ne_bytes([reply[16], reply[17], reply[18], reply[19]]);
                return match error {
                    0 => Ok(()),
                    error => Err(Errno::from_raw(-error)),
                };
            }
            // Packets of the queue may arrive before the kernel's answer.
            if let Some((id, _)) = packet_of(&self.buffer[..len]) {
                self.verdict(VERDICT, id);
            }
        }
    }
}

impl AsFd for NfQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns a netlink message of nfnetlink (RFC 3549 §2.3.2; `linux/netfilter/nfnetlink.h`).
fn message(kind: u16, flags: u16, sequence: u32, queue: u16, all: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    // Family unspecified, version 0, and the queue.
    bytes.extend([0, 0]);
    bytes.extend(queue.to_be_bytes());
    for (kind, value) in all {
        bytes.extend((4 + value.len() as u16).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(*value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let len = bytes.len() as u32;
    bytes[..4].copy_from_slice(&len.to_ne_bytes());
    bytes
}

fn packet_of(message: &[u8]) -> Option<(u32, &[u8])> {
    let kind = u16::from_ne_bytes([*message.get(4)?, *message.get(5)?]);
    if kind != PACKET {
        return None;
    }
    let mut rest = message.get(HEADER..)?;
    let (mut id, mut payload) = (None, &[][..]);
    while let Some(([a, b, c, d], _)) = rest.split_first_chunk::<4>() {
        let len = usize::from(u16::from_ne_bytes([*a, *b]));
        let Some(value) = rest.get(4..len) else { break };
        match u16::from_ne_bytes([*c, *d]) & 0x3fff {
            PACKET_HEADER => id = value.first_chunk().map(|id| u32::from_be_bytes(*id)),
            PAYLOAD => payload = value,
            _ => {}
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Some((id?, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_the_kernel_lays_them_out() {
        let bytes = message(CONFIG, 5, 7, 0x0102, &[(1, &[1, 0, 0, 10]), (2, &[0; 5])]);
        assert_eq!(bytes.len(), 20 + 8 + 12);
        assert_eq!(bytes[..4], 40u32.to_ne_bytes());
        assert_eq!(bytes[4..6], 0x302u16.to_ne_bytes());
        assert_eq!(bytes[16..20], [0, 0, 1, 2]);
        assert_eq!(bytes[20..22], 8u16.to_ne_bytes());
        assert_eq!(bytes[28..30], 9u16.to_ne_bytes());
    }

    #[test]
    fn each_refusal_names_a_remedy() {
        for errno in [Errno::EINVAL, Errno::EOPNOTSUPP, Errno::ENOENT] {
            let line = refused(errno, 3, true).to_string();
            assert!(line.contains("modprobe nfnetlink_queue"), "{line}");
        }
        for errno in [Errno::EPROTONOSUPPORT, Errno::EAFNOSUPPORT] {
            assert!(matches!(no_socket(errno), QueueError::NoModule), "{errno}");
        }
        for errno in [Errno::EPERM, Errno::EBUSY] {
            let line = refused(errno, 3, true).to_string();
            assert!(
                line.starts_with("queue 3 is used by another program"),
                "{line}"
            );
        }
        let line = refused(Errno::EPERM, 3, false).to_string();
        assert!(line.contains("CAP_NET_ADMIN"), "{line}");
        for error in [refused(Errno::ENOMEM, 3, true), no_socket(Errno::EMFILE)] {
            assert!(matches!(error, QueueError::Io { .. }), "{error}");
        }
    }

    #[test]
    fn a_packet_is_read_and_a_truncated_message_is_not() {
        let header = [0, 0, 0, 9, 0x86, 0xdd, 2];
        let bytes = message(PACKET, 0, 0, 3, &[(1, &header), (10, b"payload")]);
        assert_eq!(packet_of(&bytes), Some((9, &b"payload"[..])));
        assert_eq!(packet_of(&bytes[..20]), None);
        assert_eq!(packet_of(&bytes[..34]), Some((9, &[][..])));
        for len in 0..bytes.len() {
            let _ = packet_of(&bytes[..len]);
        }
        assert_eq!(packet_of(&message(VERDICT, 0, 0, 3, &[])), None);
    }
}
