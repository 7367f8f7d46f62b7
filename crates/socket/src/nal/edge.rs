//! The traits of `edge-nal`, through which `edge-http`, `picoserve` and others use a network.
//!
//! Calls with IPv4 addresses return `EAFNOSUPPORT`. These traits cannot join IPv6 multicast groups;
//! the calls return `EOPNOTSUPP`.

use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use edge_nal::{
    Close, MulticastV4, MulticastV6, Readable, TcpAccept, TcpBind, TcpConnect, TcpShutdown,
    TcpSplit, UdpBind, UdpConnect, UdpReceive, UdpSend, UdpSplit, UdpSplitMulticast,
};
use embedded_io_async::ErrorType;

use super::{Clock, Net, Profile, TcpListener, TcpStream, UdpSocket, Watch, endpoint, socket_addr};
use crate::Errno;

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Readable for &TcpStream<'_, P, C, T> {
    async fn readable(&mut self) -> Result<(), Errno> {
        self.peek_with(|_, _| 0).await.map(|_| ())
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Readable for TcpStream<'_, P, C, T> {
    /// Waits until data or the end of the stream can be read.
    async fn readable(&mut self) -> Result<(), Errno> {
        (&*self).readable().await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> TcpSplit for TcpStream<'_, P, C, T> {
    type Read<'a>
        = &'a Self
    where
        Self: 'a;
    type Write<'a>
        = &'a Self
    where
        Self: 'a;

    fn split(&mut self) -> (&Self, &Self) {
        (self, self)
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> TcpShutdown for TcpStream<'_, P, C, T> {
    /// Closes the sending direction without waiting for the other end. With [`Close::Read`], does
    /// nothing: data that the application no longer reads is still acknowledged while the buffer
    /// has room, because TCP cannot report a closed reading direction.
    async fn close(&mut self, what: Close) -> Result<(), Errno> {
        if what != Close::Read {
            self.shutdown();
        }
        Ok(())
    }

    async fn abort(&mut self) -> Result<(), Errno> {
        self.reset();
        Ok(())
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> TcpConnect for Net<P, C, T> {
    type Error = Errno;
    type Socket<'a>
        = TcpStream<'a, P, C, T>
    where
        Self: 'a;

    async fn connect(&self, remote: SocketAddr) -> Result<Self::Socket<'_>, Errno> {
        self.tcp_connect(endpoint(remote)?).await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> TcpBind for Net<P, C, T> {
    type Error = Errno;
    type Accept<'a>
        = TcpListener<'a, P, C, T>
    where
        Self: 'a;

    /// Listens on a port. `local` has the unspecified address or the node's own; other addresses
    /// return `EADDRNOTAVAIL`. Port 0 returns `EINVAL`, because no client could find the port.
    async fn bind(&self, local: SocketAddr) -> Result<Self::Accept<'_>, Errno> {
        let local = endpoint(local)?;
        let own = self.inner.borrow().node.address();
        if !local.addr.is_unspecified() && local.addr != own {
            return Err(Errno::EADDRNOTAVAIL);
        }
        if local.port == 0 {
            return Err(Errno::EINVAL);
        }
        self.tcp_listen(local.port)
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> TcpAccept for TcpListener<'_, P, C, T> {
    type Error = Errno;
    type Socket<'a>
        = TcpStream<'a, P, C, T>
    where
        Self: 'a;

    /// Returns the next connection. Resets a connection for which there is no [`Watch`], and waits
    /// for the next one, because an error would end a server that only lacks a free [`Watch`].
    async fn accept(&self) -> Result<(SocketAddr, Self::Socket<'_>), Errno> {
        loop {
            match TcpListener::accept(self).await {
                Ok(stream) => {
                    // Unspecified if the node has released the connection; reads then fail.
                    let remote = stream.remote().unwrap_or_default();
                    return Ok((socket_addr(remote), stream));
                }
                Err(Errno::EMFILE) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> ErrorType for UdpSocket<'_, P, C, T> {
    type Error = Errno;
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> ErrorType for &UdpSocket<'_, P, C, T> {
    type Error = Errno;
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpReceive for &UdpSocket<'_, P, C, T> {
    async fn receive(&mut self, buffer: &mut [u8]) -> Result<(usize, SocketAddr), Errno> {
        let (len, from) = self.recv_from(buffer).await?;
        Ok((len, socket_addr(from)))
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpSend for &UdpSocket<'_, P, C, T> {
    async fn send(&mut self, remote: SocketAddr, data: &[u8]) -> Result<(), Errno> {
        self.send_to(endpoint(remote)?, data)
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Readable for &UdpSocket<'_, P, C, T> {
    async fn readable(&mut self) -> Result<(), Errno> {
        self.until_readable().await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> MulticastV4 for &UdpSocket<'_, P, C, T> {
    async fn join_v4(&mut self, _: Ipv4Addr, _: Ipv4Addr) -> Result<(), Errno> {
        Err(Errno::EAFNOSUPPORT)
    }

    async fn leave_v4(&mut self, _: Ipv4Addr, _: Ipv4Addr) -> Result<(), Errno> {
        Err(Errno::EAFNOSUPPORT)
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> MulticastV6 for &UdpSocket<'_, P, C, T> {
    async fn join_v6(&mut self, _: Ipv6Addr, _: u32) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    async fn leave_v6(&mut self, _: Ipv6Addr, _: u32) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpReceive for UdpSocket<'_, P, C, T> {
    async fn receive(&mut self, buffer: &mut [u8]) -> Result<(usize, SocketAddr), Errno> {
        (&*self).receive(buffer).await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpSend for UdpSocket<'_, P, C, T> {
    async fn send(&mut self, remote: SocketAddr, data: &[u8]) -> Result<(), Errno> {
        (&*self).send(remote, data).await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> Readable for UdpSocket<'_, P, C, T> {
    async fn readable(&mut self) -> Result<(), Errno> {
        self.until_readable().await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> MulticastV4 for UdpSocket<'_, P, C, T> {
    async fn join_v4(&mut self, group: Ipv4Addr, interface: Ipv4Addr) -> Result<(), Errno> {
        (&*self).join_v4(group, interface).await
    }

    async fn leave_v4(&mut self, group: Ipv4Addr, interface: Ipv4Addr) -> Result<(), Errno> {
        (&*self).leave_v4(group, interface).await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> MulticastV6 for UdpSocket<'_, P, C, T> {
    async fn join_v6(&mut self, group: Ipv6Addr, interface: u32) -> Result<(), Errno> {
        (&*self).join_v6(group, interface).await
    }

    async fn leave_v6(&mut self, group: Ipv6Addr, interface: u32) -> Result<(), Errno> {
        (&*self).leave_v6(group, interface).await
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpSplit for UdpSocket<'_, P, C, T> {
    type Receive<'a>
        = &'a Self
    where
        Self: 'a;
    type Send<'a>
        = &'a Self
    where
        Self: 'a;

    fn split(&mut self) -> (&Self, &Self) {
        (self, self)
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpSplitMulticast for UdpSocket<'_, P, C, T> {
    type MulticastV4<'a>
        = &'a Self
    where
        Self: 'a;
    type MulticastV6<'a>
        = &'a Self
    where
        Self: 'a;

    fn split_multicast(&mut self) -> (&Self, &Self, &Self, &Self) {
        (self, self, self, self)
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpBind for Net<P, C, T> {
    type Error = Errno;
    type Socket<'a>
        = UdpSocket<'a, P, C, T>
    where
        Self: 'a;

    async fn bind(&self, local: SocketAddr) -> Result<Self::Socket<'_>, Errno> {
        self.udp_bind(endpoint(local)?.port)
    }
}

impl<P: Profile, C: Clock, T: AsMut<[Watch]>> UdpConnect for Net<P, C, T> {
    type Error = Errno;
    type Socket<'a>
        = UdpSocket<'a, P, C, T>
    where
        Self: 'a;

    async fn connect(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<Self::Socket<'_>, Errno> {
        let remote = endpoint(remote)?;
        Ok(self.udp_bind(endpoint(local)?.port)?.to(remote))
    }
}
