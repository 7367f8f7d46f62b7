//! How flows and nodes fare over time: a table with a row for each of them at every moment
//! that is looked at, of the facts that the live view shows ([`redpoll_sim::live`]).
//!
//! Counters count from the beginning of the run. What has an `_interval` in its name, and the
//! shares of the radio's states, are of the time since the row before.

use std::io::Write;

use redpoll_base::{Duration, Instant};
use redpoll_sim::live::{ConnectionSample, NodeSample, Sample};
use redpoll_sim::{FlowEnd, RadioState, World};

use crate::table::{Cell, Column, Format, Kind, Row, WriteError, Writer};

/// Which rows a column is empty in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// In none.
    All,
    /// In those of nodes.
    Flows,
    /// In those of flows.
    Nodes,
}

/// The columns: name, kind, whose, and what it has.
pub const COLUMNS: &[(&str, Kind, Of, &str)] = &[
    (
        "t_s",
        Kind::Number,
        Of::All,
        "virtual time since the beginning of the run",
    ),
    ("kind", Kind::Text, Of::All, "`flow` or `node`"),
    ("name", Kind::Text, Of::All, "name of the flow or node"),
    ("from", Kind::Text, Of::Flows, "the sending node"),
    ("to", Kind::Text, Of::Flows, "the receiving node"),
    (
        "delivered_bytes",
        Kind::Whole,
        Of::Flows,
        "payload that has arrived",
    ),
    (
        "goodput_interval_kbps",
        Kind::Number,
        Of::Flows,
        "payload that has arrived since the previous row, in 1000 bit/s",
    ),
    (
        "segments_sent",
        Kind::Whole,
        Of::Flows,
        "segments with payload, datagrams or messages sent, retransmissions included",
    ),
    (
        "retransmissions_rto",
        Kind::Whole,
        Of::Flows,
        "retransmitted segments: after a timeout",
    ),
    (
        "retransmissions_fast",
        Kind::Whole,
        Of::Flows,
        "retransmitted segments: by fast retransmit and fast recovery",
    ),
    (
        "retransmissions_link_lost",
        Kind::Whole,
        Of::Flows,
        "retransmitted segments: after the link had reported the segment lost",
    ),
    (
        "retransmissions_path_mtu",
        Kind::Whole,
        Of::Flows,
        "retransmitted segments: after the path MTU had shrunk",
    ),
    (
        "retransmissions_tail",
        Kind::Whole,
        Of::Flows,
        "retransmitted segments: as tail loss probes",
    ),
    (
        "retransmissions_probe",
        Kind::Whole,
        Of::Flows,
        "retransmitted segments: to probe a closed window",
    ),
    (
        "cwnd_bytes",
        Kind::Whole,
        Of::Flows,
        "the sender's congestion window (RFC 5681); this column and the next ones are only filled \
         while a node has a connection of Redpoll's TCP for the flow",
    ),
    (
        "ssthresh_bytes",
        Kind::Whole,
        Of::Flows,
        "the connection's slow start threshold: 65,535 until the first loss",
    ),
    (
        "srtt_ms",
        Kind::Number,
        Of::Flows,
        "the connection's smoothed round-trip time (RFC 6298); empty before the first measurement",
    ),
    (
        "rto_ms",
        Kind::Number,
        Of::Flows,
        "the connection's retransmission timeout, backoff included",
    ),
    (
        "in_flight_bytes",
        Kind::Whole,
        Of::Flows,
        "bytes in the network (RFC 9937 §6.2)",
    ),
    (
        "queue_datagrams",
        Kind::Whole,
        Of::Nodes,
        "datagrams that are queued, being sent or being reassembled",
    ),
    (
        "radio_off_share",
        Kind::Number,
        Of::Nodes,
        "share of the time since the previous row, 0 to 1, in which the radio was switched off by \
         a fault",
    ),
    (
        "radio_sleep_share",
        Kind::Number,
        Of::Nodes,
        "share of the time since the previous row in which the radio was asleep",
    ),
    (
        "radio_idle_share",
        Kind::Number,
        Of::Nodes,
        "share of the time since the previous row in which the radio was neither asleep nor listening",
    ),
    (
        "radio_listen_share",
        Kind::Number,
        Of::Nodes,
        "share of the time since the previous row in which the radio was listening to an idle channel",
    ),
    (
        "radio_receive_share",
        Kind::Number,
        Of::Nodes,
        "share of the time since the previous row in which the radio was receiving a frame",
    ),
    (
        "radio_transmit_share",
        Kind::Number,
        Of::Nodes,
        "share of the time since the previous row in which the radio was sending, turnarounds included",
    ),
    (
        "charge_mc",
        Kind::Number,
        Of::Nodes,
        "charge used by radio and processor, in millicoulombs (mA·s)",
    ),
    (
        "current_interval_ma",
        Kind::Number,
        Of::Nodes,
        "mean current since the previous row",
    ),
    (
        "frames_sent",
        Kind::Whole,
        Of::Nodes,
        "frames that the MAC sent, including retransmissions",
    ),
    (
        "frame_retries",
        Kind::Whole,
        Of::Nodes,
        "retransmissions among the frames that the MAC sent",
    ),
    (
        "collisions",
        Kind::Whole,
        Of::Nodes,
        "frames for this node that were destroyed by other frames",
    ),
];

/// Makes the rows of a run's series.
#[derive(Clone, Debug)]
pub struct Sampler {
    every: Duration,
    next: Instant,
    before: Option<Sample>,
}

/// Writes a run's series.
pub struct Series<W: Write + Send> {
    writer: Writer<W>,
    sampler: Sampler,
    /// Rows that are not written yet.
    rows: Vec<Row>,
}

impl<W: Write + Send> Series<W> {
    /// Begins the series of a run that has not begun, with rows `every` so often.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn new(
        out: W,
        format: Format,
        world: &World,
        every: Duration,
    ) -> Result<Series<W>, WriteError> {
        let columns = COLUMNS.iter();
        let columns = columns.map(|(name, kind, ..)| Column::new(name, *kind));
        let scenario = world.scenario();
        let mut notes = vec![
            ("redpoll.scenario", scenario.name.clone()),
            ("redpoll.seed", scenario.seed.to_string()),
            ("redpoll.interval_s", seconds(every).to_string()),
        ];
        notes.extend(
            COLUMNS
                .iter()
                .map(|(name, _, _, what)| (*name, (*what).to_owned())),
        );
        Ok(Series {
            writer: Writer::new(out, format, columns.collect(), &notes)?,
            sampler: Sampler::new(every),
            rows: Vec::new(),
        })
    }

    /// When the next rows are due: a run stops there, and calls [`look`](Self::look).
    pub fn next(&self) -> Instant {
        self.sampler.next()
    }

    /// Takes down how everything is, if it is time.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn look(&mut self, world: &World) -> Result<(), WriteError> {
        self.sampler.look(world, &mut self.rows);
        self.write()
    }

    /// Takes down how everything is at the end, and finishes the table.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(mut self, world: &World) -> Result<(), WriteError> {
        self.sampler.end(world, &mut self.rows);
        self.write()?;
        self.writer.finish()
    }

    fn write(&mut self) -> Result<(), WriteError> {
        let mut rows = self.rows.drain(..);
        rows.try_for_each(|row| self.writer.row(row))
    }
}

impl Sampler {
    /// Of a run that has not begun, with rows `every` so often.
    pub fn new(every: Duration) -> Sampler {
        Sampler {
            every,
            next: Instant::ZERO,
            before: None,
        }
    }

    /// When the next rows are due.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// How everything is, if it is time.
    pub fn look(&mut self, world: &World, rows: &mut Vec<Row>) {
        if world.now() >= self.next {
            while self.next <= world.now() {
                self.next += self.every;
            }
            self.take(world, rows);
        }
    }

    /// How everything is at the end.
    pub fn end(&mut self, world: &World, rows: &mut Vec<Row>) {
        let before = self.before.as_ref();
        if before.is_none_or(|before| before.at < world.now()) {
            self.take(world, rows);
        }
    }

    fn take(&mut self, world: &World, rows: &mut Vec<Row>) {
        let sample = world.live_sample();
        let before = self.before.as_ref();
        for (at, names) in world.flows().enumerate() {
            rows.push(flow(&sample, before, at, names));
        }
        for (at, node) in sample.nodes.iter().enumerate() {
            let before = before.and_then(|it| Some((it.nodes.get(at)?, sample.at.since(it.at))));
            let name = &world.scenario().nodes[at].name;
            let mut row = head(&sample, "node", name);
            row.resize(place("queue_datagrams"), None);
            row.extend(of_node(node, before));
            rows.push(row);
        }
        self.before = Some(sample);
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e6
}

fn place(column: &str) -> usize {
    let place = COLUMNS.iter().position(|(name, ..)| *name == column);
    place.unwrap_or(COLUMNS.len())
}

fn head(sample: &Sample, kind: &str, name: &str) -> Row {
    vec![
        Some(Cell::Number(seconds(sample.at.since(Instant::ZERO)))),
        Some(Cell::Text(kind.to_owned())),
        Some(Cell::Text(name.to_owned())),
    ]
}

fn whole(number: impl Into<u64>) -> Option<Cell> {
    Some(Cell::Whole(
        i64::try_from(number.into()).unwrap_or(i64::MAX),
    ))
}

fn flow(sample: &Sample, before: Option<&Sample>, at: usize, names: (&str, &str, &str)) -> Row {
    let (name, from, to) = names;
    let now = sample.flows.get(at).copied().unwrap_or_default();
    let goodput = before.map(|before| {
        let delivered = before.flows.get(at).map_or(0, |flow| flow.delivered);
        let bits = now.delivered.saturating_sub(delivered) as f64 * 8.0;
        bits / 1e3 / seconds(sample.at.since(before.at))
    });
    let is_sender = |conn: &&ConnectionSample| conn.flow == Some((at as u32, FlowEnd::Sender));
    let sender = sample.connections.iter().find(is_sender);
    let again = &now.retransmissions;
    let mut row = head(sample, "flow", name);
    row.extend([
        Some(Cell::Text(from.to_owned())),
        Some(Cell::Text(to.to_owned())),
        whole(now.delivered),
        goodput.map(Cell::Number),
        whole(now.sent),
        whole(again.rto),
        whole(again.fast),
        whole(again.link_lost),
        whole(again.path_mtu),
        whole(again.tail),
        whole(again.probe),
        sender.and_then(|conn| whole(conn.cwnd)),
        sender.and_then(|conn| whole(conn.ssthresh)),
        sender.and_then(|conn| conn.srtt_ms).map(Cell::Number),
        sender.map(|conn| Cell::Number(conn.rto_ms)),
        sender.and_then(|conn| whole(conn.in_flight)),
    ]);
    row.resize(COLUMNS.len(), None);
    row
}

/// What follows the columns of flows; `before` is how it was, and how long ago.
fn of_node(node: &NodeSample, before: Option<(&NodeSample, Duration)>) -> Row {
    let share = |states: &[RadioState]| {
        let (before, passed) = before?;
        let spent = states.iter().map(|state| {
            let (now, before) = (node.spent(*state), before.spent(*state));
            now.as_micros().saturating_sub(before.as_micros()) as f64
        });
        Some(Cell::Number(spent.sum::<f64>() / passed.as_micros() as f64))
    };
    let current = before.map(|(before, passed)| {
        Cell::Number((node.charge_mc - before.charge_mc) / seconds(passed))
    });
    vec![
        whole(node.queued),
        share(&[RadioState::Off]),
        share(&[RadioState::Sleep]),
        share(&[RadioState::Idle]),
        share(&[RadioState::Listen]),
        share(&[RadioState::Receive]),
        share(&[RadioState::Transmit, RadioState::Turnaround]),
        Some(Cell::Number(node.charge_mc)),
        current,
        whole(node.sent),
        whole(node.retries),
        whole(node.collisions),
    ]
}

/// The columns as a table of a document in Markdown.
pub fn reference() -> String {
    let rows = COLUMNS.iter().map(|(name, _, of, what)| {
        let of = match of {
            Of::All => "",
            Of::Flows => "flow",
            Of::Nodes => "node",
        };
        format!("| `{name}` | {of} | {what} |\n")
    });
    let head = "| column | of | what |\n| --- | --- | --- |\n".to_owned();
    head + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_document_has_the_columns() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.md");
        let text = std::fs::read_to_string(path).unwrap();
        let table = super::reference();
        if std::env::var_os("REDPOLL_BLESS").is_some() {
            let begin = text.find("| column | of |").unwrap();
            let end = begin + text[begin..].find("\n\n").unwrap() + 1;
            std::fs::write(path, text.replace(&text[begin..end], &table)).unwrap();
        } else {
            assert!(text.contains(&table), "REDPOLL_BLESS=1 refreshes it");
        }
    }
}
