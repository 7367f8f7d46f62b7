//! An nRF52840 on its own radio, by the driver of `embassy-nrf`.
//!
//! The driver assesses the channel before every frame, so acknowledgements leave 260 to 390 µs after
//! their frame instead of 192 µs. Most senders wait long enough: 864 µs for the whole acknowledgement.

use embassy_futures::join::join3;
use embassy_nrf::radio::ieee802154::{Cca, Packet, Radio as Driver};
use embassy_nrf::{bind_interrupts, pac, peripherals, radio as chip, rng};
use redpoll_socket::stack::LeafStorage;
use redpoll_socket::stack::mac::{FrameBuf, RxInfo};
use redpoll_transceiver::{
    Assessment, Exchange, Operator, Transceiver, TransceiverRadio, nrf52840,
};
use static_cell::{ConstStaticCell, StaticCell};

use super::clock::{Clock, now};
use crate::node::{self, CHANNEL, LEAF, Net, PARENT, Place, Random};

bind_interrupts!(struct Interrupts {
    RADIO => chip::InterruptHandler<peripherals::RADIO>;
    RNG => rng::InterruptHandler<peripherals::RNG>;
});

static STORAGE: ConstStaticCell<LeafStorage> = ConstStaticCell::new(LeafStorage::NEW);
static EXCHANGE: StaticCell<Exchange> = StaticCell::new();

/// Runs `app` on the node, until the board is off.
pub async fn run(app: impl AsyncFnOnce(&Net)) {
    let chip = embassy_nrf::init(Default::default());
    let mut source = rng::Rng::new(chip.RNG, Interrupts);
    let (mut secret, mut seed) = ([0; 16], [0; 8]);
    source.fill_bytes(&mut secret).await;
    source.fill_bytes(&mut seed).await;
    let seed = u64::from_le_bytes(seed);

    let exchange = EXCHANGE.init_with(Exchange::new);
    let mut radio = TransceiverRadio::new(exchange, Clock);
    let (short, parent) = (LEAF, PARENT);
    let place = Place { short, parent };
    let net = node::start(
        &mut radio,
        now,
        STORAGE.take(),
        place,
        Random { secret, seed },
    );
    let mut driver = Driver::new(chip.RADIO, Interrupts);
    driver.set_channel(CHANNEL);
    let packet = Packet::new();
    let mut operator = Operator::new(exchange, Nrf { driver, packet });
    join3(operator.run(), net.run_on(&mut radio), app(&net)).await;
}

struct Nrf<'d> {
    driver: Driver<'d>,
    packet: Packet,
}

impl Transceiver for Nrf<'_> {
    async fn receive(&mut self) -> bool {
        self.driver.receive(&mut self.packet).await.is_ok()
    }

    fn received(&self) -> Option<(&[u8], RxInfo)> {
        // The length comes from the air. If too large, the driver would read beyond its buffer.
        let is_possible = usize::from(self.packet.len()) <= FrameBuf::CAPACITY;
        is_possible.then(|| (&self.packet[..], nrf52840::rx_info(self.packet.lqi())))
    }

    fn assess_by(&mut self, assessment: Assessment) {
        self.driver.set_cca(match assessment {
            Assessment::Channel => Cca::CarrierSense,
            // A threshold that no energy reaches.
            Assessment::AlwaysFree => Cca::EnergyDetection { ed_threshold: 0xff },
        });
    }

    async fn try_send(&mut self, frame: &[u8]) -> bool {
        self.packet.copy_from_slice(frame);
        self.driver.try_send(&mut self.packet).await.is_ok()
    }

    fn disable(&mut self) {
        // The driver has no call that switches the radio off, and can receive again from this
        // state.
        pac::RADIO.tasks_disable().write_value(1);
    }
}
