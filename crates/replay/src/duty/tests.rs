//! Tests of the neighbours' phases, and of the receiver during transmissions.

use super::*;

/// contikimac.c, send_packet, in each release: the phase is the start of the acknowledged copy.
/// Release 2.5 sets a variable to the previous copy, and overwrites it before the next one.
#[test]
fn the_phase_is_that_of_the_copy_that_was_acknowledged() {
    for release in [Release::Contiki25, Release::Contiki27, Release::Contiki30] {
        let config = DutyConfig::of(Method::ContikiMac, release);
        let mut duty = Duty::new(config, &mut Rng::new(1));
        let target = Target {
            dst: Address::Short(2),
            continues: false,
        };
        let now = Instant::from_millis(1_000);
        duty.on_answered(now, &target, Duration::from_millis(3));
        let begins = Instant::from_millis(997) + duty.timing.cycle.minus(duty.timing.guard);
        assert_eq!(duty.phase_start(now, &target), Some(begins));
    }
}

/// cxmac.c, send_packet: the processor waits for the neighbour's wake-up with the radio off, and
/// switches the radio on for the first strobe.
#[test]
fn cx_mac_waits_for_a_wake_up_with_the_radio_off() {
    let config = DutyConfig::of(Method::CxMac, Release::Contiki25);
    let mut duty = Duty::new(config, &mut Rng::new(1));
    let target = Target {
        dst: Address::Short(2),
        continues: false,
    };
    let now = Instant::from_millis(1_000);
    duty.on_strobe_answered(now, &target);
    duty.on_ended(now);
    let Move::Wait(begins) = duty.advance(now, &target) else {
        panic!("the neighbour has just been awake");
    };
    let status = duty.status(&target);
    assert!(begins > now && status.has_channel && !status.listens);
    assert!(matches!(duty.advance(begins, &target), Move::Wait(_)));
    assert!(duty.status(&target).listens);
}
