//! Connectivity of a testbed in the K7 format, as the 6TiSCH simulator reads it: a line of JSON
//! that describes the measurement, a line with the names of the columns, and a row for each
//! measurement of a directed link on a channel: time, sender, receiver, channel, mean RSSI in dBm,
//! share of frames received, frames sent.
//!
//! A link without received frames has no row. The rows of one sender and channel at one time form a
//! measurement, and nodes without a row received nothing. Rows of one sender within
//! [`MEASUREMENT_GAP`] belong to one measurement.

use std::collections::BTreeMap;
use std::io::BufRead;

use redpoll_base::Duration;

use super::lines::{FileError, Lines};
use crate::name::is_name;

pub const MOST_ROWS: usize = 4_000_000;
pub const MOST_NODES: usize = 1_000;
/// Time between rows of one sender and channel below which they belong to one measurement: 100
/// frames take 10 s, and the sender's next measurement is hours later.
const MEASUREMENT_GAP: Duration = Duration::from_secs(60);

/// Assumed power of a record without received frames, because the actual power is unknown.
const SILENCE_DBM: f64 = -130.0;

const COLUMNS: [&str; 7] = [
    "datetime",
    "src",
    "dst",
    "channel",
    "mean_rssi",
    "pdr",
    "tx_count",
];
const HEADER: &str = "one line of JSON with \"node_count\", a whole number, and \"channels\", a list of whole \
     numbers";

#[derive(Clone, PartialEq, Debug)]
pub struct K7 {
    pub nodes: Vec<String>,
    /// Directed links with received frames, in order of sender and receiver.
    pub links: Vec<K7Link>,
    /// Time of the last measurement, since the first row of the file.
    pub length: Duration,
}

#[derive(Clone, PartialEq, Debug)]
pub struct K7Link {
    pub from: usize,
    pub to: usize,
    /// Records of the sender's measurements, in order of time. The first record also applies before
    /// its time.
    pub records: Vec<Record>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Record {
    /// Time since the first row of the file.
    pub at: Duration,
    /// Mean power of the frames received, in dBm.
    pub rssi_dbm: f64,
    /// Share of frames received, 0 to 1.
    pub pdr: f64,
}

impl K7 {
    /// Reads the text in `reader`, and keeps the rows of `channel`.
    pub fn read(reader: impl BufRead, channel: u8) -> Result<K7, FileError> {
        let mut lines = Lines::new(reader);
        let header = Header::read(&mut lines)?;
        if !header.channels.contains(&channel) {
            let problem = format!(
                "the file has no channel {channel}; allowed: {}",
                shown(&header.channels)
            );
            return Err(FileError::new(1, 1, problem));
        }
        columns(&mut lines)?;
        let mut reading = Reading {
            header,
            nodes: BTreeMap::new(),
            names: Vec::new(),
            named: Vec::new(),
            rows: Vec::new(),
            earliest: u64::MAX,
        };
        let mut rows = 0;
        loop {
            let number = lines.number() + 1;
            let Some(line) = lines.next()? else { break };
            if line.is_empty() {
                continue;
            }
            rows += 1;
            if rows > MOST_ROWS {
                let problem =
                    format!("got more than {MOST_ROWS} rows; allowed: at most {MOST_ROWS}");
                return Err(FileError::new(number, 1, problem));
            }
            reading.row(&Row { number, line }, channel)?;
        }
        if reading.rows.is_empty() {
            let problem =
                format!("the file has no row of channel {channel}; allowed: at least one");
            return Err(FileError::new(lines.number(), 1, problem));
        }
        let k7 = reading.finish();
        debug_assert!(k7.is_consistent());
        Ok(k7)
    }

    /// Returns whether links have two known nodes, and ordered records with shares from 0 to 1.
    fn is_consistent(&self) -> bool {
        let is_good = |link: &K7Link| {
            let records = &link.records;
            link.from != link.to
                && link.from.max(link.to) < self.nodes.len()
                && !records.is_empty()
                && records.windows(2).all(|pair| pair[0].at < pair[1].at)
                && records.iter().all(|it| (0.0..=1.0).contains(&it.pdr))
        };
        !self.links.is_empty() && self.links.iter().all(is_good)
    }
}

struct Header {
    node_count: usize,
    channels: Vec<u8>,
}

impl Header {
    fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Header, FileError> {
        let line = lines.next()?.unwrap_or_default();
        let refuse = |column: usize, got: String| {
            Err(FileError::new(
                1,
                column.max(1),
                format!("got {got}; allowed: {HEADER}"),
            ))
        };
        let value: serde_json::Value = match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => return refuse(error.column(), format!("invalid JSON ({error})")),
        };
        let count = value.get("node_count").and_then(serde_json::Value::as_u64);
        let Some(count) = count else {
            return refuse(1, "a header without \"node_count\"".to_owned());
        };
        if count == 0 || count > MOST_NODES as u64 {
            let problem =
                format!("got {count} nodes; allowed: a node_count from 1 to {MOST_NODES}");
            return Err(FileError::new(1, 1, problem));
        }
        let listed = value.get("channels").and_then(serde_json::Value::as_array);
        let channels = listed.map(|listed| {
            let number = |channel: &serde_json::Value| u8::try_from(channel.as_u64()?).ok();
            listed.iter().map(number).collect::<Option<Vec<u8>>>()
        });
        match channels {
            Some(Some(channels)) => Ok(Header {
                node_count: count as usize,
                channels,
            }),
            Some(None) => refuse(
                1,
                "\"channels\" that are not whole numbers up to 255".to_owned(),
            ),
            None => refuse(1, "a header without \"channels\"".to_owned()),
        }
    }
}

fn columns<R: BufRead>(lines: &mut Lines<R>) -> Result<(), FileError> {
    let line = lines.next()?.unwrap_or_default();
    let mut column = 1;
    let mut given = line.split(',');
    for expected in COLUMNS {
        match given.next() {
            Some(name) if name.trim() == expected => column += name.len() + 1,
            other => {
                let got = other.map_or("nothing".to_owned(), |name| format!("\"{name}\""));
                let problem = format!(
                    "got {got} where the column {expected} should be; allowed: {}",
                    COLUMNS.join(",")
                );
                return Err(FileError::new(2, column.min(line.len() + 1), problem));
            }
        }
    }
    match given.next() {
        None => Ok(()),
        Some(more) => {
            let problem = format!(
                "got the extra column \"{more}\"; allowed: {}",
                COLUMNS.join(",")
            );
            Err(FileError::new(2, column, problem))
        }
    }
}

struct Row<'a> {
    number: usize,
    line: &'a str,
}

impl<'a> Row<'a> {
    /// Returns the values, each with the column at which it begins.
    fn fields(&self) -> Result<[(usize, &'a str); COLUMNS.len()], FileError> {
        let mut fields = [(0, ""); COLUMNS.len()];
        let mut column = 1;
        let mut given = self.line.split(',');
        for (index, field) in fields.iter_mut().enumerate() {
            let Some(text) = given.next() else {
                let problem = format!(
                    "got {index} values, the value of {} is missing; allowed: {}",
                    COLUMNS[index],
                    COLUMNS.join(",")
                );
                return Err(FileError::new(self.number, self.line.len() + 1, problem));
            };
            *field = (column, text.trim());
            column += text.len() + 1;
        }
        match given.next() {
            None => Ok(fields),
            Some(_) => {
                let problem = format!(
                    "got more than {} values; allowed: {}",
                    COLUMNS.len(),
                    COLUMNS.join(",")
                );
                Err(FileError::new(self.number, column, problem))
            }
        }
    }

    fn refuse(&self, (column, text): (usize, &str), index: usize, allowed: &str) -> FileError {
        let problem = format!(
            "{}: got \"{}\"; allowed: {allowed}",
            COLUMNS[index],
            shortened(text)
        );
        FileError::new(self.number, column, problem)
    }

    fn number(
        &self,
        field: (usize, &str),
        index: usize,
        (min, max): (f64, f64),
    ) -> Result<f64, FileError> {
        match field.1.parse::<f64>() {
            Ok(value) if value >= min && value <= max => Ok(value),
            _ => Err(self.refuse(field, index, &format!("a number from {min} to {max}"))),
        }
    }
}

struct Kept {
    /// Microseconds since the year 0.
    at: u64,
    from: usize,
    to: usize,
    rssi_dbm: f64,
    pdr: f64,
}

/// Content of the rows so far.
struct Reading {
    header: Header,
    nodes: BTreeMap<String, usize>,
    names: Vec<String>,
    /// For each name, the number of its rows and the line of its first row. If there are too many
    /// names, the rarest name is probably wrong.
    named: Vec<(u32, usize)>,
    rows: Vec<Kept>,
    /// Time of the first row of any channel.
    earliest: u64,
}

impl Reading {
    fn row(&mut self, row: &Row<'_>, channel: u8) -> Result<(), FileError> {
        let [datetime, src, dst, on, rssi, pdr, count] = row.fields()?;
        let Some(at) = microseconds(datetime.1) else {
            let allowed = "a date and time such as 2018-01-11T16:32:22.0";
            return Err(row.refuse(datetime, 0, allowed));
        };
        self.earliest = self.earliest.min(at);
        // A row over all neighbours or all channels is not a link.
        let is_link = !(src.1.is_empty() || dst.1.is_empty() || on.1.is_empty());
        let rssi_dbm = row.number(rssi, 4, (-130.0, 30.0))?;
        let share = row.number(pdr, 5, (0.0, 1.0))?;
        if !count.1.is_empty() && count.1.parse::<u32>().is_err() {
            return Err(row.refuse(count, 6, "a whole number"));
        }
        if !is_link {
            return Ok(());
        }
        let from = self.node(row, src, 1)?;
        let to = self.node(row, dst, 2)?;
        if from == to {
            return Err(row.refuse(dst, 2, "a node other than src"));
        }
        match on.1.parse::<u8>() {
            Ok(on) if on == channel => self.rows.push(Kept {
                at,
                from,
                to,
                rssi_dbm,
                pdr: share,
            }),
            Ok(on) if self.header.channels.contains(&on) => {}
            _ => {
                let allowed = format!("the header's channels, {}", shown(&self.header.channels));
                return Err(row.refuse(on, 3, &allowed));
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        row: &Row<'_>,
        field: (usize, &str),
        index: usize,
    ) -> Result<usize, FileError> {
        if let Some(known) = self.nodes.get(field.1) {
            self.named[*known].0 += 1;
            return Ok(*known);
        }
        if !is_name(field.1) {
            return Err(row.refuse(field, index, "a word of letters, digits, - and _"));
        }
        if self.names.len() >= self.header.node_count {
            let count = self.header.node_count;
            let rarest = (0..self.named.len()).min_by_key(|node| self.named[*node].0);
            let rarest = rarest.map_or(String::new(), |node| {
                let (rows, line) = self.named[node];
                let name = shortened(&self.names[node]);
                format!(
                    "; check the spelling: the rarest name so far is \"{name}\" (rows: \
                         {rows}, first in line {line})"
                )
            });
            let allowed = format!(
                "at most {count} different nodes (the header's node_count); this name is one too \
                 many{rarest}"
            );
            return Err(row.refuse(field, index, &allowed));
        }
        self.nodes.insert(field.1.to_owned(), self.names.len());
        self.names.push(field.1.to_owned());
        self.named.push((1, row.number));
        Ok(self.names.len() - 1)
    }

    fn finish(mut self) -> K7 {
        // Names that are numbers come first, in order, then words.
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|&node| {
            let name = &self.names[node];
            (name.parse::<u64>().unwrap_or(u64::MAX), name.clone())
        });
        let mut place = vec![0; order.len()];
        for (index, &node) in order.iter().enumerate() {
            place[node] = index;
        }
        for row in &mut self.rows {
            (row.from, row.to) = (place[row.from], place[row.to]);
            row.at -= self.earliest;
        }
        self.rows.sort_by_key(|row| (row.from, row.at));
        let mut links = Vec::new();
        for of_sender in self.rows.chunk_by(|a, b| a.from == b.from) {
            links.extend(links_of(of_sender));
        }
        links.sort_by_key(|link| (link.from, link.to));
        let latest = self.rows.iter().map(|row| row.at).max();
        K7 {
            length: Duration::from_micros(latest.unwrap_or_default()),
            nodes: order.iter().map(|&node| self.names[node].clone()).collect(),
            links,
        }
    }
}

/// Returns the links of one sender, whose rows are in order of time.
fn links_of(rows: &[Kept]) -> Vec<K7Link> {
    let gap = MEASUREMENT_GAP.as_micros();
    let measurements: Vec<&[Kept]> = rows.chunk_by(|a, b| b.at - a.at < gap).collect();
    let at = |number: usize| Duration::from_micros(measurements[number][0].at);
    let silence = |number: usize| Record {
        at: at(number),
        rssi_dbm: SILENCE_DBM,
        pdr: 0.0,
    };
    // Each receiver's link, with the measurement of its latest record.
    let mut links: BTreeMap<usize, (K7Link, usize)> = BTreeMap::new();
    for (number, measurement) in measurements.iter().enumerate() {
        for row in *measurement {
            let (link, latest) = links.entry(row.to).or_insert_with(|| {
                let (from, to) = (row.from, row.to);
                let records = match number {
                    0 => Vec::new(),
                    _ => vec![silence(0)],
                };
                (K7Link { from, to, records }, number)
            });
            if number > *latest + 1 {
                link.records.push(silence(*latest + 1));
            } else if number == *latest
                && link
                    .records
                    .last()
                    .is_some_and(|last| last.at == at(number))
            {
                // If a measurement contains a link twice, the later row counts.
                link.records.pop();
            }
            *latest = number;
            link.records.push(Record {
                at: at(number),
                rssi_dbm: row.rssi_dbm,
                pdr: row.pdr,
            });
        }
    }
    let end = measurements.len();
    let links = links.into_values().map(|(mut link, latest)| {
        if latest + 1 < end {
            link.records.push(silence(latest + 1));
        }
        link
    });
    links.collect()
}

/// Converts an ISO 8601 date and time (`T` or a space between them) to µs since the year 0.
fn microseconds(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let number = |text: &str, digits: usize| -> Option<u64> {
        let fits = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse().ok())?
    };
    let mut date = date.split('-');
    let (year, month, day) = (
        number(date.next()?, 4)?,
        number(date.next()?, 2)?,
        number(date.next()?, 2)?,
    );
    let mut time = time.strip_suffix('Z').unwrap_or(time).split(':');
    let (hour, minute) = (number(time.next()?, 2)?, number(time.next()?, 2)?);
    let seconds = time.next()?;
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let second = number(whole, 2)?;
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    let in_range = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if date.next().is_some() || time.next().is_some() || !in_range {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    let seconds = (days * 24 + hour) * 3_600 + minute * 60 + second;
    Some(seconds * 1_000_000 + fraction)
}

/// Returns the days from the beginning of the year 0 to that of a month, in the Gregorian calendar.
fn days_before(year: u64, month: u64) -> u64 {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let leap_years = year.div_ceil(4) - year.div_ceil(100) + year.div_ceil(400);
    let leap_day = u64::from(is_leap && month > 2);
    year * 365 + leap_years + BEFORE[(month - 1) as usize] + leap_day
}

fn shown(channels: &[u8]) -> String {
    let words: Vec<String> = channels.iter().map(u8::to_string).collect();
    words.join(", ")
}

/// Returns the beginning of a text from a file, for a message.
fn shortened(text: &str) -> String {
    text.chars()
        .take(40)
        .flat_map(char::escape_default)
        .collect()
}

#[cfg(test)]
mod tests;
