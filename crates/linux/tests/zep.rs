//! Wireshark's decoder reads the datagrams of this crate.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use redpoll_linux::radio::zep::Datagram;
use redpoll_testkit::skipped;

const PORT: u16 = 17_754;
/// A data request from 1 to 2 in the PAN 0x7270, which is to be acknowledged.
const FRAME: [u8; 10] = [0x63, 0x98, 7, 0x70, 0x72, 2, 0, 1, 0, 4];

/// Writes a capture of these datagrams: IPv4 (RFC 791 §3.1) and UDP without a checksum.
fn capture(name: &str, datagrams: &[Vec<u8>]) -> PathBuf {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for datagram in datagrams {
        let len = (28 + datagram.len()) as u32;
        for word in [0, 0, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend([0x45, 0]);
        file.extend((len as u16).to_be_bytes());
        file.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        for number in [PORT, PORT, 8 + datagram.len() as u16, 0] {
            file.extend(number.to_be_bytes());
        }
        file.extend(datagram);
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, file).unwrap();
    path
}

#[test]
fn tshark_reads_our_datagrams() {
    let datagram = Datagram {
        channel: 20,
        device: 0x0102,
        lqi: 200,
        sequence: 77,
        mpdu: &FRAME,
    };
    // Half a second after the beginning of 2026.
    let at = Duration::from_millis(1_767_225_600_500);
    let path = capture("zep.pcap", &[datagram.to_bytes(at)]);
    let fields = [
        "zep.version",
        "zep.type",
        "zep.channel_id",
        "zep.device_id",
        "zep.lqi_mode",
        "zep.seqno",
        "zep.length",
        "zep.time",
        "wpan.seq_no",
        "wpan.src16",
        "wpan.dst16",
        "wpan.dst_pan",
        "wpan.fcs_ok",
        "_ws.malformed",
    ];
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&path).arg("-n");
    tshark.args(["-d", &format!("udp.port=={PORT},zep")]);
    tshark.args(["-T", "fields", "-E", "separator=|"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let Ok(output) = tshark.env("TZ", "UTC").output() else {
        return skipped("check of ZEP in tshark: it is not installed");
    };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    let found: Vec<&str> = line.trim_end_matches('\n').split('|').collect();
    // Mode 1 marks frames with a check sequence. Since version 4.2, tshark writes truth values as
    // words.
    let truth = if found[4] == "True" { "True" } else { "1" };
    let expected = ["2", "1", "20", "258", truth, "77", "12"];
    assert_eq!(found[..7], expected, "{line}");
    let time = found[7];
    assert!(
        time.contains("2026") && time.contains("00:00:00.5"),
        "{line}"
    );
    let frame = ["7", "0x0001", "0x0002", "0x7270"];
    assert_eq!(found[8..12], frame, "{line}");
    assert!(["1", "True"].contains(&found[12]), "{line}");
    assert_eq!(found[13], "", "{line}");
}
