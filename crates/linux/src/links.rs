//! Interfaces that appear and vanish, reported by the kernel (rtnetlink(7)).

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    self, AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, socket,
};

/// Length in bytes of `struct nlmsghdr`; `LINK` is that of `struct ifinfomsg`.
const MESSAGE: usize = 16;
const LINK: usize = 16;

/// A notice that an interface exists or no longer exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkNotice {
    pub name: String,
    /// Whether the interface exists. Several notices often have the same value, because the kernel
    /// reports other changes, too.
    pub exists: bool,
}

/// The kernel's notices about interfaces.
#[derive(Debug)]
pub struct Links {
    socket: OwnedFd,
    buffer: Vec<u8>,
    notices: Vec<LinkNotice>,
}

impl Links {
    /// Opens the socket at which notices arrive from now on. Returns the kernel's error, such as a
    /// full table of descriptors.
    pub fn watch() -> io::Result<Links> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::NetlinkRoute,
        )?;
        let group = libc::RTMGRP_LINK as u32;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, group))?;
        Ok(Links {
            socket,
            buffer: vec![0; 32_768],
            notices: Vec::new(),
        })
    }

    /// Returns the next notice, if one has arrived, or the kernel's error. Lost notices (ENOBUFS)
    /// are ignored.
    pub fn recv(&mut self) -> io::Result<Option<LinkNotice>> {
        while self.notices.is_empty() {
            match socket::recv(
                self.socket.as_raw_fd(),
                &mut self.buffer,
                MsgFlags::MSG_DONTWAIT,
            ) {
                Ok(len) => {
                    self.notices = notices(&self.buffer[..len]);
                    self.notices.reverse();
                }
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR | Errno::ENOBUFS) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(self.notices.pop())
    }
}

impl AsFd for Links {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns the notices of a datagram; leaves out messages of other kinds.
fn notices(mut rest: &[u8]) -> Vec<LinkNotice> {
    let mut found = Vec::new();
    while let Some(([a, b, c, d, e, f, ..], _)) = rest.split_first_chunk::<MESSAGE>() {
        let len = u32::from_ne_bytes([*a, *b, *c, *d]) as usize;
        let kind = u16::from_ne_bytes([*e, *f]);
        let Some(message) = rest.get(MESSAGE..len) else {
            break;
        };
        let exists = match kind {
            libc::RTM_NEWLINK => Some(true),
            libc::RTM_DELLINK => Some(false),
            _ => None,
        };
        if let (Some(exists), Some(name)) = (exists, name_of(message)) {
            found.push(LinkNotice { name, exists });
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// Returns the attribute IFLA_IFNAME after `struct ifinfomsg`.
fn name_of(message: &[u8]) -> Option<String> {
    let mut rest = message.get(LINK..)?;
    while let Some(([a, b, c, d], _)) = rest.split_first_chunk::<4>() {
        let len = usize::from(u16::from_ne_bytes([*a, *b]));
        let value = rest.get(4..len)?;
        if u16::from_ne_bytes([*c, *d]) == libc::IFLA_IFNAME {
            let name = value.strip_suffix(&[0]).unwrap_or(value);
            return Some(String::from_utf8_lossy(name).into_owned());
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, name: &str) -> Vec<u8> {
        let mut body = vec![0; LINK];
        let mut attribute = |kind: u16, value: &[u8]| {
            body.extend((4 + value.len() as u16).to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        };
        attribute(libc::IFLA_MTU, &[0, 5, 0, 0]);
        attribute(libc::IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
        let mut bytes = ((MESSAGE + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(MESSAGE, 0);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn a_datagram_with_several_messages_is_read() {
        let all = [
            message(libc::RTM_NEWLINK, "wpan0"),
            message(libc::RTM_NEWADDR, "other"),
            message(libc::RTM_DELLINK, "eth0.1"),
        ]
        .concat();
        let notice = |name: &str, exists| LinkNotice {
            name: name.to_owned(),
            exists,
        };
        let expected = [notice("wpan0", true), notice("eth0.1", false)];
        assert_eq!(notices(&all), expected);
        for len in 0..all.len() {
            let read = notices(&all[..len]);
            assert!(expected.starts_with(&read), "{len}");
        }
    }
}
