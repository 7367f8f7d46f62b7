use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use pcap_file::pcapng::{Block, PcapNgReader};
use redpoll_base::Instant;

use super::pcapng::Truncate;
use super::*;

#[derive(Clone, Default)]
struct Disk {
    bytes: Rc<RefCell<Vec<u8>>>,
    room: usize,
}

impl io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.bytes.borrow_mut();
        // Like the kernel, writes the bytes that fit before it returns an error.
        let len = bytes.len().min(self.room - file.len());
        if len == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.extend_from_slice(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Truncate for Disk {
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.bytes.borrow_mut().truncate(len as usize);
        Ok(())
    }
}

/// Returns a data frame of the mesh: 9 bytes of header, then payload.
fn mpdu(number: usize) -> Vec<u8> {
    let mut mpdu = vec![0x61, 0x88, number as u8, 0x70, 0x72, 2, 0, 1, 0];
    mpdu.extend(std::iter::repeat_n(0x3f, number % 100));
    mpdu
}

fn capture(room: usize, frames: usize) -> (Vec<u8>, Result<(), TraceError>) {
    let disk = Disk {
        bytes: Rc::default(),
        room,
    };
    let mut file = PcapngFile::new(disk.clone(), "x.pcapng".into(), &Notes::default()).unwrap();
    let mut result = Ok(());
    for number in 0..frames {
        let start = Instant::from_micros(5_000_000_000 + number as u64);
        let frame = TracedFrame {
            from: 0,
            start,
            end: start + redpoll_base::Duration::from_micros(352),
            mpdu: &mpdu(number),
            rssi_dbm: Some(-71),
        };
        result = result.and(file.frame(&frame));
    }
    result = result.and(file.flush());
    drop(file);
    let bytes = disk.bytes.borrow().clone();
    (bytes, result)
}

/// Reads times and frames of a capture with another implementation.
fn read(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut reader = PcapNgReader::new(bytes).unwrap();
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert_eq!(u32::from(interface.linktype), 283);
            }
            Block::EnhancedPacket(packet) => {
                let header = usize::from(u16::from_le_bytes([packet.data[2], packet.data[3]]));
                // This library interprets all times as nanoseconds.
                let time = packet.timestamp.as_nanos() as u64;
                frames.push((time, packet.data[header..].to_vec()));
            }
            _ => {}
        }
    }
    frames
}

#[test]
fn another_implementation_reads_it_back() {
    let (bytes, result) = capture(usize::MAX, 2_000);
    result.unwrap();
    let frames = read(&bytes);
    assert_eq!(frames.len(), 2_000);
    for (number, (time, frame)) in frames.iter().enumerate() {
        assert_eq!(*time, 5_000_000_000 + number as u64);
        let expected = mpdu(number);
        let (mpdu, check) = frame.split_at(frame.len() - 2);
        assert_eq!(mpdu, expected);
        let check = u16::from_le_bytes([check[0], check[1]]);
        assert_eq!(check, redpoll_wire::ieee802154::fcs(mpdu));
    }
}

#[test]
fn a_full_disk_leaves_the_written_frames_readable() {
    let (whole, _) = capture(usize::MAX, 2_000);
    for room in [300, 10_000, 100_000, 100_001, 100_002] {
        let (bytes, result) = capture(room, 2_000);
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with("cannot write x.pcapng: "), "{error}");
        assert!(bytes.len() > room - 300 && bytes.len() <= room);
        assert_eq!(bytes, whole[..bytes.len()], "room {room}");
        let frames = read(&bytes);
        assert!(frames.len() < 2_000);
    }
}

#[test]
fn a_failed_trace_is_dropped_and_the_others_go_on() {
    struct Broken;
    impl FrameTrace for Broken {
        fn frame(&mut self, _: &TracedFrame<'_>) -> Result<(), TraceError> {
            Err(TraceError {
                path: "broken".into(),
                source: io::ErrorKind::StorageFull.into(),
            })
        }
        fn flush(&mut self) -> Result<(), TraceError> {
            Ok(())
        }
    }
    struct Counter(Rc<RefCell<usize>>);
    impl FrameTrace for Counter {
        fn frame(&mut self, _: &TracedFrame<'_>) -> Result<(), TraceError> {
            *self.0.borrow_mut() += 1;
            Ok(())
        }
        fn flush(&mut self) -> Result<(), TraceError> {
            Ok(())
        }
    }
    let count = Rc::new(RefCell::new(0));
    let mut traces = Traces::default();
    traces.add(Box::new(Broken));
    traces.add(Box::new(Counter(count.clone())));
    let frame = TracedFrame {
        from: 0,
        start: Instant::ZERO,
        end: Instant::ZERO,
        mpdu: &[2, 0, 9],
        rssi_dbm: None,
    };
    traces.frame(&frame);
    traces.frame(&frame);
    assert_eq!(*count.borrow(), 2);
    assert!(traces.take_error().is_some());
    assert!(traces.take_error().is_none());
}
