//! UDP sockets.

use core::net::SocketAddr;

use embedded_nal_async::{ConnectedUdp, UdpStack, UnconnectedUdp};
use redpoll_stack::UdpId;
use redpoll_tcp::Endpoint;

use super::{Clock, Key, Net, Node, Profile, Side, Watch, endpoint, socket_addr};
use crate::Errno;
use crate::posix::bind_anywhere;

/// A UDP socket. A socket from `connect` has a peer, and receives datagrams only from it.
pub struct UdpSocket<'n, P: Profile, C: Clock, T: AsMut<[Watch]>> {
    net: &'n Net<P, C, T>,
    id: UdpId,
    local: SocketAddr,
    peer: Option<Endpoint>,
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Net<P, C, T> {
    /// Binds to a port, or to a free one if `port` is 0.
    ///
    /// # Errors
    /// `EADDRINUSE`, `EMFILE`.
    pub fn udp_bind(&self, port: u16) -> Result<UdpSocket<'_, P, C, T>, Errno> {
        self.call(|inner, _| {
            let node = &mut inner.node;
            let (id, port) = match port {
                0 => bind_anywhere(|port| node.udp_bind(port))?,
                port => (node.udp_bind(port)?, port),
            };
            let local = socket_addr(Endpoint::new(node.address(), port));
            if let Err(error) = inner.begin(Key::Udp(id)) {
                inner.node.udp_close(id);
                return Err(error);
            }
            Ok(UdpSocket {
                net: self,
                id,
                local,
                peer: None,
            })
        })
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpSocket<'_, P, C, T> {
    /// Returns the socket's own end.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sends a datagram, or drops it if there is no room.
    ///
    /// # Errors
    /// `ENETUNREACH`, `EMSGSIZE`.
    pub fn send_to(&self, remote: Endpoint, data: &[u8]) -> Result<(), Errno> {
        let sent = self
            .net
            .call(|inner, now| inner.node.udp_send(now, self.id, remote, data));
        match sent {
            // No error: a full queue anywhere on the path can drop a datagram as well.
            Err(redpoll_stack::Error::WouldBlock) => Ok(()),
            sent => Ok(sent?),
        }
    }

    /// Receives the next datagram, truncated to `buf`; returns the number of bytes in `buf` and the
    /// sender.
    ///
    /// # Errors
    /// None.
    pub async fn recv_from(&self, buf: &mut [u8]) -> Result<(usize, Endpoint), Errno> {
        let (id, peer) = (self.id, self.peer);
        let attempt = |node: &mut Node<P>, _| {
            loop {
                let (len, from) = node.udp_recv(id, buf).ok_or(Errno::EAGAIN)?;
                if peer.is_none_or(|peer| peer == from) {
                    return Ok((len, from));
                }
            }
        };
        self.net.until(Key::Udp(id), Side::Read, attempt).await
    }
}

#[cfg(feature = "edge")]
impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpSocket<'_, P, C, T> {
    /// Sets the only peer whose datagrams the socket accepts.
    pub(super) fn to(mut self, peer: Endpoint) -> Self {
        self.peer = Some(peer);
        self
    }

    pub(super) async fn until_readable(&self) -> Result<(), Errno> {
        let id = self.id;
        let attempt = |node: &mut Node<P>, _| match node.udp_is_readable(id) {
            true => Ok(()),
            false => Err(Errno::EAGAIN),
        };
        self.net.until(Key::Udp(id), Side::Read, attempt).await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Drop for UdpSocket<'_, P, C, T> {
    fn drop(&mut self) {
        self.net.call(|inner, _| {
            inner.node.udp_close(self.id);
            inner.end(Key::Udp(self.id));
        });
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> ConnectedUdp for UdpSocket<'_, P, C, T> {
    type Error = Errno;

    async fn send(&mut self, data: &[u8]) -> Result<(), Errno> {
        self.send_to(self.peer.ok_or(Errno::EDESTADDRREQ)?, data)
    }

    async fn receive_into(&mut self, buffer: &mut [u8]) -> Result<usize, Errno> {
        Ok(self.recv_from(buffer).await?.0)
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UnconnectedUdp for UdpSocket<'_, P, C, T> {
    type Error = Errno;

    /// Sends from the socket's own address; ignores `local`.
    async fn send(
        &mut self,
        _local: SocketAddr,
        remote: SocketAddr,
        data: &[u8],
    ) -> Result<(), Errno> {
        self.send_to(endpoint(remote)?, data)
    }

    async fn receive_into(
        &mut self,
        buffer: &mut [u8],
    ) -> Result<(usize, SocketAddr, SocketAddr), Errno> {
        let (len, from) = self.recv_from(buffer).await?;
        Ok((len, self.local, socket_addr(from)))
    }
}

impl<'n, P: Profile, C: Clock, T: AsMut<[Watch]>> UdpStack for &'n Net<P, C, T> {
    type Error = Errno;
    type Connected = UdpSocket<'n, P, C, T>;
    type UniquelyBound = UdpSocket<'n, P, C, T>;
    type MultiplyBound = UdpSocket<'n, P, C, T>;

    async fn connect_from(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<(SocketAddr, Self::Connected), Errno> {
        let peer = Some(endpoint(remote)?);
        let mut socket = self.udp_bind(local.port())?;
        socket.peer = peer;
        Ok((socket.local, socket))
    }

    async fn bind_single(
        &self,
        local: SocketAddr,
    ) -> Result<(SocketAddr, Self::UniquelyBound), Errno> {
        let socket = self.udp_bind(local.port())?;
        Ok((socket.local, socket))
    }

    async fn bind_multiple(&self, local: SocketAddr) -> Result<Self::MultiplyBound, Errno> {
        self.udp_bind(local.port())
    }
}
