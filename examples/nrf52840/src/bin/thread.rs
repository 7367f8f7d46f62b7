//! TCP over Thread: OpenThread is radio, mesh and IPv6, and Redpoll runs over its packets. The
//! same echo service as on Redpoll's own leaf; nothing of it knows what is below.
//!
//! The network is joined by its dataset: `THREAD_DATASET`, when this is built, is what
//! `ot-ctl dataset active -x` prints on any node of it.
#![no_std]
#![no_main]

use core::net::Ipv6Addr;

use embassy_executor::Spawner;
use embassy_futures::select::select;
use embassy_nrf::radio::ieee802154::Radio as Driver;
use embassy_nrf::{bind_interrupts, peripherals, radio as chip, rng};
use embassy_time::Timer;
use openthread::enet::{self, EnetDriverState};
use openthread::nrf::NrfRadio;
use openthread::{
    MacRadio, MacRadioResources, MacRadioTimer, OpenThread, OtResources, SimpleRamSettings,
};
use redpoll_base::{Addr, Instant, Rng, StaticMemory};
use redpoll_nrf52840::echo;
use redpoll_nrf52840::radio::now;
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
});

/// The network, as hexadecimal TLVs. Built without one the image joins none.
const DATASET: &str = match option_env!("THREAD_DATASET") {
    Some(dataset) => dataset,
    None => "",
};
const EUI64: [u8; 8] = [0x02, 0, 0, 0, 0, 0, 0, 0x52];
/// The least MTU of IPv6, which is what Thread has.
const MTU: usize = 1_280;

/// Two connections, and two packets on their way each way.
type Storage = NodeStorage<
    Connections<2, 2_440, 2_440>,
    Listeners<1, 2>,
    Datagrams<1, 64>,
    Routes<1, 0>,
    Packets<3, MTU>,
>;

static STORAGE: ConstStaticCell<Storage> = ConstStaticCell::new(Storage::NEW);
static WATCHES: ConstStaticCell<[Watch; 4]> = ConstStaticCell::new([const { Watch::FREE }; 4]);
static RANDOM: StaticCell<rng::Rng<'static, embassy_nrf::mode::Async>> = StaticCell::new();
static SETTINGS: StaticCell<SimpleRamSettings<'static>> = StaticCell::new();
static SETTINGS_BYTES: ConstStaticCell<[u8; 1_024]> = ConstStaticCell::new([0; 1_024]);
static THREAD: StaticCell<OtResources> = StaticCell::new();
static MAC: StaticCell<MacRadioResources> = StaticCell::new();
static DEVICE: StaticCell<EnetDriverState<MTU, 2, 2>> = StaticCell::new();

/// OpenThread's software MAC keeps its times by this.
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
        // The table has room for it.
        let _ = node.add_route(Route {
            prefix: Addr::UNSPECIFIED,
            len: 0,
            via: Via::Host,
        });
        let net = Net::<StaticMemory, _, _>::new(node, now, &mut WATCHES.take()[..]);
        let mut packet = [0; MTU];
        let sleep = |at: Instant| Timer::at(embassy_time::Instant::from_micros(at.as_micros()));
        let carry = net.run_over(&mut device, &mut packet, sleep);
        select(carry, echo::serve(&net, 7)).await;
    };
    select(runner.run(radio), serve).await;
}

/// The address that stays when the node finds another parent: mesh-local, and no locator
/// (Thread 1.4, §5.2.2.4: 0000:00ff:fe00:RLOC16). Waits until there is one.
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
