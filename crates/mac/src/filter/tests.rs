use super::*;

const EUI64: [u8; 8] = [2, 0, 0, 0, 0, 0, 0, 9];

fn config() -> MacConfig {
    MacConfig {
        short: 9,
        extended: EUI64,
        ..MacConfig::default()
    }
}

fn header() -> FrameHeader {
    FrameHeader {
        frame_type: FrameType::Data,
        security: false,
        frame_pending: false,
        ack_request: true,
        version: 1,
        dsn: 0,
        dst_pan: Some(0x7270),
        dst: Address::Short(9),
        src_pan: Some(0x7270),
        src: Address::Short(1),
    }
}

fn verdict(header: FrameHeader) -> FilterResult {
    judge(&config(), &header)
}

const ACCEPT: FilterResult = FilterResult::Accept { acknowledge: true };
const ACCEPT_SILENTLY: FilterResult = FilterResult::Accept { acknowledge: false };

#[test]
fn addresses_of_this_node() {
    assert_eq!(verdict(header()), ACCEPT);
    let dst = Address::Extended(EUI64);
    assert_eq!(verdict(FrameHeader { dst, ..header() }), ACCEPT);
    let dst = Address::BROADCAST;
    assert_eq!(verdict(FrameHeader { dst, ..header() }), ACCEPT_SILENTLY);
    let ack_request = false;
    assert_eq!(
        verdict(FrameHeader {
            ack_request,
            ..header()
        }),
        ACCEPT_SILENTLY
    );
    let dst_pan = Some(BROADCAST_PAN);
    assert_eq!(
        verdict(FrameHeader {
            dst_pan,
            ..header()
        }),
        ACCEPT
    );
}

#[test]
fn addresses_of_others() {
    for dst in [
        Address::Short(8),
        Address::Short(0xfffe),
        Address::Extended([2, 0, 0, 0, 0, 0, 0, 8]),
        Address::Absent,
    ] {
        assert_eq!(
            verdict(FrameHeader { dst, ..header() }),
            FilterResult::NotForUs,
            "{dst:?}"
        );
    }
    for dst_pan in [Some(0x7271), None] {
        assert_eq!(
            verdict(FrameHeader {
                dst_pan,
                ..header()
            }),
            FilterResult::OtherPan
        );
    }
}

#[test]
fn a_node_without_a_short_address_still_hears_broadcasts() {
    let config = MacConfig {
        short: 0xffff,
        extended: EUI64,
        ..MacConfig::default()
    };
    let dst = Address::Short(0xfffe);
    let none = MacConfig {
        short: 0xfffe,
        ..config.clone()
    };
    assert_eq!(
        judge(&none, &FrameHeader { dst, ..header() }),
        FilterResult::NotForUs
    );
    let dst = Address::BROADCAST;
    assert_eq!(
        judge(&config, &FrameHeader { dst, ..header() }),
        ACCEPT_SILENTLY
    );
}

#[test]
fn useless_frames_have_their_reason() {
    let useless = |why| FilterResult::Useless {
        why,
        acknowledge: true,
    };
    let security = true;
    assert_eq!(
        verdict(FrameHeader {
            security,
            ..header()
        }),
        useless(Useless::Secured)
    );
    let frame_type = FrameType::Command;
    assert_eq!(
        verdict(FrameHeader {
            frame_type,
            ..header()
        }),
        FilterResult::Command { acknowledge: true }
    );
    let src = Address::Absent;
    assert_eq!(
        verdict(FrameHeader { src, ..header() }),
        useless(Useless::NoSource)
    );
    let src_pan = Some(0x7271);
    assert_eq!(
        verdict(FrameHeader {
            src_pan,
            ..header()
        }),
        useless(Useless::ForeignSource)
    );
    let beacon = FrameHeader {
        frame_type: FrameType::Beacon,
        dst: Address::Absent,
        dst_pan: None,
        ..header()
    };
    let why = Useless::UnsupportedType;
    assert_eq!(
        verdict(beacon),
        FilterResult::Useless {
            why,
            acknowledge: false
        }
    );
}

#[test]
fn versions_and_acknowledgements() {
    for (version, expected) in [
        (0, ACCEPT),
        (1, ACCEPT),
        (2, ACCEPT),
        (3, FilterResult::Version),
    ] {
        assert_eq!(
            verdict(FrameHeader {
                version,
                ..header()
            }),
            expected
        );
    }
    let ack = FrameHeader {
        frame_type: FrameType::Ack,
        dst_pan: None,
        dst: Address::Absent,
        src: Address::Absent,
        ..header()
    };
    assert_eq!(verdict(ack), FilterResult::Ack);
}

/// A frame of version 2 between extended addresses may have no PAN identifier
/// (IEEE 802.15.4-2015 §7.2.1.5).
#[test]
fn a_frame_without_pan_identifiers_is_taken() {
    let frame = FrameHeader {
        version: 2,
        dst_pan: None,
        src_pan: None,
        dst: Address::Extended(config().extended),
        src: Address::Extended([0x22; 8]),
        ..header()
    };
    assert_eq!(verdict(frame), ACCEPT);
    let other = FrameHeader {
        dst: Address::Extended([0x33; 8]),
        ..frame
    };
    assert_eq!(verdict(other), FilterResult::NotForUs);
}
