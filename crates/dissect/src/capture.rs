//! Reading capture files: pcapng and pcap, with the link types of
//! IEEE 802.15.4.

use std::io::{self, Chain, Cursor, Read};

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError};

/// A capture that is being read.
pub struct Capture {
    reader: Reader,
    frames: u64,
}

type Input = Chain<Cursor<Vec<u8>>, Box<dyn Read>>;

enum Reader {
    Pcapng(Box<PcapNgReader<Input>>, Described),
    Pcap(Box<PcapReader<Input>>, DataLink),
}

/// Why there is nothing to read.
#[derive(Debug)]
pub enum NotOpen {
    /// The operating system does not let us.
    Unreadable(io::Error),
    /// It is something else.
    NoCapture,
}

/// Why a capture ends before its end.
#[derive(Debug)]
pub enum Ended {
    /// The file stops within a record.
    CutOff,
    /// It cannot be understood, or not be read.
    Broken(String),
}

/// A captured frame with what its link type puts around it.
#[derive(Debug)]
pub struct Record {
    /// Microseconds since the capture's origin of time, if it is known.
    pub at_us: Option<u64>,
    link: DataLink,
    data: Vec<u8>,
    /// Bytes that were not captured.
    missing: usize,
}

impl Record {
    /// The link type, if it is none of IEEE 802.15.4's.
    pub fn foreign_link(&self) -> Option<String> {
        let number = u32::from(self.link);
        let known = [WITH_FCS, WITHOUT_FCS, WITH_TAP].contains(&number);
        (!known).then(|| format!("{:?} ({number})", self.link))
    }
}

/// Link types of IEEE 802.15.4: with check sequence, without, behind a TAP header.
const WITH_FCS: u32 = 195;
const WITHOUT_FCS: u32 = 230;
const WITH_TAP: u32 = 283;

/// A frame out of a record.
#[derive(Debug, PartialEq)]
pub struct Captured<'a> {
    /// The frame without its check sequence.
    pub mpdu: &'a [u8],
    /// The check sequence that came with it; `None` if the capture has none.
    pub fcs: Option<u16>,
    /// Bytes that were not captured.
    pub missing: usize,
}

/// First bytes of a pcapng file: the type of a section header block.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

impl Capture {
    /// Begins to read `input`.
    ///
    /// # Errors
    ///
    /// Why this cannot be read, or is no capture.
    pub fn open(mut input: Box<dyn Read>) -> Result<Capture, NotOpen> {
        let mut magic = Vec::new();
        let read = input.by_ref().take(4).read_to_end(&mut magic);
        read.map_err(NotOpen::Unreadable)?;
        let is_pcapng = magic == PCAPNG;
        let input = Cursor::new(magic).chain(input);
        let not_one = |error| match error {
            PcapError::IoError(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                NotOpen::Unreadable(error)
            }
            _ => NotOpen::NoCapture,
        };
        let reader = if is_pcapng {
            let reader = PcapNgReader::new(input).map_err(not_one)?;
            Reader::Pcapng(Box::new(reader), Described::default())
        } else {
            let reader = PcapReader::new(input).map_err(not_one)?;
            let link = reader.header().datalink;
            Reader::Pcap(Box::new(reader), link)
        };
        Ok(Capture { reader, frames: 0 })
    }

    /// How many frames there were so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    ///
    /// Why nothing more can be read.
    pub fn next_record(&mut self) -> Result<Option<Record>, Ended> {
        let record = match &mut self.reader {
            Reader::Pcapng(reader, described) => next_of_pcapng(reader, described)?,
            Reader::Pcap(reader, link) => match reader.next_packet() {
                None => None,
                Some(Err(error)) => return Err(ended(error)),
                Some(Ok(packet)) => Some(Record {
                    at_us: u64::try_from(packet.timestamp.as_micros()).ok(),
                    link: *link,
                    missing: missing(packet.orig_len, packet.data.len()),
                    data: packet.data.into_owned(),
                }),
            },
        };
        self.frames += u64::from(record.is_some());
        Ok(record)
    }
}

/// What the interfaces of a section take of memory, all of which the library keeps.
#[derive(Debug, Default)]
struct Described {
    interfaces: usize,
    /// About.
    bytes: usize,
}

impl Described {
    /// More than any capture of a mesh has; a file of nothing else is not one.
    const INTERFACES: usize = 4_096;
    const BYTES: usize = 4 << 20;

    fn add(&mut self, options: &[InterfaceDescriptionOption<'_>]) -> Result<(), Ended> {
        self.interfaces += 1;
        let each = size_of::<InterfaceDescriptionOption<'_>>();
        let bytes = options.iter().map(|option| each + behind(option));
        self.bytes += bytes.sum::<usize>();
        match self.interfaces <= Self::INTERFACES && self.bytes <= Self::BYTES {
            true => Ok(()),
            false => Err(Ended::Broken(format!(
                "the descriptions of its interfaces are too many or too long; allowed: {} in a \
                 section, and {} MiB",
                Self::INTERFACES,
                Self::BYTES >> 20
            ))),
        }
    }
}

/// Bytes that an option has elsewhere.
fn behind(option: &InterfaceDescriptionOption<'_>) -> usize {
    use InterfaceDescriptionOption as It;
    match option {
        It::Comment(text)
        | It::IfName(text)
        | It::IfDescription(text)
        | It::IfOs(text)
        | It::IfHardware(text) => text.len(),
        It::IfIpv4Addr(bytes)
        | It::IfIpv6Addr(bytes)
        | It::IfMacAddr(bytes)
        | It::IfFilter(bytes) => bytes.len(),
        It::CustomBinary(custom) => custom.value.len(),
        It::CustomUtf8(custom) => custom.value.len(),
        It::Unknown(unknown) => unknown.value.len(),
        It::IfEuIAddr(_)
        | It::IfSpeed(_)
        | It::IfTsResol(_)
        | It::IfTzone(_)
        | It::IfFcsLen(_)
        | It::IfTsOffset(_) => 0,
    }
}

fn next_of_pcapng(
    reader: &mut PcapNgReader<Input>,
    described: &mut Described,
) -> Result<Option<Record>, Ended> {
    loop {
        let packet = match reader.next_block() {
            None => return Ok(None),
            Some(Err(error)) => return Err(ended(error)),
            Some(Ok(Block::EnhancedPacket(mut packet))) => {
                packet.options.clear();
                packet.into_owned()
            }
            Some(Ok(Block::InterfaceDescription(interface))) => {
                described.add(&interface.options)?;
                continue;
            }
            Some(Ok(Block::SectionHeader(_))) => {
                *described = Described::default();
                continue;
            }
            Some(Ok(_)) => continue,
        };
        let Some(interface) = reader.packet_interface(&packet) else {
            return Err(Ended::Broken(
                "a frame of an interface that is not described".to_owned(),
            ));
        };
        let resolution = interface.options.iter().find_map(|option| match option {
            InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
            _ => None,
        });
        // The library takes every timestamp for nanoseconds.
        let ticks = packet.timestamp.as_nanos();
        return Ok(Some(Record {
            at_us: micros(ticks, resolution.unwrap_or(6)),
            link: interface.linktype,
            missing: missing(packet.original_len, packet.data.len()),
            data: packet.data.into_owned(),
        }));
    }
}

/// Ticks of 10^-resolution s, or of 2^-n s if the top bit is set, in
/// microseconds.
fn micros(ticks: u128, resolution: u8) -> Option<u64> {
    let exponent = u32::from(resolution & 0x7f);
    let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
    let per_second = base.checked_pow(exponent)?;
    u64::try_from(ticks.checked_mul(1_000_000)? / per_second).ok()
}

fn missing(original: u32, captured: usize) -> usize {
    usize::try_from(original)
        .unwrap_or(usize::MAX)
        .saturating_sub(captured)
}

fn ended(error: PcapError) -> Ended {
    match error {
        PcapError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ended::CutOff,
        PcapError::IncompleteBuffer => Ended::CutOff,
        PcapError::IoError(error) => Ended::Broken(format!("cannot be read: {error}")),
        other => Ended::Broken(format!("the capture cannot be understood: {other}")),
    }
}

impl Record {
    /// The frame in the record.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn frame(&self) -> Result<Captured<'_>, String> {
        let (data, fcs_len) = match self.link {
            DataLink::IEEE802_15_4 => (self.data.as_slice(), 2),
            DataLink::IEEE802_15_4_NOFCS => (self.data.as_slice(), 0),
            DataLink::IEEE802_15_4_TAP => tap(&self.data)?,
            other => {
                let number = u32::from(other);
                return Err(format!("link type {number}, which is not IEEE 802.15.4"));
            }
        };
        let missing = self.missing;
        // A check sequence that was cut off with the end cannot be told from
        // payload, but then `missing` says so.
        if fcs_len == 0 || missing > 0 {
            return Ok(Captured {
                mpdu: data,
                fcs: None,
                missing,
            });
        }
        match data.split_last_chunk::<2>() {
            Some((mpdu, fcs)) if fcs_len == 2 => Ok(Captured {
                mpdu,
                fcs: Some(u16::from_le_bytes(*fcs)),
                missing,
            }),
            _ if fcs_len == 4 && data.len() >= 4 => Ok(Captured {
                mpdu: &data[..data.len() - 4],
                fcs: None,
                missing,
            }),
            _ => Err("too short for its check sequence".to_owned()),
        }
    }
}

/// The frame behind a TAP header, and the length of its check sequence.
fn tap(data: &[u8]) -> Result<(&[u8], usize), String> {
    const FCS_TYPE: u16 = 0;
    let word = |bytes: &[u8], at: usize| {
        bytes
            .get(at..at + 2)
            .map(|two| u16::from_le_bytes([two[0], two[1]]))
    };
    let short = || "a TAP header that is cut off".to_owned();
    let len = usize::from(word(data, 2).ok_or_else(short)?);
    let header = data
        .get(..len)
        .filter(|header| header.len() >= 4)
        .ok_or_else(short)?;
    let mut fcs_len = 0;
    let mut at = 4;
    while let (Some(kind), Some(size)) = (word(header, at), word(header, at + 2)) {
        let size = usize::from(size);
        let value = header.get(at + 4..at + 4 + size).ok_or_else(short)?;
        if kind == FCS_TYPE {
            fcs_len = match value.first() {
                Some(1) => 2,
                Some(2) => 4,
                _ => 0,
            };
        }
        at += 4 + size.div_ceil(4) * 4;
    }
    Ok((&data[len..], fcs_len))
}
