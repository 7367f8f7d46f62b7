//! Captures of any length need no more memory than short ones. The test sends them through a pipe,
//! and meanwhile measures the memory of the reading program.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use redpoll_base::Rng;

use crate::support::{Folder, PROGRAM};
use crate::{frames_of, short_run};

/// Length of a capture in bytes, and the limit of the memory in KiB, 8 MB of which are the buffer
/// of the library that reads captures.
#[derive(Clone, Copy)]
struct Size {
    bytes: usize,
    most_kib: u64,
}

/// With 256 MiB, memory that grows with the capture exceeds the limit. This is also the length
/// after which the program refuses a capture that consists of the longest interface blocks.
const LONG: Size = Size {
    bytes: 256 << 20,
    most_kib: 48 << 10,
};
/// A program that keeps a ninth of this capture in memory exceeds the limit.
const SHORT: Size = Size {
    bytes: 96 << 20,
    most_kib: 32 << 10,
};

/// Returns the size of a capture; `REDPOLL_WHY_LONG` selects the long one, for one minute more.
fn whole() -> Size {
    match std::env::var_os("REDPOLL_WHY_LONG") {
        Some(_) => LONG,
        None => SHORT,
    }
}

/// Returns a section header, and an interface without check sequences.
fn header() -> Vec<u8> {
    let mut bytes = Vec::new();
    let magic = 0x1a2b_3c4d_u32;
    block(
        &mut bytes,
        0x0a0d_0d0a,
        &[&magic.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]],
    );
    interface(&mut bytes);
    bytes
}

fn interface(bytes: &mut Vec<u8>) {
    block(bytes, 1, &[&[230, 0, 0, 0], &[0; 4]]);
}

fn packet(bytes: &mut Vec<u8>, at_us: u64, frame: &[u8]) {
    let half = |half: u64| (half as u32).to_le_bytes();
    let len = (frame.len() as u32).to_le_bytes();
    let head = [[0; 4], half(at_us >> 32), half(at_us), len, len].concat();
    block(bytes, 6, &[&head, frame]);
}

fn block(bytes: &mut Vec<u8>, kind: u32, parts: &[&[u8]]) {
    let content = parts.concat();
    let padded = content.len().next_multiple_of(4);
    let total = (padded as u32 + 12).to_le_bytes();
    bytes.extend([kind.to_le_bytes(), total].concat());
    bytes.extend(&content);
    bytes.resize(bytes.len() + padded - content.len(), 0);
    bytes.extend(total);
}

/// Returns the largest memory use, in KiB; `None` when the process has ended.
fn memory(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Writes the output of `next` to `command`, up to `bytes` or until the command has ended. Returns
/// the command's exit code, its largest memory in KiB, and its error output.
fn read(
    command: &str,
    bytes: usize,
    mut next: impl FnMut(&mut Vec<u8>),
) -> (Option<i32>, u64, String) {
    let mut child = Command::new(PROGRAM)
        .args([command, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let (mut written, mut most) = (0, 0);
    let mut chunk = header();
    while written < bytes && input.write_all(&chunk).is_ok() {
        written += chunk.len();
        most = memory(&child).unwrap_or(most);
        chunk.clear();
        while chunk.len() < 1 << 18 {
            next(&mut chunk);
        }
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), most, errors)
}

#[test]
fn a_long_capture_takes_no_more_memory_than_a_short_one() {
    let folder = Folder::new("why-large");
    let size = whole();
    let real = frames_of(&short_run(&folder, "line-2"));
    for command in ["why", "dissect"] {
        let mut rng = Rng::new(3);
        let mut at_us = 0;
        let (code, most, errors) = read(command, size.bytes, |chunk| {
            at_us += 4_000;
            let mut frame = real[rng.below(real.len() as u32) as usize].clone();
            // Changed bytes continually give new nodes, ports and tags.
            if rng.below(4) == 0 {
                let at = rng.below(frame.len() as u32) as usize;
                frame[at] = rng.below(256) as u8;
            }
            packet(chunk, at_us, &frame);
        });
        println!("{command}: {most} KiB");
        assert_eq!(code, Some(0), "{command}: {errors}");
        assert!((1..size.most_kib).contains(&most), "{command}: {most} KiB");
    }
}

/// Checks captures with endless interface blocks, which pcapng permits.
#[test]
fn a_capture_of_endless_interfaces_is_refused() {
    for command in ["why", "dissect"] {
        let (code, most, errors) = read(command, LONG.bytes, interface);
        println!("{command}: {most} KiB");
        assert_eq!(code, Some(1), "{command}: {errors}");
        assert!(errors.contains("interfaces"), "{command}: {errors}");
        assert!((1..LONG.most_kib).contains(&most), "{command}: {most} KiB");
        // Repeats this with fewer, longer blocks of the same total length.
        let (code, most, errors) = read(command, LONG.bytes, |chunk| {
            let comment = vec![b'x'; 0xfffc];
            let option = [&[1, 0, 0xfc, 0xff][..], &comment].concat();
            block(chunk, 1, &[&[230, 0, 0, 0], &[0; 4], &option, &[0; 4]]);
        });
        assert_eq!(code, Some(1), "{command}: {errors}");
        assert!((1..LONG.most_kib).contains(&most), "{command}: {most} KiB");
    }
}
