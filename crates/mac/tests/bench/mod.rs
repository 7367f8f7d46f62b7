//! A MAC on a bench: virtual time, a radio that the test controls, and frames whose bytes the test
//! writes.
#![allow(dead_code)] // Each test file uses only a part of the bench.

use redpoll_base::{Duration, Instant, Rng};
use redpoll_mac::{
    CsmaCa, FrameBuf, Mac, MacConfig, MacEvent, RadioCaps, RadioResult, RadioWork, RxInfo, Service,
    TxStatus,
};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};

pub const PAN: u16 = 0x7270;
pub const ME: Address = Address::Short(1);
pub const PEER: Address = Address::Short(2);
pub const LOAD: Option<RadioWork> = Some(RadioWork::Load);
pub const TRANSMIT: Option<RadioWork> = Some(RadioWork::Transmit { cca: true });
pub const TRANSMIT_AT_ONCE: Option<RadioWork> = Some(RadioWork::Transmit { cca: false });
pub const ACKED: RadioResult = RadioResult::Acked {
    frame_pending: false,
};

pub const BARE: RadioCaps = RadioCaps {
    auto_ack: false,
    csma: false,
    retries: false,
    source_match: false,
};

pub fn config() -> MacConfig {
    MacConfig::default().with(|it| {
        it.short = 1;
        it.extended = [2, 0, 0, 0, 0, 0, 0, 1];
    })
}

pub fn bare() -> MacConfig {
    config().with(|it| it.caps = BARE)
}

pub struct Bench {
    pub mac: Mac,
    pub now: Instant,
    pub buffer: FrameBuf,
}

impl Bench {
    pub fn new(config: MacConfig) -> Self {
        Bench {
            mac: Mac::new(config, CsmaCa, Rng::new(1)),
            now: Instant::from_secs(1),
            buffer: FrameBuf::new(),
        }
    }

    pub fn submit(&mut self, dst: Address, payload: &[u8]) {
        let room = self.mac.frame_mut(dst).expect("the MAC is idle");
        room[..payload.len()].copy_from_slice(payload);
        self.mac.submit(self.now, payload.len(), Service::default());
    }

    pub fn poll(&mut self) -> Option<RadioWork> {
        let work = self.mac.poll_radio(self.now);
        if work == Some(RadioWork::Load) {
            self.buffer.copy_from(self.mac.frame()).unwrap();
        }
        work
    }

    pub fn done(&mut self, result: RadioResult) {
        self.mac.on_radio_done(self.now, result);
    }

    pub fn pass(&mut self, us: u64) {
        self.now += Duration::from_micros(us);
    }

    /// Advances the time to the MAC's next timer; returns the elapsed time.
    pub fn sleep(&mut self) -> Duration {
        let wake = self.mac.poll_at().expect("a timer runs");
        let slept = wake.at - self.now;
        self.now = self.now.max(wake.at);
        self.mac.on_timeout(self.now);
        slept
    }

    /// Advances the time until the MAC has a job for the radio; `None` if no timer runs.
    pub fn next_work(&mut self) -> Option<RadioWork> {
        loop {
            let work = self.poll();
            if work.is_some() {
                return work;
            }
            self.mac.poll_at()?;
            self.sleep();
        }
    }

    /// Loads the submitted frame if necessary, and ends an attempt to send it in `result`.
    pub fn attempt(&mut self, result: RadioResult) {
        let mut work = self.next_work();
        if work == LOAD {
            self.done(RadioResult::Loaded);
            work = self.next_work();
        }
        assert_eq!(work, TRANSMIT);
        self.done(result);
    }

    pub fn hear(&mut self, frame: &[u8]) -> Option<(Address, Vec<u8>)> {
        let info = RxInfo {
            rssi_dbm: -70,
            ..RxInfo::default()
        };
        let indication = self.mac.input_frame(self.now, frame, &info)?;
        assert_eq!(indication.rssi_dbm, -70);
        Some((indication.src, indication.payload.to_vec()))
    }

    pub fn dsn(&self) -> u8 {
        self.buffer[2]
    }

    pub fn done_event(&mut self) -> Option<(TxStatus, u8)> {
        let MacEvent::Done {
            status, attempts, ..
        } = self.mac.poll_event()?
        else {
            panic!("another event");
        };
        Some((status, attempts))
    }
}

pub trait FromSecs {
    fn from_secs(s: u64) -> Self;
}

impl FromSecs for Instant {
    fn from_secs(s: u64) -> Self {
        Instant::from_millis(1_000 * s)
    }
}

pub fn data(src: Address, dst: Address, dsn: u8, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        frame_type: FrameType::Data,
        security: false,
        frame_pending: false,
        ack_request: dst != Address::BROADCAST,
        version: 1,
        dsn,
        dst_pan: Some(PAN),
        dst,
        src_pan: Some(PAN),
        src,
    };
    let mut bytes = [0; 127];
    let mut cursor = Cursor::new(&mut bytes);
    header.emit(&mut cursor).unwrap();
    cursor.put(payload).unwrap();
    let len = cursor.position();
    bytes[..len].to_vec()
}
