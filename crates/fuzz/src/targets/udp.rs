//! UDP headers and checksums (RFC 768).

use redpoll_base::Addr;
use redpoll_wire::udp::UdpHeader;

pub fn run(bytes: &[u8]) {
    if let Ok((header, payload)) = UdpHeader::parse(bytes) {
        assert!(bytes.starts_with(&header.to_bytes()));
        let addr = Addr::UNSPECIFIED;
        let ports = (header.src_port, header.dst_port);
        let ours = UdpHeader::for_payload(&addr, ports.0, &addr, ports.1, payload);
        let ours = ours.expect("the length of a parsed datagram fits into the length field");
        assert_eq!(header.verify(&addr, &addr, payload), ours == header);
    }
}
