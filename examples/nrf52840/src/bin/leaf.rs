//! A leaf of a mesh on the chip's own radio: its short address is 2, its parent's 1. It echoes on
//! port 7; on port 80 it has the web server of `samples`, like the image `thread`.
#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_futures::join::join4;
use embassy_nrf::radio::ieee802154::Radio as Driver;
use embassy_nrf::{bind_interrupts, peripherals, radio as chip, rng};
use embassy_time::Timer;
use redpoll_base::{Addr, Rng};
use redpoll_nrf52840::echo;
use redpoll_nrf52840::radio::{Clock, Nrf, now};
use redpoll_samples::http;
use redpoll_socket::nal::{LeafNet, Watch};
use redpoll_stack::mac::{MacConfig, Radio};
use redpoll_stack::wire::ieee802154::Address;
use redpoll_stack::{
    Connections, Datagrams, Listeners, Node, NodeConfig, NodeStorage, Packets, Route, Routes, Via,
};
use redpoll_transceiver::{Exchange, Operator, TransceiverRadio};
use static_cell::{ConstStaticCell, StaticCell};

bind_interrupts!(struct Interrupts {
    RADIO => chip::InterruptHandler<peripherals::RADIO>;
    RNG => rng::InterruptHandler<peripherals::RNG>;
});

const CHANNEL: u8 = 15;
const SHORT: u16 = 2;
const PARENT: u16 = 1;
/// Bytes of the web server's file.
const FILE: usize = 20_000;
/// The prefix of the mesh: fd00::/64.
const PREFIX: Addr = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/// A `LeafStorage` with a connection for each request that the web server answers, and one for the
/// echo service.
type Storage = NodeStorage<
    Connections<{ http::AT_ONCE + 1 }, 1_848, 1_848>,
    Listeners<2, 1>,
    Datagrams<1, 192>,
    Routes<1, 0>,
    Packets<3, 544>,
>;

static STORAGE: ConstStaticCell<Storage> = ConstStaticCell::new(Storage::NEW);
static EXCHANGE: StaticCell<Exchange> = StaticCell::new();
/// One for each connection and each listener.
static WATCHES: ConstStaticCell<[Watch; http::AT_ONCE + 3]> =
    ConstStaticCell::new([const { Watch::FREE }; http::AT_ONCE + 3]);

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let chip = embassy_nrf::init(Default::default());
    // The chip's own source of randomness: for keys, ports and backoffs.
    let mut random = rng::Rng::new(chip.RNG, Interrupts);
    let (mut secret, mut seed) = ([0; 16], [0; 8]);
    random.fill_bytes(&mut secret).await;
    random.fill_bytes(&mut seed).await;
    let seed = u64::from_le_bytes(seed);

    let exchange = EXCHANGE.init_with(Exchange::new);
    let mut radio = TransceiverRadio::new(exchange, Clock);
    let driver = Nrf::new(Driver::new(chip.RADIO, Interrupts), CHANNEL);
    let mut operator = Operator::new(exchange, driver);
    let mac = MacConfig::default().with(|it| {
        it.short = SHORT;
        it.extended = [2, 0, 0, 0, 0, 0, 0, 2];
        it.caps = radio.caps();
    });
    radio.set_identity((&mac).into());
    let config = NodeConfig::leaf(mac, PREFIX, seed as u16, secret);
    let memory = STORAGE.take().memory();
    let mut node = Node::new(config, memory, Rng::new(seed));
    let everything = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Neighbour(Address::Short(PARENT)),
    };
    // The table has room for this route.
    let _ = node.add_route(everything);
    let net = LeafNet::new(node, now, &mut WATCHES.take()[..]);
    let echo = echo::serve(&net, 7);
    let web = http::serve(&net, 80, FILE, |ms: u32| Timer::after_millis(ms.into()));
    join4(operator.run(), net.run_on(&mut radio), echo, web).await;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}
