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
        // Clear SAC: a stateful source address becomes stateless.
        |packet| packet[1] &= !0x40,
        // Flip the high bit of TF, so that traffic class or flow label change.
        |packet| packet[0] ^= 0x10,
    ];
    for damage in damages {
        println!("{}", headers(damage).unwrap_err());
    }
}
