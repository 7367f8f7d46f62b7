//! A leaf's functions by smoltcp, as far as available: frames of IEEE 802.15.4 in and out,
//! 6LoWPAN with fragments, IPv6 with neighbour discovery, a TCP socket with buffers of 1,848
//! bytes and a UDP socket. Linked and never run; `docs/size.md` lists the missing functions.
#![no_std]
#![no_main]

use core::hint::black_box;

use image::unknown::any;
use redpoll_firmware as image;
use smoltcp::iface::{Config, Interface, SocketSet, SocketStorage};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{
    HardwareAddress, Ieee802154Address, Ieee802154Pan, IpAddress, IpCidr, IpEndpoint, Ipv6Address,
};

/// Bytes of each buffer of a connection, as in Redpoll's leaf.
const BUFFER: usize = 1_848;
/// The longest frame without its check sequence.
const FRAME: usize = 125;

/// A radio whose behaviour the compiler cannot know.
struct Radio {
    frame: [u8; FRAME],
}

struct Received([u8; FRAME]);

struct Sent<'a>(&'a mut [u8; FRAME]);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0.get(..any(FRAME)).unwrap_or_default())
    }
}

impl TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let result = write(self.0.get_mut(..len).unwrap_or_default());
        black_box(&self.0);
        result
    }
}

impl Device for Radio {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sent<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sent<'_>)> {
        any(true).then(|| (Received(any([0; FRAME])), Sent(&mut self.frame)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sent<'_>> {
        any(true).then_some(Sent(&mut self.frame))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut caps = DeviceCapabilities::default();
        caps.medium = Medium::Ieee802154;
        caps.max_transmission_unit = FRAME;
        caps
    }
}

fn endpoint() -> IpEndpoint {
    IpEndpoint::new(IpAddress::Ipv6(Ipv6Address::from(any([1; 16]))), any(1))
}

#[unsafe(no_mangle)]
fn image_main() -> ! {
    let mut radio = Radio { frame: [0; FRAME] };
    let here = Ieee802154Address::Extended(any([2; 8]));
    let mut config = Config::new(HardwareAddress::Ieee802154(here));
    config.random_seed = any(1);
    config.pan_id = Some(Ieee802154Pan(any(1)));
    let mut iface = Interface::new(config, &mut radio, Instant::from_micros(any(0)));
    iface.update_ip_addrs(|all| {
        let _ = all.push(IpCidr::new(endpoint().addr, 64));
    });
    let _ = iface
        .routes_mut()
        .add_default_ipv6_route(Ipv6Address::from(any([1; 16])));
    let (mut rx, mut tx) = ([0; BUFFER], [0; BUFFER]);
    let (mut udp_rx, mut udp_tx) = ([0; 512], [0; 512]);
    let (mut heads_in, mut heads_out) = (
        [udp::PacketMetadata::EMPTY; 2],
        [udp::PacketMetadata::EMPTY; 2],
    );
    let mut storage = [SocketStorage::EMPTY; 2];
    let mut sockets = SocketSet::new(&mut storage[..]);
    let stream = tcp::Socket::new(
        tcp::SocketBuffer::new(&mut rx[..]),
        tcp::SocketBuffer::new(&mut tx[..]),
    );
    let datagrams = udp::Socket::new(
        udp::PacketBuffer::new(&mut heads_in[..], &mut udp_rx[..]),
        udp::PacketBuffer::new(&mut heads_out[..], &mut udp_tx[..]),
    );
    let (stream, datagrams) = (sockets.add(stream), sockets.add(datagrams));
    loop {
        let now = Instant::from_micros(any(1));
        black_box(iface.poll(now, &mut radio, &mut sockets));
        black_box(iface.poll_delay(now, &sockets));
        let socket = sockets.get_mut::<tcp::Socket<'_>>(stream);
        let mut bytes = [0; 64];
        if any(true) {
            let _ = black_box(socket.listen(any(80)));
        }
        if any(true) {
            let _ = black_box(socket.connect(iface.context(), endpoint(), any(81)));
        }
        let _ = black_box(socket.recv_slice(&mut bytes));
        let _ = black_box(socket.send_slice(&bytes));
        match any(0) {
            0 => socket.close(),
            1 => socket.abort(),
            _ => {
                black_box(socket.state());
            }
        }
        let socket = sockets.get_mut::<udp::Socket<'_>>(datagrams);
        let _ = black_box(socket.bind(any(7)));
        let _ = black_box(socket.recv_slice(&mut bytes));
        let _ = black_box(socket.send_slice(&bytes, endpoint()));
        black_box(&bytes);
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
