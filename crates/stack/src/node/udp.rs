//! UDP and echo calls for applications.

use redpoll_base::{Addr, Instant, Memory, copy};
use redpoll_tcp::Endpoint;
use redpoll_wire::ipv6::next_header;
use redpoll_wire::udp::UdpHeader;

use super::Node;
use crate::assist::Assist;
use crate::net::icmp;
use crate::profile::Profile;
use crate::{Error, UdpId};

impl<P: Profile> Node<P> {
    /// Binds a UDP socket to `port`.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NoSlot`].
    pub fn udp_bind(&mut self, port: u16) -> Result<UdpId, Error> {
        if !P::Memory::HAS_UDP {
            return Err(Error::NoSlot);
        }
        self.transports.udp.bind(port)
    }

    /// Closes a UDP socket and drops its received datagrams.
    pub fn udp_close(&mut self, id: UdpId) {
        if P::Memory::HAS_UDP {
            self.transports.udp.close(id);
        }
    }

    /// Returns whether a UDP socket holds a datagram.
    pub fn udp_is_readable(&self, id: UdpId) -> bool {
        P::Memory::HAS_UDP && self.transports.udp.is_readable(id)
    }

    /// Takes the next datagram, truncated to `out`. Returns the number of bytes and the sender.
    pub fn udp_recv(&mut self, id: UdpId, out: &mut [u8]) -> Option<(usize, Endpoint)> {
        if P::Assist::GROUPS {
            self.transports.udp.take_mark(id);
        }
        self.transports.udp.recv(id, out)
    }

    /// Returns whether the next received datagram was sent to a group. Such a datagram has other
    /// receivers, which should not all answer at the same time (RFC 7252 §8.2).
    pub fn udp_is_for_group(&self, id: UdpId) -> bool {
        P::Assist::GROUPS && self.transports.udp.is_marked(id)
    }

    /// Joins a multicast group: all sockets get the datagrams that arrive for the group and for
    /// their port. The node needs an [assistant](crate::assist) for groups.
    ///
    /// # Errors
    /// [`Error::NoSlot`] without such an assistant, or if it has no room for another group.
    pub fn join_group(&mut self, group: &Addr) -> Result<(), Error> {
        let joins = P::Assist::GROUPS && group.is_multicast();
        let joined = joins && self.net.assist.set_member(group, true);
        joined.then_some(()).ok_or(Error::NoSlot)
    }

    /// Leaves a group.
    ///
    /// # Errors
    /// [`Error::UnknownHandle`] if the node is not a member.
    pub fn leave_group(&mut self, group: &Addr) -> Result<(), Error> {
        let left = P::Assist::GROUPS && self.net.assist.set_member(group, false);
        left.then_some(()).ok_or(Error::UnknownHandle)
    }

    /// Sends a UDP datagram.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::NoRoute`], [`Error::UnknownHandle`], [`Error::WouldBlock`] if
    /// no datagram slot or queue entry is free.
    pub fn udp_send(
        &mut self,
        now: Instant,
        id: UdpId,
        dst: Endpoint,
        data: &[u8],
    ) -> Result<(), Error> {
        let src_port = self.transports.udp.port(id).ok_or(Error::UnknownHandle)?;
        let src = self.source_for(&dst.addr).ok_or(Error::NoRoute)?;
        let header = UdpHeader::for_payload(&src, src_port, &dst.addr, dst.port, data)
            .ok_or(Error::TooLong)?;
        let length = usize::from(header.length);
        let ip = self.net.identity.header(src, dst.addr, next_header::UDP);
        self.originate(now, ip, length, |upper| {
            let (head, body) = upper.split_at_mut_checked(UdpHeader::LEN)?;
            head.copy_from_slice(&header.to_bytes());
            copy(data, body);
            Some(())
        })
    }

    /// Sends an echo request with `len` bytes of data (RFC 4443 §4.1). The answer arrives as
    /// [`NodeEvent::EchoReply`](crate::NodeEvent::EchoReply).
    ///
    /// # Errors
    /// As [`Node::udp_send`].
    pub fn ping(
        &mut self,
        now: Instant,
        dst: Addr,
        ident: u16,
        seq: u16,
        len: usize,
    ) -> Result<(), Error> {
        let src = self.source_for(&dst).ok_or(Error::NoRoute)?;
        let ip = self.net.identity.header(src, dst, next_header::ICMPV6);
        self.originate(now, ip, len.saturating_add(icmp::ECHO_HEADER), |message| {
            icmp::write_echo_request(message, &ip, ident, seq)
        })
    }
}
