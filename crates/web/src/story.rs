//! A run in a file: the messages that a browser would have received, one for each line.
//!
//! The first lines are the greeting, the links and the state. The state is repeated every few
//! seconds, so that a reader can start in the middle. Input is not trusted: each line is an object
//! of a known type with a bounded size.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};

use redpoll_base::Duration;
use redpoll_sim::World;
use redpoll_wire::sixlowpan::Contexts;
use serde::Deserialize;

use crate::message::{Hello, Mode, VERSION};
use crate::scribe::Scribe;

/// Length of the longest line, in bytes.
const LONGEST: u64 = 64 << 20;
/// Interval between the positions at which a reader can begin.
const STATES: Duration = Duration::from_secs(2);
/// Interval between the figures of the nodes.
const FIGURES: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    scribe: Scribe,
    figures_at: u64,
    state_at: u64,
}

impl<W: Write> Writer<W> {
    /// Begins to record the events of `world`. Returns the errors of `out`.
    pub fn new(world: &mut World, mut out: W) -> io::Result<Writer<W>> {
        world.set_live(true);
        let scribe = Scribe::new(world, Mode::View);
        for line in [scribe.hello(), scribe.scene(), scribe.state()] {
            writeln!(out, "{line}")?;
        }
        Ok(Writer {
            out,
            scribe,
            figures_at: 0,
            state_at: STATES.as_micros(),
        })
    }

    /// Writes the changes since the last call. Call it often, because a world's tape is
    /// bounded. Returns the number of frames.
    pub fn write(&mut self, world: &mut World) -> io::Result<usize> {
        let (changes, sample) = (world.live_changes(), world.live_sample());
        let now = world.now().as_micros();
        let figures = now >= self.figures_at;
        if figures {
            self.figures_at = now + FIGURES.as_micros();
        }
        let line = self.scribe.changes(&changes, &sample, figures, None);
        writeln!(self.out, "{line}")?;
        if now >= self.state_at {
            self.state_at = now + STATES.as_micros();
            writeln!(self.out, "{}", self.scribe.state())?;
        }
        Ok(changes.frames.len())
    }

    /// Writes buffered data to the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The messages with which a browser starts at a position of a recording, and the contexts for
/// compressed addresses.
#[derive(Clone, Debug)]
pub struct Story {
    pub(crate) hello: String,
    pub(crate) scene: String,
    pub(crate) state: String,
    pub(crate) contexts: Contexts,
}

#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    #[error("cannot read the recording: {0}")]
    Read(#[from] io::Error),
    #[error("not a recording; allowed: a file written by `redpoll run --record FILE`")]
    NoRecording,
    /// Another version of the program made the recording.
    #[error(
        "is a recording of version {0}, and this program reads version {VERSION}; use the Redpoll \
         that wrote it, or record the run again"
    )]
    Version(u32),
    /// A line of the recording cannot be used.
    #[error("line {0} does not belong to a recording")]
    Line(u64),
}

#[derive(Debug)]
pub struct Reader<R> {
    input: BufReader<R>,
    story: Story,
    /// Positions from which a reader can begin: the time, and the offset in the file in bytes.
    places: Vec<(u64, u64)>,
    end: u64,
    /// Whether the last line is incomplete.
    is_cut: bool,
    line: String,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: &'a str,
    #[serde(default)]
    t: u64,
}

impl<R: Read + Seek> Reader<R> {
    pub fn open(input: R) -> Result<Reader<R>, StoryError> {
        let mut input = BufReader::with_capacity(1 << 18, input);
        let mut line = String::new();
        let hello = next_line(&mut input, &mut line).map_err(|error| match error.kind() {
            // The file is not text.
            io::ErrorKind::InvalidData => StoryError::NoRecording,
            _ => StoryError::Read(error),
        })?;
        if hello == 0 {
            return Err(StoryError::NoRecording);
        }
        let hello = line.trim_end().to_owned();
        let contexts = contexts(&hello)?;
        let mut reader = Reader {
            input,
            story: Story {
                hello,
                scene: String::new(),
                state: String::new(),
                contexts,
            },
            places: Vec::new(),
            end: 0,
            is_cut: false,
            line,
        };
        reader.look_through()?;
        reader.seek(0)?;
        Ok(reader)
    }

    fn look_through(&mut self) -> Result<(), StoryError> {
        let mut number = 1;
        loop {
            let at = self.input.stream_position()?;
            let len = match next_line(&mut self.input, &mut self.line) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(StoryError::Line(number + 1));
                }
                Err(error) => return Err(error.into()),
            };
            if len == 0 {
                break;
            }
            number += 1;
            if !self.line.ends_with('\n') {
                // The last line is cut: the program was stopped while writing it.
                self.is_cut = true;
                break;
            }
            let head: Head<'_> =
                serde_json::from_str(&self.line).map_err(|_| StoryError::Line(number))?;
            match head.kind {
                "scene" if self.story.scene.is_empty() => {
                    self.story.scene = self.line.trim_end().to_owned();
                }
                "state" => self.places.push((head.t, at)),
                "changes" => self.end = self.end.max(head.t),
                _ => return Err(StoryError::Line(number)),
            }
        }
        // Removes positions at the end, so that a viewer that jumps to the end starts earlier and
        // shows some events.
        let end = self.end;
        self.places.retain(|(t, _)| *t == 0 || *t < end);
        if self.story.scene.is_empty() || self.places.is_empty() {
            Err(StoryError::NoRecording)
        } else {
            Ok(())
        }
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns whether the recording's last line is incomplete.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Continues at the last position at or before `t`, in µs; returns the state at this position.
    pub fn seek(&mut self, t: u64) -> io::Result<Story> {
        let after = self.places.partition_point(|(at, _)| *at <= t);
        let (_, byte) = self.places[after.saturating_sub(1)];
        self.input.seek(SeekFrom::Start(byte))?;
        next_line(&mut self.input, &mut self.line)?;
        self.story.state = self.line.trim_end().to_owned();
        Ok(self.story.clone())
    }

    /// Returns the next line of kind `changes` and its time in µs; `None` at the end or before an
    /// incomplete line.
    pub fn read(&mut self) -> io::Result<Option<(u64, &str)>> {
        loop {
            let len = next_line(&mut self.input, &mut self.line)?;
            if len == 0 || !self.line.ends_with('\n') {
                return Ok(None);
            }
            let head: Head<'_> = serde_json::from_str(&self.line)?;
            if head.kind == "changes" {
                let t = head.t;
                return Ok(Some((t, self.line.trim_end())));
            }
        }
    }
}

/// Reads the next line into `line`, and returns its length in bytes; 0 at the end of the input.
fn next_line(input: &mut impl BufRead, line: &mut String) -> io::Result<usize> {
    line.clear();
    let len = input.take(LONGEST).read_line(line)?;
    if len as u64 == LONGEST {
        Err(io::ErrorKind::InvalidData.into())
    } else {
        Ok(len)
    }
}

/// Checks the kind and the version of the greeting, and returns the contexts for compressed
/// addresses, made from the greeting's prefix.
fn contexts(hello: &str) -> Result<Contexts, StoryError> {
    let head: Head<'_> = serde_json::from_str(hello).map_err(|_| StoryError::NoRecording)?;
    if head.kind != "hello" {
        return Err(StoryError::NoRecording);
    }
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let version: Version = serde_json::from_str(hello).map_err(|_| StoryError::NoRecording)?;
    if version.version != VERSION {
        return Err(StoryError::Version(version.version));
    }
    let hello: Hello = serde_json::from_str(hello).map_err(|_| StoryError::NoRecording)?;
    let prefix: std::net::Ipv6Addr = (hello.prefix.parse()).map_err(|_| StoryError::NoRecording)?;
    Ok(Contexts::with_prefix(prefix.into()))
}
