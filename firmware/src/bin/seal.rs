//! Protects and opens frames in memory, and prints the instructions of each: with AES in software,
//! and with a block cipher that takes no instructions, like hardware. Runs on QEMU, see
//! [`image::stopwatch`].
#![no_std]
#![no_main]

use core::fmt::Write;
use core::hint::black_box;

use image::host::{self, Console, check, fail};
use image::stopwatch::{self, Stopwatch};
use redpoll_firmware as image;
use redpoll_stack::base::{Instant, Rng, StaticMemory};
use redpoll_stack::mac::security::{
    Aes, BlockAes, CcmStar, Key, Security, SecurityConfig, SecurityLevel, SecurityMemory,
    SoftwareAes,
};
use redpoll_stack::mac::{
    CsmaCa, FrameBuf, Mac, MacConfig, MacEvent, RadioResult, RadioWork, RxInfo, Service,
};
use redpoll_stack::wire::ieee802154::Address;

const FRAMES: u32 = 20;
const PREFIX: [u8; 6] = [2, 0x72, 0x70, 0, 0, 0];

/// A cipher that takes no instructions: the image counts the work that remains with a cipher in hardware.
struct Free;

impl Aes for Free {
    fn encrypt(&self, key: &[u8; 16], block: &mut [u8; 16]) {
        // Uses key and block, so that the compiler removes nothing.
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= *key;
        }
    }
}

struct End {
    mac: Mac,
    security: Security<StaticMemory>,
}

impl End {
    fn new(short: u16, cipher: &'static dyn CcmStar, memory: SecurityMemory<StaticMemory>) -> End {
        let [high, low] = short.to_be_bytes();
        let [a, b, c, d, e, f] = PREFIX;
        let eui64 = [a, b, c, d, e, f, high, low];
        let mut security = Security::new(
            SecurityConfig::new(
                SecurityLevel::EncMic32,
                Key::new(1, [0x42; 16]),
                cipher,
                eui64,
            )
            .with(|it| it.eui64_prefix = Some(PREFIX)),
            memory,
        );
        if let Some(counter) = security.poll_counter() {
            security.on_counter_stored(counter);
        }
        let config = MacConfig::default().with(|it| {
            it.short = short;
            it.extended = eui64;
        });
        let mut mac = Mac::new(config, CsmaCa, Rng::new(short.into()));
        mac.make_room(&security);
        End { mac, security }
    }
}

/// The laps for one cipher and one length of payload.
#[derive(Default)]
struct Laps {
    seal: Stopwatch,
    open: Stopwatch,
    /// Instructions for the same frame through a MAC without security.
    plain: Stopwatch,
}

/// Sends `FRAMES` frames of `len` bytes of payload from one end to the other.
fn exchange(ends: &mut [End; 2], len: usize, laps: &mut Laps) {
    let [here, there] = ends;
    let now = Instant::ZERO;
    for number in 0..FRAMES {
        let Some(room) = here.mac.frame_mut(Address::Short(2)) else {
            fail("the MAC is busy")
        };
        let Some(payload) = room.get_mut(..len) else {
            fail("the frame is too short")
        };
        payload.fill(number as u8);
        here.mac.submit(now, len, Service::default());
        check(laps.seal.lap(|| here.mac.seal(now, &mut here.security)));
        check(here.mac.poll_radio(now) == Some(RadioWork::Load));
        let mut frame = FrameBuf::new();
        check(frame.copy_from(here.mac.frame()).is_ok());
        here.mac.on_radio_done(now, RadioResult::Loaded);
        let mut time = now;
        loop {
            match here.mac.poll_radio(time) {
                Some(RadioWork::Transmit { .. }) => break,
                Some(_) => fail("another work"),
                None => {}
            }
            let Some(wake) = here.mac.poll_at() else {
                fail("no timer is set")
            };
            time = wake.at;
            here.mac.on_timeout(time);
        }
        let acked = RadioResult::Acked {
            frame_pending: false,
        };
        here.mac.on_radio_done(time, acked);
        check(matches!(here.mac.poll_event(), Some(MacEvent::Done { .. })));
        let mut clear = FrameBuf::new();
        let info = RxInfo::default();
        let heard = laps.open.lap(|| {
            let (mac, security) = (&mut there.mac, &mut there.security);
            let heard = mac.input_secured(now, black_box(&frame), &info, security, &mut clear);
            heard.map(|heard| heard.payload.len())
        });
        check(heard == Some(len));
        // The opened frame gets another sequence number, so that the MAC accepts it as a new frame.
        let mut plain = FrameBuf::new();
        check(plain.copy_from(&clear).is_ok());
        let mut bytes = [0; FrameBuf::CAPACITY];
        if let Some(room) = bytes.get_mut(..clear.len()) {
            room.copy_from_slice(&clear);
            if let Some(dsn) = room.get_mut(2) {
                *dsn = dsn.wrapping_add(100);
            }
            let heard = laps.plain.lap(|| {
                let heard = there.mac.input_frame(now, black_box(room), &info);
                heard.map(|heard| heard.payload.len())
            });
            check(heard == Some(len));
        }
    }
}

/// Extends the life of a local of [`image_main`], which never returns, to that of the image.
fn forever<T: ?Sized>(local: &mut T) -> &'static mut T {
    // SAFETY: only `image_main` calls this, once for each local; its frame is never left.
    unsafe { &mut *core::ptr::from_mut(local) }
}

#[unsafe(no_mangle)]
fn image_main() -> ! {
    stopwatch::start();
    let mut console = Console;
    let (mut a, mut b, mut c, mut d) = ([None; 2], [None; 2], [None; 2], [None; 2]);
    let end = |short, cipher, replay| {
        let memory = SecurityMemory {
            replay,
            names: <&mut [_]>::default(),
        };
        End::new(short, cipher, memory)
    };
    static FREE: BlockAes<Free> = BlockAes(Free);
    let mut software = [
        end(1, &SoftwareAes, forever(&mut a[..])),
        end(2, &SoftwareAes, forever(&mut b[..])),
    ];
    let mut hardware = [
        end(1, &FREE, forever(&mut c[..])),
        end(2, &FREE, forever(&mut d[..])),
    ];
    let _ = writeln!(
        console,
        "calibration_instructions {}",
        stopwatch::CALIBRATION
    );
    let _ = writeln!(console, "calibration_ticks {}", stopwatch::calibrate());
    let mut empty = Stopwatch::default();
    for _ in 0..FRAMES {
        empty.lap(|| ());
    }
    let _ = writeln!(console, "empty_ticks {}", empty.ticks());
    let _ = writeln!(console, "empty_laps {}", empty.laps());
    for (name, ends) in [("software", &mut software), ("hardware", &mut hardware)] {
        for (size, len) in [("short", 16), ("long", 104)] {
            let mut laps = Laps::default();
            exchange(ends, len, &mut laps);
            for (what, watch) in [
                ("seal", &laps.seal),
                ("open", &laps.open),
                ("plain", &laps.plain),
            ] {
                let _ = writeln!(console, "{name}.{size}.{what}_ticks {}", watch.ticks());
                let _ = writeln!(console, "{name}.{size}.{what}_laps {}", watch.laps());
            }
        }
    }
    host::exit(true)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let _ = writeln!(Console, "error {info}");
    host::exit(false)
}
