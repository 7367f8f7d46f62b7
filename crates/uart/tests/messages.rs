//! Messages of both directions, whatever their bytes.

use proptest::prelude::*;
use redpoll_base::{Addr, Instant};
use redpoll_mac::{RadioCaps, RadioResult, RxInfo};
use redpoll_uart::{Asker, AskerEvent, Begin, MESSAGE_MAX, Reply, Request, RequestEvent, hdlc};

fn begin() -> Begin {
    Begin {
        pan_id: 0x7270,
        short: 4,
        extended: [1, 2, 3, 4, 5, 6, 7, 8],
        caps: RadioCaps {
            auto_ack: true,
            source_match: true,
            ..RadioCaps::default()
        },
        prefix: Addr([0xfd; 16]),
        parent: 3,
        secret: [9; 16],
        random: [1 << 40, 7],
        first_tag: 0x1234,
    }
}

fn results() -> impl Strategy<Value = RadioResult> {
    prop_oneof![
        Just(RadioResult::Loaded),
        Just(RadioResult::ChannelBusy),
        Just(RadioResult::Sent),
        any::<bool>().prop_map(|frame_pending| RadioResult::Acked { frame_pending }),
        Just(RadioResult::NoAck),
    ]
}

fn written(request: &Request<'_>) -> Vec<u8> {
    let mut out = [0; MESSAGE_MAX];
    let len = request.write(&mut out).unwrap();
    out[..len].to_vec()
}

#[test]
fn messages_have_the_documented_bytes() {
    let request = Request {
        number: 0x0102,
        at: Instant::from_micros(0x0a0b),
        event: RequestEvent::Done(RadioResult::Acked {
            frame_pending: true,
        }),
    };
    let expected = [0x13, 2, 1, 0x0b, 0x0a, 0, 0, 0, 0, 0, 0, 4];
    assert_eq!(written(&request), expected);
    let begin = Request {
        event: RequestEvent::Begin(begin()),
        ..request
    };
    let bytes = written(&begin);
    assert_eq!(bytes.len(), 11 + 2 + 2 + 8 + 1 + 16 + 2 + 16 + 16 + 2);
    assert_eq!(Request::parse(&bytes), Some(begin));
    // A message of another version is ignored.
    let other = [&[bytes[0] ^ 0x30][..], &bytes[1..]].concat();
    assert_eq!(Request::parse(&other), None);
}

#[test]
fn frames_that_no_radio_has_are_no_messages() {
    let request = |frame| Request {
        number: 1,
        at: Instant::ZERO,
        event: RequestEvent::Frame {
            info: RxInfo::default(),
            frame,
        },
    };
    let mut out = [0; MESSAGE_MAX];
    assert!(request(&[0; 125]).write(&mut out).is_some());
    assert_eq!(request(&[0; 126]).write(&mut out), None);
}

/// The receiver counts and ignores an answer to another request; it also counts damage.
#[test]
fn an_asker_accepts_only_the_expected_answer() {
    let mut asker = Asker::new(6);
    assert!(asker.ask(Instant::ZERO, RequestEvent::Time, |_| {}));
    let mut heard = |bytes: &[u8]| {
        let mut any = false;
        hdlc::send(bytes, |byte| any |= asker.input(byte).is_some());
        (any, asker.waits())
    };
    let answer = |number: u8| [&[0x19, number, 0][..], &[0xff; 8]].concat();
    assert_eq!(heard(&answer(6)), (false, true));
    assert_eq!(heard(&[&answer(7)[..], &[99]].concat()), (false, true));
    assert_eq!(heard(&answer(7)), (true, false));
    assert_eq!(heard(&answer(7)), (false, false));
    let counters = asker.counters();
    assert_eq!((counters.late, counters.damaged), (2, 1));
}

proptest! {
    #[test]
    fn encoded_requests_are_decoded_back(
        number: u16,
        us: u64,
        result in results(),
        frame in prop::collection::vec(any::<u8>(), 0..126),
        rssi_dbm: i8,
        lqi: u8,
        ack_sent_pending: bool,
    ) {
        let at = Instant::from_micros(us);
        let info = RxInfo { rssi_dbm, lqi, ack_sent_pending };
        for event in [
            RequestEvent::Begin(begin()),
            RequestEvent::Time,
            RequestEvent::Frame { info, frame: &frame },
            RequestEvent::Done(result),
        ] {
            let request = Request { number, at, event };
            let bytes = written(&request);
            prop_assert_eq!(Request::parse(&bytes), Some(request));
        }
    }

    #[test]
    fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Request::parse(&bytes);
        if let Some(Reply::Answer(answer)) = Reply::parse(&bytes) {
            prop_assert!(answer.works.count() <= bytes.len());
        }
        let mut asker = Asker::new(0);
        asker.ask(Instant::ZERO, RequestEvent::Time, |_| {});
        for byte in bytes {
            if let Some(AskerEvent::Text(text)) = asker.input(byte) {
                prop_assert!(text.len() < MESSAGE_MAX);
            }
        }
    }
}
