//! An RP2040 with an AT86RF233 on its SPI 0.
//!
//! | radio | RP2040 |
//! | --- | --- |
//! | MISO, /SEL, SCLK, MOSI | GPIO 16, 17, 18, 19 |
//! | /RST, SLP_TR, IRQ | GPIO 20, 21, 22 |

use embassy_futures::join::join3;
use embassy_rp::clocks::RoscRng;
use embassy_rp::gpio::{Input, Level, Output, Pull};
use embassy_rp::spi::{Config, Spi};
use embedded_hal_bus::spi::ExclusiveDevice;
use redpoll_socket::stack::LeafStorage;
use redpoll_transceiver::{Exchange, Operator, TransceiverRadio};
use static_cell::{ConstStaticCell, StaticCell};

use super::clock::{Clock, now};
use crate::at86rf233::At86rf233;
use crate::node::{self, CHANNEL, LEAF, Net, PARENT, Place, Random};

static STORAGE: ConstStaticCell<LeafStorage> = ConstStaticCell::new(LeafStorage::NEW);
static EXCHANGE: StaticCell<Exchange> = StaticCell::new();

/// Runs `app` on the node, until the board is off.
pub async fn run(app: impl AsyncFnOnce(&Net)) {
    let chip = embassy_rp::init(Default::default());
    let mut config = Config::default();
    // The radio's limit is 7.5 MHz.
    config.frequency = 7_000_000;
    let bus = Spi::new_blocking(chip.SPI0, chip.PIN_18, chip.PIN_19, chip.PIN_16, config);
    let select = Output::new(chip.PIN_17, Level::High);
    let Ok(spi) = ExclusiveDevice::new_no_delay(bus, select);
    let reset = Output::new(chip.PIN_20, Level::High);
    // The pin keeps its level while the value exists.
    let _sleep = Output::new(chip.PIN_21, Level::Low);
    let irq = Input::new(chip.PIN_22, Pull::Down);
    let driver = At86rf233::new(spi, reset, irq, CHANNEL).await;
    let driver = driver.expect("the radio must answer: check its wires");

    // The ring oscillator is a weak source. Products mix in a secret of their own.
    let mut secret = [0; 16];
    RoscRng.fill_bytes(&mut secret);
    let seed = RoscRng.next_u64();

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
    let mut operator = Operator::new(exchange, driver);
    join3(operator.run(), net.run_on(&mut radio), app(&net)).await;
}
