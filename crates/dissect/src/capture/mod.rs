//! Capture files, from bytes to frames.
//!
//! - `input`: compressed files;
//! - `pcap` and `pcapng`: the two file formats;
//! - [`link`]: link types, from a record to the frame in it;
//! - `odd`: fields that contradict the file format, which are counted and reported.

mod input;
pub mod link;
mod odd;
mod pcap;
mod pcapng;

use std::collections::VecDeque;
use std::io::{self, Read};

pub use link::{Captured, Content, Trailer};
pub use odd::Odd;

use input::Input;
use odd::Odds;

pub struct Capture {
    reader: Reader,
    odds: Odds,
    frames: u64,
    read: u64,
    ahead: VecDeque<Record>,
    ended: Option<Ended>,
    trailers: Trailers,
}

enum Reader {
    Pcapng(pcapng::Reader),
    Pcap(pcap::Reader),
}

#[derive(Debug)]
pub enum NotOpen {
    Unreadable(io::Error),
    NoCapture,
}

/// The reason why reading stops before the end of a capture.
#[derive(Debug)]
pub enum Ended {
    CutOff,
    Broken(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fcs {
    /// A check sequence, or TI metadata if the last two bytes of the first frames look like TI
    /// metadata.
    #[default]
    Auto,
    Crc,
    Ti,
}

/// A captured frame with the bytes that its link type puts around it.
#[derive(Clone, Debug)]
pub struct Record {
    /// Number of the frame in the file, counted from 1 as Wireshark does.
    pub number: u64,
    /// Microseconds since the capture's origin of time, if the file has the time.
    pub at_us: Option<u64>,
    /// Link type (LINKTYPE_ values of pcap).
    pub link: u32,
    /// Length of the check sequence in bytes, if the file states it.
    pub(crate) fcs_len: Option<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) missing: usize,
    pub(crate) has_ti: bool,
}

/// First bytes of a pcapng file: the type of a section header block.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Maximum number of stored bytes of a record, as in libpcap.
pub(crate) const RECORD_MAX: usize = 262_144;
/// Number of records that are read ahead to determine the meaning of a record's last bytes.
const AHEAD: usize = 16;

impl Capture {
    /// Begins to read `input`, which may be compressed by gzip or Zstandard.
    pub fn open(input: Box<dyn Read>) -> Result<Capture, NotOpen> {
        let mut input = Input::of(input).map_err(NotOpen::Unreadable)?;
        let mut magic = [0; 4];
        let read = input.fill(&mut magic).map_err(NotOpen::Unreadable)?;
        if read < magic.len() {
            return Err(NotOpen::NoCapture);
        }
        let not_one = |ended| match ended {
            Failure::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                NotOpen::Unreadable(error)
            }
            _ => NotOpen::NoCapture,
        };
        let mut odds = Odds::default();
        let reader = match magic == PCAPNG {
            true => Reader::Pcapng(pcapng::Reader::open(input).map_err(not_one)?),
            false => Reader::Pcap(pcap::Reader::open(input, magic, &mut odds).map_err(not_one)?),
        };
        Ok(Capture {
            reader,
            odds,
            frames: 0,
            read: 0,
            ahead: VecDeque::new(),
            ended: None,
            trailers: Trailers::default(),
        })
    }

    pub fn set_fcs(&mut self, fcs: Fcs) {
        self.trailers.fcs = fcs;
    }

    /// Reads the first records to determine the format of their last two bytes. Omit this call for
    /// a live capture, because it delays the first records until 16 records have arrived.
    pub fn look_ahead(&mut self) {
        while self.ahead.len() < AHEAD {
            match self.read_record() {
                Ok(Some(record)) => self.ahead.push_back(record),
                Ok(None) => break,
                Err(ended) => {
                    self.ended = Some(ended);
                    break;
                }
            }
        }
        for record in &self.ahead {
            self.trailers.learn(record);
        }
    }

    pub fn frames(&self) -> u64 {
        self.frames
    }

    pub fn odd(&self) -> impl Iterator<Item = Odd> + '_ {
        self.odds.iter()
    }

    /// Returns the next frame; `None` at the end. Fails if the file is truncated or malformed.
    pub fn next_record(&mut self) -> Result<Option<Record>, Ended> {
        let record = match (self.ahead.pop_front(), self.ended.take()) {
            (Some(record), ended) => {
                self.ended = ended;
                Some(record)
            }
            (None, Some(ended)) => return Err(ended),
            (None, None) => {
                let record = self.read_record()?;
                record.iter().for_each(|record| self.trailers.learn(record));
                record
            }
        };
        Ok(record.map(|mut record| {
            self.frames = record.number;
            record.has_ti = self.trailers.is_ti();
            record
        }))
    }

    fn read_record(&mut self) -> Result<Option<Record>, Ended> {
        let number = self.read + 1;
        let read = match &mut self.reader {
            Reader::Pcapng(reader) => reader.next(number, &mut self.odds),
            Reader::Pcap(reader) => reader.next(number, &mut self.odds),
        };
        let record = read.map_err(Ended::from)?;
        self.read += u64::from(record.is_some());
        Ok(record)
    }
}

/// Learns from frames whether they end with a check sequence or with TI metadata.
#[derive(Debug, Default)]
struct Trailers {
    fcs: Fcs,
    right: u32,
    like_ti: u32,
    other: u32,
}

impl Trailers {
    fn learn(&mut self, record: &Record) {
        if self.fcs != Fcs::Auto || self.right > 0 || self.like_ti > 1_000 {
            return;
        }
        match link::looks_like_ti(record) {
            None => {}
            Some(link::Look::Right) => self.right += 1,
            Some(link::Look::Ti) => self.like_ti += 1,
            Some(link::Look::Other) => self.other += 1,
        }
    }

    fn is_ti(&self) -> bool {
        match self.fcs {
            Fcs::Ti => true,
            Fcs::Crc => false,
            Fcs::Auto => self.right == 0 && self.like_ti >= 2 && self.like_ti > 4 * self.other,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Failure {
    Io(io::Error),
    Format(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Ended {
        match failure {
            Failure::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ended::CutOff,
            Failure::Io(error) => Ended::Broken(format!("cannot be read: {error}")),
            Failure::Format(problem) => Ended::Broken(problem),
        }
    }
}
