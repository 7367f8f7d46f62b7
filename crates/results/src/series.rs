//! A series: flows and nodes over time, as a table with a row for each of them at every sample. It
//! has the facts that the live view shows ([`redpoll_sim::live`]).
//!
//! Counters count from the start of the run. Columns with `_interval` in their names, and the
//! shares of the radio's states, cover the time since the previous row.

use std::io::Write;

use redpoll_base::{Duration, Instant};
use redpoll_sim::live::{ConnectionSample, NodeSample, Sample};
use redpoll_sim::{FlowEnd, RadioState, World};

use crate::table::{Cell, CellType, Column, Format, Row, WriteError, Writer};

/// The rows that have a value in a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowsOf {
    All,
    Flows,
    Nodes,
}

/// The columns: name, type, rows with a value, and description.
pub const COLUMNS: &[(&str, CellType, RowsOf, &str)] = &[
    (
        "t_s",
        CellType::Number,
        RowsOf::All,
        "virtual time since the beginning of the run",
    ),
    ("kind", CellType::Text, RowsOf::All, "`flow` or `node`"),
    (
        "name",
        CellType::Text,
        RowsOf::All,
        "name of the flow or node",
    ),
    ("from", CellType::Text, RowsOf::Flows, "the sending node"),
    ("to", CellType::Text, RowsOf::Flows, "the receiving node"),
    (
        "delivered_bytes",
        CellType::Whole,
        RowsOf::Flows,
        "payload that has arrived",
    ),
    (
        "goodput_interval_kbps",
        CellType::Number,
        RowsOf::Flows,
        "goodput since the previous row, in 1000 bit/s",
    ),
    (
        "segments_sent",
        CellType::Whole,
        RowsOf::Flows,
        "segments with payload, datagrams or messages sent, retransmissions included",
    ),
    (
        "retransmissions_rto",
        CellType::Whole,
        RowsOf::Flows,
        "retransmitted segments: after a timeout",
    ),
    (
        "retransmissions_fast",
        CellType::Whole,
        RowsOf::Flows,
        "retransmitted segments: by fast retransmit and fast recovery",
    ),
    (
        "retransmissions_link_lost",
        CellType::Whole,
        RowsOf::Flows,
        "retransmitted segments: after the link had reported the segment lost",
    ),
    (
        "retransmissions_path_mtu",
        CellType::Whole,
        RowsOf::Flows,
        "retransmitted segments: after the path MTU had shrunk",
    ),
    (
        "retransmissions_tail",
        CellType::Whole,
        RowsOf::Flows,
        "retransmitted segments: as tail loss probes",
    ),
    (
        "retransmissions_probe",
        CellType::Whole,
        RowsOf::Flows,
        "retransmitted segments: to probe a closed window",
    ),
    (
        "cwnd_bytes",
        CellType::Whole,
        RowsOf::Flows,
        "the sender's congestion window (RFC 5681); this column and the next four have \
         values only while the flow's sender has a connection of Redpoll's TCP",
    ),
    (
        "ssthresh_bytes",
        CellType::Whole,
        RowsOf::Flows,
        "the connection's slow start threshold: 65,535 until the first loss",
    ),
    (
        "srtt_ms",
        CellType::Number,
        RowsOf::Flows,
        "the connection's smoothed round-trip time (RFC 6298); empty before the first measurement",
    ),
    (
        "rto_ms",
        CellType::Number,
        RowsOf::Flows,
        "the connection's retransmission timeout, backoff included",
    ),
    (
        "in_flight_bytes",
        CellType::Whole,
        RowsOf::Flows,
        "estimate of the connection's bytes in the network (RFC 9937 §6.2)",
    ),
    (
        "queue_datagrams",
        CellType::Whole,
        RowsOf::Nodes,
        "datagrams that are queued, being sent or being reassembled",
    ),
    (
        "radio_off_share",
        CellType::Number,
        RowsOf::Nodes,
        "share of the time since the previous row, 0 to 1, in which the radio was switched off by \
         a fault",
    ),
    (
        "radio_sleep_share",
        CellType::Number,
        RowsOf::Nodes,
        "share of the time since the previous row in which the radio was asleep",
    ),
    (
        "radio_idle_share",
        CellType::Number,
        RowsOf::Nodes,
        "share of the time since the previous row in which the radio was idle: its oscillator was on, and it neither listened nor received nor transmitted",
    ),
    (
        "radio_listen_share",
        CellType::Number,
        RowsOf::Nodes,
        "share of the time since the previous row in which the radio was listening to an idle channel",
    ),
    (
        "radio_receive_share",
        CellType::Number,
        RowsOf::Nodes,
        "share of the time since the previous row in which the radio was receiving a frame",
    ),
    (
        "radio_transmit_share",
        CellType::Number,
        RowsOf::Nodes,
        "share of the time since the previous row in which the radio was sending, turnarounds included",
    ),
    (
        "charge_mc",
        CellType::Number,
        RowsOf::Nodes,
        "charge used by radio and processor since the start of the run, in millicoulombs (mA·s)",
    ),
    (
        "current_interval_ma",
        CellType::Number,
        RowsOf::Nodes,
        "mean current of radio and processor since the previous row, in milliamperes",
    ),
    (
        "frames_sent",
        CellType::Whole,
        RowsOf::Nodes,
        "frames that the MAC sent, including retransmissions",
    ),
    (
        "frame_retries",
        CellType::Whole,
        RowsOf::Nodes,
        "retransmissions among the frames that the MAC sent",
    ),
    (
        "collisions",
        CellType::Whole,
        RowsOf::Nodes,
        "frames for this node that collided with other frames and were destroyed",
    ),
];

#[derive(Clone, Debug)]
pub struct Sampler {
    every: Duration,
    next: Instant,
    before: Option<Sample>,
}

pub struct Series<W: Write + Send> {
    writer: Writer<W>,
    sampler: Sampler,
    rows: Vec<Row>,
}

impl<W: Write + Send> Series<W> {
    /// Starts the series of a run before its first event, with rows at the interval `every`.
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

    /// Returns the time of the next rows. The run stops there and calls [`look`](Self::look).
    pub fn next(&self) -> Instant {
        self.sampler.next()
    }

    pub fn look(&mut self, world: &World) -> Result<(), WriteError> {
        self.sampler.look(world, &mut self.rows);
        self.write()
    }

    /// Samples all flows and nodes at the end, and completes the table.
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
    /// Returns a sampler for a run before its first event, with rows at the interval `every`.
    pub fn new(every: Duration) -> Sampler {
        Sampler {
            every,
            next: Instant::ZERO,
            before: None,
        }
    }

    pub fn next(&self) -> Instant {
        self.next
    }

    pub fn look(&mut self, world: &World, rows: &mut Vec<Row>) {
        if world.now() >= self.next {
            while self.next <= world.now() {
                self.next += self.every;
            }
            self.take(world, rows);
        }
    }

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

/// Returns the cells of the columns of nodes. `before` is the previous sample and its age.
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

pub fn reference() -> String {
    let rows = COLUMNS.iter().map(|(name, _, of, what)| {
        let of = match of {
            RowsOf::All => "both kinds",
            RowsOf::Flows => "flows",
            RowsOf::Nodes => "nodes",
        };
        format!("| `{name}` | {of} | {what} |\n")
    });
    let head = "| column | in rows of | meaning |\n| --- | --- | --- |\n".to_owned();
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
            let begin = text.find("| column | in rows of |").unwrap();
            let end = begin + text[begin..].find("\n\n").unwrap() + 1;
            std::fs::write(path, text.replace(&text[begin..end], &table)).unwrap();
        } else {
            assert!(text.contains(&table), "REDPOLL_BLESS=1 refreshes it");
        }
    }
}
