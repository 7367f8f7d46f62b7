//! Auxiliary security headers, and a node with security that receives arbitrary frames.

use redpoll_base::{Instant, Rng};
use redpoll_mac::security::{
    Key, Security, SecurityConfig, SecurityLevel, SecurityMemory, SoftwareAes,
};
use redpoll_mac::{CsmaCa, FrameBuf, Mac, MacConfig, RxInfo};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::AuxiliaryHeader;

use super::Heap;

pub fn run(bytes: &[u8]) {
    if let Ok((header, rest)) = AuxiliaryHeader::parse(bytes) {
        assert!(bytes.ends_with(rest));
        let mut buffer = [0; 14];
        let mut out = Cursor::new(&mut buffer);
        header
            .emit(&mut out)
            .expect("the longest header has 14 bytes");
        assert_eq!(out.position(), header.len());
        assert_eq!(AuxiliaryHeader::parse(out.written()), Ok((header, &[][..])));
    }

    let config = SecurityConfig::new(
        SecurityLevel::Mic32,
        Key::new(1, [1; 16]),
        &SoftwareAes,
        [2, 0, 0, 0, 0, 0, 0, 1],
    )
    .with(|it| it.eui64_prefix = Some([2, 0, 0, 0, 0, 0]));
    let memory = SecurityMemory::<Heap> {
        replay: vec![None; 2].into(),
        names: Box::default(),
    };
    let mut security = Security::new(config, memory);
    let config = MacConfig::default().with(|it| it.short = 1);
    let mut mac = Mac::new(config, CsmaCa, Rng::new(1));
    let (mut clear, info) = (FrameBuf::new(), RxInfo::default());
    let heard = mac.input_secured(Instant::ZERO, bytes, &info, &mut security, &mut clear);
    assert!(
        heard.is_none(),
        "a frame that was not secured with the key was accepted"
    );
    let refused: u32 = security.counters().refusals().map(|(_, n)| n).sum();
    assert_eq!(refused, mac.counters().rx_refused);
}
