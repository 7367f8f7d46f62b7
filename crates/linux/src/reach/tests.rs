//! Tests of packets of nodes against the exposed services, and of the texts of `--expose`.

use super::*;

const NODE: &str = "fd00:1::5";
const HOST: &str = "fd00::1";

fn addr(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// Returns an IPv6 packet whose upper layer is `protocol` with these bytes.
fn packet(src: &str, dst: &str, protocol: u8, upper: &[u8]) -> Vec<u8> {
    let header = Ipv6Header {
        payload_len: upper.len() as u16,
        next_header: protocol,
        hop_limit: 64,
        src: addr(src).into(),
        dst: addr(dst).into(),
        ..Ipv6Header::default()
    };
    let mut bytes = header.to_bytes().to_vec();
    bytes.extend_from_slice(upper);
    bytes
}

fn ports(src: (&str, u16), dst: (&str, u16), protocol: u8) -> Vec<u8> {
    let mut upper = vec![0; 20];
    upper[..2].copy_from_slice(&src.1.to_be_bytes());
    upper[2..4].copy_from_slice(&dst.1.to_be_bytes());
    packet(src.0, dst.0, protocol, &upper)
}

#[test]
fn unexposed_services_are_unreachable() {
    let mut reach = Reach::new(vec!["tcp:[fd00::1]:1883".parse().unwrap()]);
    for protocol in [next_header::TCP, next_header::UDP] {
        for port in [22, 53, 1883, 5353, 65535] {
            let is_exposed = protocol == next_header::TCP && port == 1883;
            let to_host = ports((NODE, 40000), (HOST, port), protocol);
            assert_eq!(reach.may_leave(&to_host), is_exposed, "{protocol} {port}");
            let beyond = ports((NODE, 40000), ("2001:db8::1", port), protocol);
            assert!(!reach.may_leave(&beyond), "{protocol} {port}");
        }
    }
    // Protocols without ports, fragments and messages of neighbour discovery and RPL.
    for protocol in [4, 41, 44, 50, 59, 132] {
        assert!(!reach.may_leave(&packet(NODE, HOST, protocol, &[0, 0, 0, 8, 0, 0, 0, 1])));
    }
    for kind in [130, 133, 134, 135, 136, 137, 155, 200, 255] {
        let message = packet(NODE, HOST, next_header::ICMPV6, &[kind, 0, 0, 0]);
        assert!(!reach.may_leave(&message), "{kind}");
    }
    for kind in [1, 2, 3, 4, 128, 129] {
        let message = packet(NODE, HOST, next_header::ICMPV6, &[kind, 0, 0, 0]);
        assert!(reach.may_leave(&message), "{kind}");
    }
    assert!(!reach.may_leave(&[]));
    assert!(!reach.may_leave(&[0x45; 60]));
    assert!(!reach.may_leave(&packet(NODE, HOST, next_header::TCP, &[0, 1, 7])));
}

#[test]
fn answers_pass_and_only_those() {
    let mut reach = Reach::new(Vec::new());
    let answer = ports((NODE, 80), (HOST, 40000), next_header::TCP);
    assert!(!reach.may_leave(&answer));
    reach.on_packet_to_mesh(&ports((HOST, 40000), (NODE, 80), next_header::TCP));
    assert!(reach.may_leave(&answer));
    for other in [
        ports((NODE, 80), (HOST, 40001), next_header::TCP),
        ports((NODE, 81), (HOST, 40000), next_header::TCP),
        ports((NODE, 80), (HOST, 40000), next_header::UDP),
        ports(("fd00:1::6", 80), (HOST, 40000), next_header::TCP),
        ports((NODE, 80), ("fd00::2", 40000), next_header::TCP),
    ] {
        assert!(!reach.may_leave(&other));
    }
    assert_eq!(reach.withheld(), 6);
}

#[test]
fn each_destination_is_reported_once() {
    let mut reach = Reach::new(Vec::new());
    for _ in 0..3 {
        reach.may_leave(&ports((NODE, 1), (HOST, 22), next_header::TCP));
    }
    let attempt = reach.poll_attempt().unwrap();
    assert_eq!(attempt.node, addr(NODE));
    assert_eq!(attempt.service.to_string(), "tcp:[fd00::1]:22");
    assert_eq!(reach.poll_attempt(), None);
}

#[test]
fn memory_is_bounded_and_active_flows_stay() {
    let mut reach = Reach::new(Vec::new());
    let kept = ports((HOST, 1), (NODE, 80), next_header::UDP);
    for number in 0..20_000_u32 {
        let host = format!("2001:db8::{:x}:{:x}", number >> 16, number & 0xffff);
        reach.on_packet_to_mesh(&ports((&host, 2), (NODE, 80), next_header::UDP));
        reach.on_packet_to_mesh(&kept);
        let refused = ports((NODE, 3), (&host, 4), next_header::UDP);
        assert!(!reach.may_leave(&refused));
    }
    assert_eq!(reach.flows(), FLOWS_MAX);
    assert_eq!(reach.by_age.len(), FLOWS_MAX);
    assert!(reach.may_leave(&ports((NODE, 80), (HOST, 1), next_header::UDP)));
    assert!(reach.attempts.len() <= REPORTS_MAX && reach.reported.len() <= REPORTS_MAX);
}

#[test]
fn services_are_read_and_written() {
    for text in [
        "any",
        "1883",
        "tcp:1883",
        "udp:any",
        "2001:db8::5",
        "[2001:db8::5]:443",
        "tcp:[2001:db8::5]:443",
        "udp:2001:db8::5",
    ] {
        let service: Service = text.parse().unwrap();
        let written = service.to_string();
        assert_eq!(written, text);
        assert_eq!(written.parse(), Ok(service));
    }
    assert_eq!("[::1]".parse::<Service>().unwrap().to_string(), "::1");
    for text in [
        "", "0", "70000", "tcp:", "sctp:80", "[::1", "[::1]80", "[::1]:", "[::1]:0", "host:80",
        ":", "1.2.3.4", "any:80", "-1", "80 ", "[]:80",
    ] {
        let error = text.parse::<Service>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("got {text:?}; allowed: ")),
            "{error}"
        );
    }
}

/// Members of a group answer a request with their own addresses (RFC 7252 §8.2).
#[test]
fn answers_of_a_groups_members_pass() {
    let mut reach = Reach::new(Vec::new());
    let (client, server) = ((HOST, 40000), (NODE, 5683));
    let answer = ports(server, client, next_header::UDP);
    assert!(!reach.may_leave(&answer));
    reach.on_packet_to_mesh(&ports(client, ("ff05::fd", 5683), next_header::UDP));
    assert!(reach.may_leave(&answer));
    assert!(reach.may_leave(&ports(("fd00:1::6", 5683), client, next_header::UDP)));
    for other in [
        ports((NODE, 5684), client, next_header::UDP),
        ports(server, (HOST, 40001), next_header::UDP),
        ports(server, ("fd00::2", 40000), next_header::UDP),
        ports(server, client, next_header::TCP),
    ] {
        assert!(!reach.may_leave(&other));
    }
    // TCP has no groups.
    let mut reach = Reach::new(Vec::new());
    reach.on_packet_to_mesh(&ports(client, ("ff05::fd", 80), next_header::TCP));
    assert!(!reach.may_leave(&ports((NODE, 80), client, next_header::TCP)));
    assert_eq!(reach.flows(), 1);
}
