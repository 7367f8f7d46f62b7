//! TCP over Thread: OpenThread is radio, mesh and IPv6, and Redpoll runs over its packets. The
//! applications are those of `samples`, which run as well over a TUN interface, a serial line
//! and a simulated radio: a web server on port 80, and a sensor that publishes the chip's
//! temperature by MQTT, in hundredths of a degree.
//!
//! The dataset of the network is `THREAD_DATASET` at build time, the output of `ot-ctl dataset
//! active -x` on any of its nodes. `MQTT_BROKER` is the broker's IPv6 address with its port:
//! `[fd00::1]:1883`; without it there is no sensor.
#![no_std]
#![no_main]

use core::convert::Infallible;
use core::net::{Ipv6Addr, SocketAddr};

use edge_nal::TcpConnect;
use embassy_executor::Spawner;
use embassy_futures::select::{select, select3};
use embassy_nrf::radio::ieee802154::Radio as Driver;
use embassy_nrf::temp::{self, Temp};
use embassy_nrf::{bind_interrupts, peripherals, radio as chip, rng};
use embassy_time::{Duration, Timer};
use openthread::enet::{self, EnetDriverState};
use openthread::nrf::NrfRadio;
use openthread::{
    MacRadio, MacRadioResources, MacRadioTimer, OpenThread, OtResources, SimpleRamSettings,
};
use redpoll_base::{Addr, Instant, Rng, StaticMemory};
use redpoll_nrf52840::radio::now;
use redpoll_samples::decimal::Decimal;
use redpoll_samples::{http, mqtt};
use redpoll_socket::nal::{Net, Watch};
use redpoll_stack::{
    Connections, Datagrams, Listeners, Node, NodeConfig, NodeStorage, Packets, Route, Routes, Via,
};
use static_cell::{ConstStaticCell, StaticCell};
// The functions of C's library that OpenThread calls.
use tinyrlibc as _;

bind_interrupts!(struct Interrupts {
    RADIO => chip::InterruptHandler<peripherals::RADIO>;
    RNG => rng::InterruptHandler<peripherals::RNG>;
    TEMP => temp::InterruptHandler;
});

/// The network, as hexadecimal TLVs; empty if the image joins none.
const DATASET: &str = match option_env!("THREAD_DATASET") {
    Some(dataset) => dataset,
    None => "",
};
const EUI64: [u8; 8] = [0x02, 0, 0, 0, 0, 0, 0, 0x52];
/// The least MTU of IPv6, which is Thread's.
const MTU: usize = 1_280;

/// The broker, if there is one.
const BROKER: Option<&str> = option_env!("MQTT_BROKER");
/// The sensor's name, and the topic under which it publishes.
const SENSOR: (&str, &str) = ("redpoll", "redpoll/temperature");
/// Time between two readings: less than the broker's keep-alive time.
const READING_EVERY: Duration = Duration::from_secs(30);
/// Time before the next attempt to reach the broker.
const BROKER_AGAIN: Duration = Duration::from_secs(60);
/// Bytes of the web server's file.
const FILE: usize = 100_000;

/// Connections for the web server's requests and the sensor, and packets in both directions.
type Storage = NodeStorage<
    Connections<{ http::AT_ONCE + 1 }, 2_440, 2_440>,
    Listeners<1, 2>,
    Datagrams<1, 64>,
    Routes<1, 0>,
    Packets<3, MTU>,
>;

static STORAGE: ConstStaticCell<Storage> = ConstStaticCell::new(Storage::NEW);
static WATCHES: ConstStaticCell<[Watch; http::AT_ONCE + 2]> =
    ConstStaticCell::new([const { Watch::FREE }; http::AT_ONCE + 2]);
static RANDOM: StaticCell<rng::Rng<'static, embassy_nrf::mode::Async>> = StaticCell::new();
static SETTINGS: StaticCell<SimpleRamSettings<'static>> = StaticCell::new();
static SETTINGS_BYTES: ConstStaticCell<[u8; 1_024]> = ConstStaticCell::new([0; 1_024]);
static THREAD: StaticCell<OtResources> = StaticCell::new();
static MAC: StaticCell<MacRadioResources> = StaticCell::new();
static DEVICE: StaticCell<EnetDriverState<MTU, 2, 2>> = StaticCell::new();

/// The clock of OpenThread's software MAC.
struct Clock;

impl MacRadioTimer for Clock {
    fn now(&mut self) -> u64 {
        embassy_time::Instant::now().as_micros()
    }

    async fn wait(&mut self, at: u64) {
        Timer::at(embassy_time::Instant::from_micros(at)).await;
    }
}

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let chip = embassy_nrf::init(Default::default());
    let mut random = rng::Rng::new(chip.RNG, Interrupts);
    let (mut secret, mut seed) = ([0; 16], [0; 8]);
    random.fill_bytes(&mut secret).await;
    random.fill_bytes(&mut seed).await;

    let settings = SimpleRamSettings::new(SETTINGS_BYTES.take());
    let settings = SETTINGS.init(settings);
    let resources = THREAD.init_with(OtResources::new);
    let Ok(thread) = OpenThread::new(EUI64, RANDOM.init(random), settings, resources) else {
        return;
    };
    let device = DEVICE.init_with(EnetDriverState::new);
    let (_state, mut runner, mut device) = enet::new(thread.clone(), device);
    let radio = NrfRadio::new(Driver::new(chip.RADIO, Interrupts));
    let radio = MacRadio::new(radio, Clock, MAC.init_with(MacRadioResources::new));
    let join = || {
        thread.set_active_dataset_tlv_hexstr(DATASET)?;
        thread.enable_ipv6(true)?;
        thread.enable_thread(true)
    };
    if join().is_err() {
        return;
    }
    let serve = async {
        let address = mesh_local(&thread).await;
        let config = NodeConfig::over_ip(Addr(address.octets()), secret);
        let memory = STORAGE.take().memory::<StaticMemory>();
        let mut node = Node::new(config, memory, Rng::new(u64::from_le_bytes(seed)));
        // The table has room for this route.
        let _ = node.add_route(Route {
            prefix: Addr::UNSPECIFIED,
            len: 0,
            via: Via::Host,
        });
        let net = Net::<StaticMemory, _, _>::new(node, now, &mut WATCHES.take()[..]);
        let mut packet = [0; MTU];
        let sleep = |at: Instant| Timer::at(embassy_time::Instant::from_micros(at.as_micros()));
        let carry = net.run_over(&mut device, &mut packet, sleep);
        let temperature = Temp::new(chip.TEMP, Interrupts);
        let sense = sense(&net, temperature);
        let web = http::serve(&net, 80, FILE, |ms: u32| Timer::after_millis(ms.into()));
        select3(carry, web, sense).await;
    };
    select(runner.run(radio), serve).await;
}

/// Publishes the temperature, and reconnects whenever the broker closes the connection.
async fn sense(net: &impl TcpConnect, mut temperature: Temp<'_>) -> Infallible {
    let Some(broker) = BROKER.and_then(|text| text.parse::<SocketAddr>().ok()) else {
        return core::future::pending().await;
    };
    loop {
        let next = async || {
            Timer::after(READING_EVERY).await;
            let degrees = temperature.read().await * 100;
            Some(Decimal::of(degrees.to_num()))
        };
        // The reason why the connection ended is ignored, because the sensor reconnects.
        let _ = mqtt::publish(net, broker, SENSOR, &mut [0; 64], next).await;
        Timer::after(BROKER_AGAIN).await;
    }
}

/// Waits for the mesh-local address that is not a locator (Thread 1.4, §5.2.2.4:
/// 0000:00ff:fe00:RLOC16), and returns it. Unlike a locator, it stays when the node changes its
/// parent.
async fn mesh_local(thread: &OpenThread<'_>) -> Ipv6Addr {
    loop {
        let prefix = thread.mesh_local_prefix();
        let mut found = None;
        let _ = thread.ipv6_addrs(|address| {
            if let Some((address, _)) = address {
                let octets = address.octets();
                let is_locator = octets[8..14] == [0, 0, 0, 0xff, 0xfe, 0];
                if octets[..8] == prefix && !is_locator {
                    found = Some(address);
                }
            }
            Ok(())
        });
        match found {
            Some(address) => return address,
            None => thread.wait_changed().await,
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}
