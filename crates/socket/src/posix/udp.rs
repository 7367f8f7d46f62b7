//! Datagrams: `sendto` and `recvfrom`.

use redpoll_base::{Addr, Memory};
use redpoll_stack::{Error, Profile, UdpId};
use redpoll_tcp::Endpoint;

use super::{Answer, Fd, MSG_DONTWAIT, SocketState, Sockets};
use crate::Errno;

/// First port of the ephemeral range (RFC 6335 §6).
const EPHEMERAL_FIRST: u16 = 49_152;

impl<P: Profile> Sockets<'_, P> {
    /// Binds to a port, or to a free one if `port` is 0.
    pub(super) fn bind_udp(&mut self, fd: Fd, port: u16) -> Answer<()> {
        if !P::Memory::HAS_UDP {
            return Err(Errno::EOPNOTSUPP);
        }
        let (id, port) = match port {
            0 => bind_anywhere(|port| self.node.udp_bind(port))?,
            port => (self.node.udp_bind(port)?, port),
        };
        let SocketState::Udp { peer, .. } = self.entry(fd)?.kind else {
            return Err(Errno::EOPNOTSUPP);
        };
        let id = Some(id);
        self.entry_mut(fd)?.kind = SocketState::Udp { id, port, peer };
        Ok(())
    }

    fn udp(&self, fd: Fd) -> Answer<(Option<UdpId>, Option<Endpoint>)> {
        match self.entry(fd)?.kind {
            SocketState::Udp { id, peer, .. } => Ok((id, peer)),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Sends a datagram. Binds an unbound socket to a free port first.
    ///
    /// # Errors
    /// `EMSGSIZE`, `EAGAIN` if there is no memory for a packet, `ENETUNREACH`, `EMFILE`,
    /// `EOPNOTSUPP` on another kind of socket, `EBADF`.
    pub fn send_to(&mut self, fd: Fd, data: &[u8], to: Endpoint) -> Answer<usize> {
        if !P::Memory::HAS_UDP {
            return Err(Errno::EOPNOTSUPP);
        }
        if let (None, _) = self.udp(fd)? {
            self.bind_udp(fd, 0)?;
        }
        let id = self.udp(fd)?.0.ok_or(Errno::EBADF)?;
        self.node.udp_send(self.now, id, to, data)?;
        Ok(data.len())
    }

    /// Joins a multicast group (`IPV6_JOIN_GROUP`). The node is the member: all its sockets receive
    /// the group's datagrams to their ports, even after this socket is closed. The node needs
    /// an [assistant](redpoll_stack::assist) for groups.
    ///
    /// # Errors
    /// `EINVAL` unless `group` is a multicast address, `ENOMEM` without such an assistant or
    /// without room, `EOPNOTSUPP` on another kind of socket, `EBADF`.
    pub fn join_group(&mut self, fd: Fd, group: &Addr) -> Answer<()> {
        self.udp(fd)?;
        if !group.is_multicast() {
            return Err(Errno::EINVAL);
        }
        self.node.join_group(group).or(Err(Errno::ENOMEM))
    }

    /// Leaves a multicast group (`IPV6_LEAVE_GROUP`).
    ///
    /// # Errors
    /// `EADDRNOTAVAIL` if the node is not a member, `EOPNOTSUPP` on another kind of socket,
    /// `EBADF`.
    pub fn leave_group(&mut self, fd: Fd, group: &Addr) -> Answer<()> {
        self.udp(fd)?;
        self.node.leave_group(group).or(Err(Errno::EADDRNOTAVAIL))
    }

    /// Returns whether the next datagram was sent to a group. Servers answer such requests after a
    /// random time (RFC 7252 §8.2).
    ///
    /// # Errors
    /// `EOPNOTSUPP` on another kind of socket, `EBADF`.
    pub fn is_for_group(&self, fd: Fd) -> Answer<bool> {
        let (id, _) = self.udp(fd)?;
        Ok(id.is_some_and(|id| self.node.udp_is_for_group(id)))
    }

    /// Receives the next datagram, truncated to `out`; returns the number of bytes in `out` and the
    /// sender. A connected socket receives only from its peer.
    ///
    /// # Errors
    /// `EAGAIN`, `EOPNOTSUPP` on another kind of socket or with flags other than [`MSG_DONTWAIT`],
    /// `EBADF`.
    pub fn recv_from(&mut self, fd: Fd, out: &mut [u8], flags: i32) -> Answer<(usize, Endpoint)> {
        if !P::Memory::HAS_UDP || flags & !MSG_DONTWAIT != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let (id, peer) = self.udp(fd)?;
        let id = id.ok_or(Errno::EAGAIN)?;
        loop {
            let (len, from) = self.node.udp_recv(id, out).ok_or(Errno::EAGAIN)?;
            if peer.is_none_or(|peer| peer == from) {
                return Ok((len, from));
            }
        }
    }
}

/// Binds to the first free port of the ephemeral range.
pub(crate) fn bind_anywhere(
    mut bind: impl FnMut(u16) -> Result<UdpId, Error>,
) -> Result<(UdpId, u16), Error> {
    for port in EPHEMERAL_FIRST..=u16::MAX {
        match bind(port) {
            Err(Error::PortInUse) => {}
            Ok(id) => return Ok((id, port)),
            Err(error) => return Err(error),
        }
    }
    Err(Error::PortInUse)
}
