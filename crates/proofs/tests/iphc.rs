//! Compressed headers.

use redpoll_proofs::iphc::{Damage, encodings, headers};

#[test]
fn all_forms_of_a_header_survive_compression() {
    println!("IPHC: {} headers", headers(|_| ()).unwrap());
    println!("IPHC: {} encodings expand", encodings().unwrap());
}

#[test]
fn damaged_headers_are_found() {
    let damages: [Damage; 2] = [
        // A stateful address becomes a stateless one.
        |packet| packet[1] &= !0x40,
        // The high bit of the traffic class.
        |packet| packet[0] ^= 0x10,
    ];
    for damage in damages {
        println!("{}", headers(damage).unwrap_err());
    }
}
