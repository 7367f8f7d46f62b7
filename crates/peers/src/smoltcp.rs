//! smoltcp, with its defaults; without congestion control or with Reno.

#[cfg(not(feature = "smoltcp"))]
pub(crate) use absent::{MISSING, open};
#[cfg(feature = "smoltcp")]
pub(crate) use present::{MISSING, open};

#[cfg(not(feature = "smoltcp"))]
mod absent {
    use redpoll_base::Instant;

    use crate::peer::{Limits, Peer};

    pub(crate) const MISSING: Option<&str> =
        Some("smoltcp needs Rust 1.91 and the feature `smoltcp`, which `make bench` sets");

    pub(crate) fn open(_now: Instant, _limits: &Limits, _reno: bool) -> [Box<dyn Peer>; 2] {
        panic!("smoltcp is missing")
    }
}

#[cfg(feature = "smoltcp")]
mod present {
    use std::collections::VecDeque;

    use redpoll_base::Instant;
    use redpoll_wire::tcp::SeqNum;
    use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
    use smoltcp::phy::{self, DeviceCapabilities, Medium};
    use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
    use smoltcp::time::Instant as SmolInstant;
    use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv6Address};

    use crate::packet::{self, IPV6_LEN};
    use crate::peer::{Limits, Peer};

    pub(crate) const MISSING: Option<&str> = None;

    const PORT: u16 = 4_000;
    const TCP_LEN: usize = 20;

    struct End {
        side: usize,
        interface: Interface,
        sockets: SocketSet<'static>,
        handle: SocketHandle,
        device: Device,
        /// Sequence number of the first byte that the stack has not sent.
        sent_up_to: Option<SeqNum>,
        timeouts: u32,
        was_established: bool,
    }

    struct Device {
        mtu: usize,
        rx: VecDeque<Vec<u8>>,
        tx: VecDeque<Vec<u8>>,
    }

    pub(crate) fn open(now: Instant, limits: &Limits, reno: bool) -> [Box<dyn Peer>; 2] {
        [0, 1].map(|side| Box::new(End::new(side, now, limits, reno)) as Box<dyn Peer>)
    }

    fn time(now: Instant) -> SmolInstant {
        SmolInstant::from_micros(i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
    }

    fn address(side: usize) -> IpAddress {
        IpAddress::Ipv6(Ipv6Address::from(packet::address(side)))
    }

    impl End {
        fn new(side: usize, now: Instant, limits: &Limits, reno: bool) -> End {
            let mut device = Device {
                mtu: usize::from(limits.payload_bytes) + IPV6_LEN + TCP_LEN,
                rx: VecDeque::new(),
                tx: VecDeque::new(),
            };
            let mut config = Config::new(HardwareAddress::Ip);
            config.random_seed = 1 + side as u64;
            let mut interface = Interface::new(config, &mut device, time(now));
            interface.update_ip_addrs(|addrs| {
                addrs
                    .push(IpCidr::new(address(side), 64))
                    .expect("room for one address");
            });
            let buffer = || SocketBuffer::new(vec![0; limits.buffer_bytes]);
            let mut socket = Socket::new(buffer(), buffer());
            socket.set_congestion_control(if reno {
                CongestionControl::Reno
            } else {
                CongestionControl::None
            });
            if side == 0 {
                let remote = (address(1), PORT);
                socket
                    .connect(interface.context(), remote, PORT)
                    .expect("a fresh socket can connect");
            } else {
                socket.listen(PORT).expect("a fresh socket can listen");
            }
            let mut sockets = SocketSet::new(Vec::new());
            let handle = sockets.add(socket);
            let mut end = End {
                side,
                interface,
                sockets,
                handle,
                device,
                sent_up_to: None,
                timeouts: 0,
                was_established: false,
            };
            end.poll(now);
            end
        }

        fn socket(&mut self) -> &mut Socket<'static> {
            self.sockets.get_mut(self.handle)
        }

        fn poll(&mut self, now: Instant) -> bool {
            let before = self.device.tx.len();
            self.interface
                .poll(time(now), &mut self.device, &mut self.sockets);
            self.was_established |= self.is_established();
            let mut again = false;
            for bytes in self.device.tx.iter().skip(before) {
                let packet = packet::summary(bytes);
                if packet.payload == 0 {
                    continue;
                }
                let ahead = |limit: SeqNum| packet.seq >= limit;
                again |= self.sent_up_to.is_some_and(|limit| !ahead(limit));
                if self.sent_up_to.is_none_or(ahead) {
                    self.sent_up_to = Some(packet.seq + packet.payload);
                }
            }
            again
        }
    }

    impl Peer for End {
        fn input(&mut self, now: Instant, packet: &[u8]) {
            self.device.rx.push_back(packet.to_vec());
            self.poll(now);
        }

        fn output(&mut self, now: Instant) -> Option<Vec<u8>> {
            if self.device.tx.is_empty() {
                self.poll(now);
            }
            self.device.tx.pop_front()
        }

        fn poll_at(&mut self, now: Instant) -> Option<Instant> {
            let at = self.interface.poll_at(time(now), &self.sockets)?;
            Some(Instant::from_micros(
                u64::try_from(at.total_micros()).unwrap_or(0),
            ))
        }

        fn on_timeout(&mut self, now: Instant) {
            // smoltcp does not count timeouts. A retransmission without a received packet is due to
            // the timer.
            self.timeouts += u32::from(self.poll(now));
        }

        fn send(&mut self, _now: Instant, bytes: &[u8]) -> usize {
            self.socket().send_slice(bytes).unwrap_or(0)
        }

        fn recv(&mut self, _now: Instant, out: &mut [u8]) -> usize {
            self.socket().recv_slice(out).unwrap_or(0)
        }

        fn is_established(&self) -> bool {
            let socket = self.sockets.get::<Socket<'_>>(self.handle);
            socket.state() == State::Established
        }

        fn has_failed(&self) -> bool {
            let socket = self.sockets.get::<Socket<'_>>(self.handle);
            let is_closed = socket.state() == State::Closed;
            is_closed && (self.was_established || self.side == 0)
        }

        fn timeouts(&self) -> u32 {
            self.timeouts
        }
    }

    impl phy::Device for Device {
        type RxToken<'a> = RxToken;
        type TxToken<'a> = TxToken<'a>;

        fn receive(&mut self, _now: SmolInstant) -> Option<(RxToken, TxToken<'_>)> {
            let packet = self.rx.pop_front()?;
            Some((RxToken(packet), TxToken(&mut self.tx)))
        }

        fn transmit(&mut self, _now: SmolInstant) -> Option<TxToken<'_>> {
            Some(TxToken(&mut self.tx))
        }

        fn capabilities(&self) -> DeviceCapabilities {
            let mut capabilities = DeviceCapabilities::default();
            capabilities.medium = Medium::Ip;
            capabilities.max_transmission_unit = self.mtu;
            capabilities
        }
    }

    struct RxToken(Vec<u8>);

    impl phy::RxToken for RxToken {
        fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
            f(&self.0)
        }
    }

    struct TxToken<'a>(&'a mut VecDeque<Vec<u8>>);

    impl phy::TxToken for TxToken<'_> {
        fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
            let mut packet = vec![0; len];
            let result = f(&mut packet);
            self.0.push_back(packet);
            result
        }
    }
}
