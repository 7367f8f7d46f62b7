//! The TUN interface against this kernel, in a separate namespace.

mod common;

use std::ffi::CString;
use std::net::UdpSocket;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use common::{Case, config, host_address, node_address};
use redpoll_linux::tun::{Tun, TunConfig, TunError};

fn main() -> ExitCode {
    common::main(vec![
        Case::new("packets_pass_both_ways", packets_pass_both_ways),
        Case::new(
            "garbage_for_the_kernel_is_refused_not_an_error",
            garbage_is_refused,
        ),
        Case::new(
            "the_interface_goes_with_its_owner",
            interface_goes_with_its_owner,
        ),
        Case::new("an_address_in_use_is_said", address_in_use_is_said),
        Case::new("a_prefix_in_use_is_said", prefix_in_use_is_said),
        Case::new("a_name_in_use_is_said", name_in_use_is_said),
        Case::new("a_wrong_name_is_said", wrong_name_is_said),
        Case::new(
            "the_kernel_sends_nothing_of_its_own",
            the_kernel_sends_no_packets_by_itself,
        ),
    ])
}

/// Returns the next packet that the kernel sends, from its IPv6 header on.
fn next_packet(tun: &Tun) -> Vec<u8> {
    let deadline = Instant::now() + Duration::from_secs(5);
    let mut packet = vec![0; 2000];
    while Instant::now() < deadline {
        if let Some(len) = tun.recv(&mut packet).expect("the interface is up") {
            packet.truncate(len);
            return packet;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("no packet came through {}", tun.name());
}

fn packets_pass_both_ways() {
    let tun = Tun::create(&config(1)).expect("a TUN interface");
    let socket = UdpSocket::bind((host_address(1), 0)).expect("the address is there at once");
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    socket
        .send_to(b"hello", (node_address(1), 7))
        .expect("the route is there at once");

    let mut packet = next_packet(&tun);
    assert_eq!(packet[0] >> 4, 6);
    assert_eq!(packet[8..24], host_address(1).octets());
    assert_eq!(packet[24..40], node_address(1).octets());
    assert_eq!(&packet[48..], b"hello");

    // Swapping both addresses and both ports keeps the UDP checksum valid.
    let (source, destination) = (packet[8..24].to_vec(), packet[24..40].to_vec());
    packet[8..24].copy_from_slice(&destination);
    packet[24..40].copy_from_slice(&source);
    packet[40..44].rotate_left(2);
    assert!(tun.send(&packet).unwrap());
    let mut answer = [0; 16];
    let (len, from) = socket
        .recv_from(&mut answer)
        .expect("the kernel takes the answer");
    assert_eq!(&answer[..len], b"hello");
    assert_eq!(from, (node_address(1), 7).into());
}

fn garbage_is_refused() {
    let tun = Tun::create(&config(2)).expect("a TUN interface");
    for garbage in [&[][..], &[0], &[0xff; 40], &[0x60; 1500], &[0x45; 3]] {
        let _ = tun.send(garbage).expect("the interface survives");
    }
    assert!(
        !tun.send(&[0xff; 40]).unwrap(),
        "version 15 is no IP packet"
    );
}

fn exists(name: &str) -> bool {
    nix::net::if_::if_nametoindex(CString::new(name).unwrap().as_c_str()).is_ok()
}

fn interface_goes_with_its_owner() {
    // The name is fixed, because another test would use a numbered name as soon as it is free.
    let own = TunConfig {
        name: "rpowner".to_owned(),
        ..config(3)
    };
    let tun = Tun::create(&own).expect("a TUN interface");
    let name = tun.name().to_owned();
    assert!(exists(&name));
    drop(tun);
    assert!(!exists(&name));
    let socket = UdpSocket::bind(("::", 0)).unwrap();
    socket
        .send_to(b"x", (node_address(3), 7))
        .expect_err("the route is gone as well");
}

fn prefix_in_use_is_said() {
    let _first = Tun::create(&config(27)).expect("a TUN interface");
    let second = TunConfig {
        address: host_address(28),
        ..config(27)
    };
    let error = Tun::create(&second).expect_err("the prefix is taken");
    assert!(matches!(error, TunError::PrefixInUse(_, 64)), "{error}");
}

fn address_in_use_is_said() {
    let _first = Tun::create(&config(4)).expect("a TUN interface");
    let error = Tun::create(&config(4)).expect_err("the address is taken");
    assert!(matches!(error, TunError::AddressInUse(a) if a == host_address(4)));
    assert!(error.to_string().contains("--prefix"));
}

fn name_in_use_is_said() {
    let named = |n| TunConfig {
        name: "rpsame".to_owned(),
        ..config(n)
    };
    let _first = Tun::create(&named(5)).expect("a TUN interface");
    let error = Tun::create(&named(6)).expect_err("the name is taken");
    assert!(
        matches!(&error, TunError::NameInUse(name) if name == "rpsame"),
        "{error}"
    );
}

fn wrong_name_is_said() {
    for name in ["", "much-too-long-for-an-interface", "a/b", "a:b", "a b"] {
        let config = TunConfig {
            name: name.to_owned(),
            ..config(7)
        };
        let error = Tun::create(&config).expect_err("no such name");
        assert!(error.to_string().contains("1 to 15"), "{error}");
    }
}

fn the_kernel_sends_no_packets_by_itself() {
    let tun = Tun::create(&config(8)).expect("a TUN interface");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(tun.recv(&mut [0; 2000]).unwrap(), None);
}
