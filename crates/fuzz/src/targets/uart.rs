//! Arbitrary bytes on a serial line to both ends, raw and as framed messages. No end may panic, and
//! each request that was parsed must be written unchanged.

use redpoll_base::Instant;
use redpoll_uart::{Answerer, Asker, AskerEvent, MESSAGE_MAX, Request, RequestEvent, hdlc};

pub fn run(bytes: &[u8]) {
    let mut asker = Asker::new(0);
    let mut answerer = Answerer::default();
    let mut hear = |byte: u8| {
        if !asker.waits() {
            asker.ask(Instant::ZERO, RequestEvent::Time, |_| {});
        }
        if let Some(AskerEvent::Answer(answer)) = asker.input(byte) {
            answer.works.for_each(drop);
        }
        let mut said = 0;
        if let Some(request) = answerer.input(byte, |_| said += 1) {
            assert!(
                matches!(request.event, RequestEvent::Begin(_)),
                "the first request must be Begin"
            );
        }
        assert!(said <= 2 * (MESSAGE_MAX + 6));
    };
    let mut rest = bytes;
    while let Some((len, behind)) = rest.split_first() {
        let len = usize::from(*len).min(behind.len());
        let (message, behind) = behind.split_at(len);
        if let Some(request) = Request::parse(message) {
            let mut out = [0; MESSAGE_MAX];
            let len = request
                .write(&mut out)
                .expect("a request that was parsed from a message fits into a message");
            assert_eq!(Request::parse(&out[..len]), Some(request));
        }
        hdlc::send(message, &mut hear);
        rest = behind;
    }
    bytes.iter().for_each(|byte| hear(*byte));
}
