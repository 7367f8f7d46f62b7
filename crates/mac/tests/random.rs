//! Frames, radio results and timers in any order: the MAC never panics and never hangs, and its
//! counters add up.

use crate::bench;

use bench::*;
use proptest::prelude::*;
use redpoll_base::{Duration, Rng};
use redpoll_mac::{CsmaCa, Mac, MacConfig, RadioCaps, RadioResult, Service};
use redpoll_wire::ieee802154::{Address, imm_ack};

#[derive(Clone, Debug)]
enum Step {
    Hear(Vec<u8>),
    HearAckOfLoaded,
    Done(RadioResult),
    Poll,
    Timeout,
    Pass(u64),
    Submit(Address, usize),
    Event,
}

fn result() -> impl Strategy<Value = RadioResult> {
    prop_oneof![
        Just(RadioResult::Loaded),
        Just(RadioResult::ChannelBusy),
        Just(RadioResult::Sent),
        any::<bool>().prop_map(|frame_pending| RadioResult::Acked { frame_pending }),
        Just(RadioResult::NoAck),
    ]
}

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![
        Just(Address::Absent),
        Just(Address::BROADCAST),
        (0u16..4).prop_map(Address::Short),
        any::<u16>().prop_map(Address::Short),
        any::<[u8; 8]>().prop_map(Address::Extended),
    ]
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..130);
    let valid = (0u16..4, 0u16..4, any::<u8>(), 0usize..110).prop_map(|(src, dst, dsn, len)| {
        data(Address::Short(src), Address::Short(dst), dsn, &vec![7; len])
    });
    let damaged = (0u16..4, any::<u8>(), 0usize..12, any::<u8>()).prop_map(|(src, dsn, at, x)| {
        let mut frame = data(Address::Short(src), ME, dsn, b"abc");
        frame[at] ^= x;
        frame
    });
    prop_oneof![
        bytes(),
        valid,
        damaged,
        any::<u8>().prop_map(|dsn| imm_ack(dsn, true).to_vec())
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => frame().prop_map(Step::Hear),
        1 => Just(Step::HearAckOfLoaded),
        4 => result().prop_map(Step::Done),
        6 => Just(Step::Poll),
        2 => Just(Step::Timeout),
        2 => (0u64..50_000).prop_map(Step::Pass),
        2 => (address(), 0usize..200).prop_map(|(dst, len)| Step::Submit(dst, len)),
        2 => Just(Step::Event),
    ]
}

prop_compose! {
    fn any_config()(
        caps in any::<[bool; 4]>(),
        max_frame_retries in 0u8..12,
        bes in any::<[u8; 2]>(),
        max_csma_backoffs in 0u8..8,
        d_us in 0u64..50_000,
    ) -> MacConfig {
        config().with(|it| {
it.caps = RadioCaps {
                auto_ack: caps[0],
                csma: caps[1],
                retries: caps[2],
                source_match: caps[3],
            };
it.max_frame_retries = max_frame_retries;
it.min_be = bes[0];
it.max_be = bes[1];
it.max_csma_backoffs = max_csma_backoffs;
it.link_retry_delay = Duration::from_micros(d_us);
})
    }
}

fn take(b: &mut Bench, step: Step) {
    match step {
        Step::Hear(frame) => {
            b.hear(&frame);
        }
        Step::HearAckOfLoaded => {
            if b.buffer.len() > 2 {
                let ack = imm_ack(b.dsn(), false);
                b.hear(&ack);
            }
        }
        Step::Done(result) => b.done(result),
        Step::Poll => {
            b.poll();
        }
        Step::Timeout => b.mac.on_timeout(b.now),
        Step::Pass(us) => b.pass(us),
        Step::Submit(dst, len) => {
            let idle = b.mac.is_idle();
            let room = b.mac.frame_mut(dst).map(|room| room.len());
            assert_eq!(room.is_some(), idle && dst != Address::Absent);
            b.mac.submit(b.now, len, Service::default());
        }
        Step::Event => {
            b.mac.poll_event();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn never_panics_and_always_becomes_idle_again(
        config in any_config(),
        seed in any::<u64>(),
        steps in proptest::collection::vec(step(), 0..300),
        results in proptest::collection::vec(result(), 1..8),
    ) {
        let mut b = Bench::new(config.clone());
        b.mac = Mac::new(config, CsmaCa, Rng::new(seed));
        for step in steps {
            take(&mut b, step);
        }
        // From here on every radio job ends in some result, and all timers expire. The MAC must
        // become idle: at most 12 attempts with 8 assessments each, and a few loads, are left.
        let mut results = results.iter().cycle();
        let mut turns = 0;
        b.done(RadioResult::Loaded);
        loop {
            b.mac.poll_event();
            if b.poll().is_some() {
                b.done(*results.next().unwrap());
            } else if b.mac.poll_at().is_some() {
                b.sleep();
            } else {
                break;
            }
            turns += 1;
            prop_assert!(turns < 12 * 8 * 4, "still busy: {:?}", b.mac);
        }
        prop_assert!(b.mac.is_idle());
        let c = b.mac.counters();
        prop_assert_eq!(
            c.submitted,
            c.delivered + c.dropped_no_ack + c.dropped_channel_access
        );
        prop_assert_eq!(
            c.submitted + c.frame_retries,
            c.delivered + c.no_ack + c.channel_access_failures
        );
        // Each frame can still be sent, once the radio behaves.
        b.submit(PEER, b"x");
        let auto_ack = b.mac.config().caps.auto_ack;
        b.attempt(if auto_ack { ACKED } else { RadioResult::Sent });
        if !auto_ack {
            let ack = imm_ack(b.dsn(), false);
            b.hear(&ack);
        }
        prop_assert!(b.done_event().is_some());
    }
}
