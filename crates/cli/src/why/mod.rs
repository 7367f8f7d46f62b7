//! `redpoll why`: finds the causes that make the TCP connections of a capture slow.

mod air;
mod args;
mod causes;
mod datagrams;
mod flow;
mod half;
mod page;
mod parts;
mod paths;
mod rtt;
mod segment;
mod simulate;
mod tally;
mod tell;
mod trace;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use redpoll_dissect::capture::{Captured, Content, Ended};
use redpoll_dissect::{Dissector, Reading};
use redpoll_results::page::{Cause, Connection, Diagnosis};
use redpoll_wire::ieee802154::Address;

use crate::dissect::{NetworkArgs, Notes, Opened, opened};
use crate::output::{fail, is_standard};
use crate::places::Places;
use crate::progress::Progress;
use crate::{FAILED, USAGE};

use air::{Air, Transfer};
pub use args::WhyArgs;
use causes::Finding;
use datagrams::{Datagram, Datagrams};
use flow::{Flow, Flows};
use simulate::Comparison;

/// The facts extracted from a capture.
pub struct Seen {
    pub frames: u64,
    /// Frames that are cut off, or whose check sequence is wrong.
    pub broken: u64,
    pub without_radio: u64,
    pub malformed: u64,
    /// Number of frames whose payload is secured and was not decrypted.
    pub secured: u64,
    pub opened: u64,
    pub acks: u64,
    /// Number of datagrams that carry no TCP, or cannot be decoded.
    pub others: u64,
    /// Number of connections that did not fit into the table.
    pub beyond: u64,
    pub flows: Vec<Flow>,
    /// Counts for each link, by its sender and receiver.
    pub links: HashMap<(Address, Address), Link>,
}

/// The frames from one node to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    pub frames: u64,
    pub attempts: u64,
    /// Frames that were unacknowledged after their last attempt.
    pub lost: u64,
}

/// Maximum number of links that are counted.
const LINKS_MAX: usize = 65_536;
/// Number of connections whose segments are recorded for the page.
const RECORDS: usize = 64;

struct Reader {
    air: Air,
    /// Reads MLE messages of a Thread network, which reveal addresses and contexts.
    learner: Option<Dissector>,
    datagrams: Datagrams,
    flows: Flows,
    transfers: Vec<Transfer>,
    done: Vec<Datagram>,
    frames: u64,
    broken: u64,
    /// Number of records without an 802.15.4 frame, such as IPv6 packets or Ethernet frames.
    without_radio: u64,
    links: HashMap<(Address, Address), Link>,
}

impl Reader {
    /// Makes a reader that records the segments of the first `records` connections.
    fn new(reading: Reading, records: usize) -> Reader {
        let mut keys = reading.keys.clone();
        let is_thread = keys.thread().is_some();
        let contexts = reading.contexts.clone();
        Reader {
            air: Air::with(keys),
            learner: is_thread.then(|| Dissector::new(reading)),
            datagrams: Datagrams::new(contexts),
            flows: Flows::recording(records),
            transfers: Vec::new(),
            done: Vec::new(),
            frames: 0,
            broken: 0,
            without_radio: 0,
            links: HashMap::new(),
        }
    }

    /// Handles the next frame of the capture, without its check sequence; `mpdu` is absent if the
    /// frame is cut off or damaged.
    fn input(&mut self, number: u64, at_us: u64, mpdu: Option<&[u8]>) {
        self.frames += 1;
        let Some(mpdu) = mpdu else {
            self.broken += 1;
            return;
        };
        if let Some(learner) = &mut self.learner {
            let frame = learner.mpdu(mpdu, at_us);
            if frame.layers.last().is_some_and(|it| it.name == "mle") {
                let reading = learner.reading();
                self.air.set_keys(reading.keys.clone());
                self.datagrams.set_contexts(reading.contexts.clone());
            }
        }
        self.air.input(number, at_us, mpdu, &mut self.transfers);
        self.pass();
    }

    fn pass(&mut self) {
        for transfer in self.transfers.drain(..) {
            let ends = (transfer.src, transfer.dst);
            if self.links.len() < LINKS_MAX || self.links.contains_key(&ends) {
                let link = self.links.entry(ends).or_default();
                link.frames += u64::from(!transfer.repeats);
                link.attempts += u64::from(transfer.attempts);
                link.lost += u64::from(!transfer.arrived);
            }
            self.datagrams.input(&transfer, &mut self.done);
        }
        for datagram in self.done.drain(..) {
            self.flows.input(&datagram);
        }
    }

    fn finish(mut self) -> Seen {
        self.air.finish(&mut self.transfers);
        self.pass();
        self.datagrams.finish(&mut self.done);
        self.pass();
        Seen {
            frames: self.frames,
            broken: self.broken,
            without_radio: self.without_radio,
            malformed: self.air.malformed,
            secured: self.air.secured,
            opened: self.air.opened,
            acks: self.air.acks,
            others: self.datagrams.others,
            flows: self.flows.finish(),
            beyond: self.flows.beyond,
            links: self.links,
        }
    }
}

/// A cause, and the result of its simulation, if it was requested.
pub struct Told {
    pub finding: Finding,
    pub simulated: Option<Result<Comparison, String>>,
}

fn findings(seen: &Seen, simulate: bool) -> Vec<Vec<Told>> {
    let found: Vec<_> = seen.flows.iter().map(causes::of).collect();
    let count: usize = found.iter().map(Vec::len).sum();
    let progress = if simulate {
        Progress::of_steps(count as u64, "causes simulated")
    } else {
        Progress::hidden()
    };
    let mut done = 0;
    let mut told = |flow: &Flow, finding: Finding| {
        let simulated = simulate.then(|| simulate::compare(flow, &finding));
        done += 1;
        progress.set(done);
        Told { finding, simulated }
    };
    let flows = seen.flows.iter().zip(found);
    let all = flows
        .map(|(flow, found)| found.into_iter().map(|it| told(flow, it)).collect())
        .collect();
    progress.finish();
    all
}

/// Reads the capture at `file` to its end, or to where it is cut off. Reports odd frames on
/// standard error. On failure, reports the problem and returns the program's exit code.
fn read(
    file: &Path,
    network: &NetworkArgs,
    records: usize,
) -> Result<(Seen, Option<Ended>), ExitCode> {
    let name = file.display();
    let progress = Progress::of_bytes();
    let Opened { mut capture, .. } = opened(file, network, &progress)?;
    let mut notes = Notes::of(network.mesh.prefix);
    let mut reader = Reader::new(network.reading(), records);
    let mut cut_off = None;
    loop {
        let record = match capture.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(ended) => {
                cut_off = Some(ended);
                break;
            }
        };
        if !notes.is_ours(&record) {
            continue;
        }
        let Some(at_us) = record.at_us else {
            progress.finish();
            let problem = format!(
                "{name}: frame {} has no timestamp, which `why` needs to find causes; use `redpoll \
                 dissect` to list the frames",
                capture.frames()
            );
            return Err(fail(USAGE, problem));
        };
        match record.content() {
            Ok(Content::Frame(frame)) => {
                reader.input(record.number, at_us, Captured::whole(&frame));
            }
            Ok(_) => reader.without_radio += 1,
            Err(_) => reader.input(record.number, at_us, None),
        }
    }
    progress.finish();
    if let Some(problem) = notes.refusal(&name.to_string()) {
        return Err(fail(USAGE, problem));
    }
    notes.tell(&name.to_string(), &capture);
    Ok((reader.finish(), cut_off))
}

pub fn run(args: &WhyArgs) -> ExitCode {
    match try_run(args) {
        Ok(code) | Err(code) => code,
    }
}

fn try_run(args: &WhyArgs) -> Result<ExitCode, ExitCode> {
    let name = args.file.display();
    let places = Places::default()
        .with("--json", args.json.as_deref())
        .with("--html", args.html.as_deref());
    if let Err(line) = places.reads(&args.file).check() {
        return Err(fail(USAGE, line));
    }
    let records = if args.html.is_some() { RECORDS } else { 0 };
    let (seen, cut_off) = read(&args.file, &args.network, records)?;
    let told = findings(&seen, args.simulate || args.html.is_some());
    if let Some(path) = &args.html {
        page::write(path, args, &seen, &told)?;
    }
    let is_standard = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_standard);
    if !is_standard(&args.html) {
        tell::tell(args, &seen, &told)?;
    }
    Ok(match cut_off {
        None => ExitCode::SUCCESS,
        Some(Ended::CutOff) => fail(
            FAILED,
            format!(
                "{name}: the capture ends within the record after frame {}",
                seen.frames
            ),
        ),
        Some(Ended::Broken(problem)) => fail(
            FAILED,
            format!("{name}: after frame {}: {problem}", seen.frames),
        ),
    })
}

/// Returns the causes found in the capture of a result folder, for the page of the result. `nodes`
/// are the names of the nodes.
pub fn diagnosis(file: &Path, nodes: &[&str]) -> Result<Diagnosis, ExitCode> {
    let (seen, _) = read(file, &NetworkArgs::default(), 0)?;
    let connection = |flow: &Flow| Connection {
        what: tell::summary(flow, nodes),
        causes: causes::of(flow).iter().map(cause).collect(),
    };
    Ok(Diagnosis {
        connections: seen.flows.iter().map(connection).collect(),
    })
}

fn cause(finding: &Finding) -> Cause {
    Cause {
        title: finding.cause.title().to_owned(),
        share: finding.share,
        seen: finding.seen.clone(),
        remedy: finding.remedy.to_owned(),
    }
}
