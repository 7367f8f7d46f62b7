//! The bytes of a capture file, which are decompressed if they are gzip or Zstandard data.

use std::io::{self, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// First bytes of a gzip member (RFC 1952 §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// First bytes of a Zstandard frame (RFC 8878 §3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

const BUFFER: usize = 65_536;

type Peeked = Chain<Cursor<Vec<u8>>, Box<dyn Read>>;

pub(crate) struct Input(Box<dyn Read>);

impl Input {
    pub(crate) fn of(input: Box<dyn Read>) -> io::Result<Input> {
        let mut input = input;
        let mut magic = Vec::new();
        input.by_ref().take(4).read_to_end(&mut magic)?;
        let is_gzip = magic.starts_with(&GZIP);
        let is_zstd = magic.starts_with(&ZSTD);
        let whole = Cursor::new(magic).chain(input);
        Ok(Input(match (is_gzip, is_zstd) {
            (true, _) => Box::new(io::BufReader::new(MultiGzDecoder::new(whole))),
            (_, true) => Box::new(io::BufReader::new(Zstd::of(whole))),
            _ => Box::new(io::BufReader::with_capacity(BUFFER, whole)),
        }))
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.0.read(rest) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    pub(crate) fn head<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        let mut bytes = [0; N];
        match self.fill(&mut bytes)? {
            0 => Ok(None),
            read if read == N => Ok(Some(bytes)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.head()?.ok_or(io::ErrorKind::UnexpectedEof.into())
    }

    /// Reads `len` bytes. Allocates memory as bytes arrive, because `len` may be a false length.
    pub(crate) fn bytes(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(len.min(4_096));
        let wanted = u64::try_from(len).unwrap_or(u64::MAX);
        self.0.by_ref().take(wanted).read_to_end(&mut bytes)?;
        match bytes.len() == len {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    pub(crate) fn skip(&mut self, len: u64) -> io::Result<()> {
        match io::copy(&mut self.0.by_ref().take(len), &mut io::sink())? == len {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Decompresses consecutive Zstandard frames.
struct Zstd {
    source: Source,
    decoder: FrameDecoder,
    is_within: bool,
}

/// Compressed bytes. One byte that was read can be put back.
struct Source {
    first: Option<u8>,
    rest: Peeked,
    is_ended: bool,
}

impl Read for Source {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if let (Some(first), Some(to)) = (self.first, bytes.first_mut()) {
            *to = first;
            self.first = None;
            return Ok(1);
        }
        let read = self.rest.read(bytes)?;
        self.is_ended |= read == 0 && !bytes.is_empty();
        Ok(read)
    }
}

impl Zstd {
    fn of(rest: Peeked) -> Zstd {
        Zstd {
            source: Source {
                first: None,
                rest,
                is_ended: false,
            },
            decoder: FrameDecoder::new(),
            is_within: false,
        }
    }

    /// Begins the next frame, or skips a skippable one; returns `false` at the end.
    fn begin(&mut self) -> io::Result<bool> {
        let mut first = [0; 1];
        if self.source.read(&mut first)? == 0 {
            return Ok(false);
        }
        self.source.first = Some(first[0]);
        match self.decoder.init(&mut self.source) {
            Ok(()) => self.is_within = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(
                    &mut self.source.by_ref().take(length.into()),
                    &mut io::sink(),
                )?;
            }
            Err(error) => return Err(self.failed(error)),
        }
        Ok(true)
    }

    fn failed(&self, error: FrameDecoderError) -> io::Error {
        match self.source.is_ended {
            true => io::ErrorKind::UnexpectedEof.into(),
            false => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
        }
    }
}

impl Read for Zstd {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_within {
                if !self.begin()? {
                    return Ok(0);
                }
                continue;
            }
            let read = self.decoder.read(bytes)?;
            if read > 0 {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.is_within = false;
                continue;
            }
            let strategy = BlockDecodingStrategy::UptoBytes(bytes.len());
            let decoded = self.decoder.decode_blocks(&mut self.source, strategy);
            if let Err(error) = decoded {
                return Err(self.failed(error));
            }
        }
    }
}
