//! The time that a frame takes on an ideal radio is the sum of the standard's times.
//!
//! For 127 bytes: mean backoff 3.5 x 320 us, assessment 128, turnaround 192, frame 4,256,
//! turnaround 192, Imm-ACK 352: 6,240 us in the mean.

use crate::bench;

use bench::*;
use redpoll_base::{Instant, Rng};
use redpoll_mac::{CsmaCa, Mac, RadioCaps, RadioResult, RadioWork, RxInfo, Service};
use redpoll_wire::ieee802154::{Address, imm_ack};

const CCA_US: u64 = 128;
const TURNAROUND_US: u64 = 192;
const ACK_US: u64 = 352;

/// Returns the time on the air in µs, with 6 bytes of preamble, delimiter and length, and 2 of FCS.
fn air_us(frame: &[u8]) -> u64 {
    (frame.len() as u64 + 2 + 6) * 32
}

/// Returns the time from the submission of a frame with `len` bytes of payload until the MAC knows
/// of the ACK, with an ideal radio and neighbour.
fn exchange_us(mac: &mut Mac, start: Instant, len: usize) -> u64 {
    let auto_ack = mac.config().caps.auto_ack;
    let mut now = start;
    mac.frame_mut(PEER).unwrap();
    mac.submit(now, len, Service::default());
    loop {
        match mac.poll_radio(now) {
            Some(RadioWork::Load) => mac.on_radio_done(now, RadioResult::Loaded),
            Some(RadioWork::Transmit { cca }) => {
                assert!(cca);
                now = us(now, CCA_US + TURNAROUND_US + air_us(mac.frame()));
                let ack_at = us(now, TURNAROUND_US + ACK_US);
                if auto_ack {
                    mac.on_radio_done(ack_at, ACKED);
                } else {
                    mac.on_radio_done(now, RadioResult::Sent);
                    assert!(mac.poll_at().unwrap().at > ack_at, "it waits long enough");
                    let ack = imm_ack(mac.frame()[2], false);
                    mac.input_frame(ack_at, &ack, &RxInfo::default());
                }
                now = ack_at;
            }
            Some(work) => panic!("{work:?}"),
            None if mac.poll_event().is_some() => return (now - start).as_micros(),
            None => {
                now = mac.poll_at().unwrap().at;
                mac.on_timeout(now);
            }
        }
    }
}

fn us(at: Instant, us: u64) -> Instant {
    Instant::from_micros(at.as_micros() + us)
}

fn mean_us(caps: RadioCaps, len: usize) -> f64 {
    const FRAMES: u64 = 8_000;
    let config = config().with(|it| it.caps = caps);
    let mut mac = Mac::new(config, CsmaCa, Rng::new(2));
    let mut now = Instant::ZERO;
    let mut total = 0;
    for _ in 0..FRAMES {
        let took = exchange_us(&mut mac, now, len);
        // The rest is a backoff of 0 to 7 periods of 320 µs.
        let fixed = took - 320 * ((took - shortest_us(len)) / 320);
        assert_eq!(fixed, shortest_us(len));
        assert!(took <= shortest_us(len) + 7 * 320);
        total += took;
        now = us(now, took);
    }
    total as f64 / FRAMES as f64
}

/// Returns the shortest time of an exchange, without any backoff, with a header of 9 bytes.
fn shortest_us(len: usize) -> u64 {
    CCA_US + TURNAROUND_US + (len as u64 + 9 + 2 + 6) * 32 + TURNAROUND_US + ACK_US
}

#[test]
fn a_full_frame_takes_6_24_ms_in_the_mean() {
    let auto_ack = RadioCaps {
        auto_ack: true,
        ..RadioCaps::default()
    };
    for caps in [auto_ack, BARE] {
        let mean = mean_us(caps, 116);
        assert!((mean / 6_240.0 - 1.0).abs() < 0.01, "{mean} us, {caps:?}");
    }
}

#[test]
fn a_short_frame_costs_its_bytes_less() {
    let full = mean_us(config().caps, 116);
    let short = mean_us(config().caps, 16);
    assert!((full - short - 3_200.0).abs() < 60.0, "{full} and {short}");
}

#[test]
fn two_macs_acknowledge_each_other_in_time() {
    let mut a = Mac::new(bare(), CsmaCa, Rng::new(1));
    let mut b = Mac::new(bare().with(|it| it.short = 2), CsmaCa, Rng::new(2));
    let mut now = Instant::from_millis(1);
    for i in 0..100u8 {
        a.frame_mut(PEER).unwrap()[0] = i;
        a.submit(now, 1, Service::default());
        assert_eq!(a.poll_radio(now), Some(RadioWork::Load));
        a.on_radio_done(now, RadioResult::Loaded);
        while a.poll_radio(now).is_none() {
            now = a.poll_at().unwrap().at;
            a.on_timeout(now);
        }
        now = us(now, CCA_US + TURNAROUND_US + air_us(a.frame()));
        a.on_radio_done(now, RadioResult::Sent);
        let heard = b.input_frame(now, a.frame(), &RxInfo::default());
        assert_eq!(heard.unwrap().payload, [i]);
        assert_eq!(heard.unwrap().src, Address::Short(1));

        assert_eq!(b.poll_radio(now), Some(RadioWork::Load));
        let ack = b.frame().to_vec();
        b.on_radio_done(now, RadioResult::Loaded);
        assert_eq!(b.poll_radio(now), TRANSMIT_AT_ONCE);
        now = us(now, TURNAROUND_US + ACK_US);
        b.on_radio_done(now, RadioResult::Sent);
        assert!(a.input_frame(now, &ack, &RxInfo::default()).is_none());
        assert!(a.poll_event().is_some());
    }
    assert_eq!((a.counters().delivered, a.counters().no_ack), (100, 0));
    assert_eq!((b.counters().acks_sent, b.counters().rx_frames), (100, 100));
}
