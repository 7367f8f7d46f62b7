//! Parser of scripts into lists of events.

use redpoll_base::Ecn;

use super::Failure;
use super::scan::{Scan, Unreadable};
use super::segment::{FAST_OPEN, Opt, Options, Segment, Value};
use super::symbols;
use crate::Errno;

#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) flags: String,
    pub(super) tolerance_us: Option<u64>,
    pub(super) ipv4: bool,
    pub(super) events: Vec<Event>,
}

#[derive(Debug)]
pub(super) struct Event {
    pub(super) line: usize,
    pub(super) when: When,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    At(Moment),
    Between(Moment, Moment),
    /// Start and end time of a blocking call.
    Lasting(Moment, Moment),
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) relative: bool,
    pub(super) us: u64,
}

#[derive(Debug)]
pub(super) enum What {
    Inject(Segment),
    Expect(Segment),
    /// A destination-unreachable message: its code, and the relative sequence number of the sent
    /// segment that it concerns.
    Unreachable(u8, u32),
    Call(Call),
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) args: Vec<Arg>,
    pub(super) returns: Result<i64, Errno>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Arg {
    Dots,
    Number(i64),
    List(Vec<Arg>),
    Record(Vec<(String, Arg)>),
}

pub(super) fn script(text: &str) -> Result<Script, Failure> {
    let mut script = Script::default();
    for (index, line) in without_comments(text).lines().enumerate() {
        let fail = |message| Failure {
            line: index + 1,
            message,
        };
        let mut scan = Scan::new(line);
        if scan.is_at_end() {
            continue;
        }
        if scan.eat("--") {
            option(&mut script, &mut scan).map_err(fail)?;
            continue;
        }
        let (when, what) = event(&mut scan).map_err(fail)?;
        script.events.push(Event {
            line: index + 1,
            when,
            what,
        });
    }
    Ok(script)
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['/', '#']) {
        let (before, comment) = rest.split_at(at);
        out.push_str(before);
        let len = if comment.starts_with("/*") {
            comment.find("*/").map_or(comment.len(), |end| end + 2)
        } else if comment.starts_with("//") || comment.starts_with('#') {
            comment.find('\n').unwrap_or(comment.len())
        } else {
            out.push('/');
            rest = &comment[1..];
            continue;
        };
        out.extend(comment[..len].chars().filter(|c| *c == '\n'));
        rest = &comment[len..];
    }
    out + rest
}

fn option(script: &mut Script, scan: &mut Scan<'_>) -> Result<(), Unreadable> {
    if !script.events.is_empty() {
        return Err("options must precede all events".into());
    }
    let name = scan.word().unwrap_or("");
    scan.expect("=")?;
    match name {
        "so_flags" => script.flags = scan.remainder().to_owned(),
        "tolerance_usecs" => script.tolerance_us = Some(scan.number()?),
        "ip_version" if scan.eat("ipv4") => script.ipv4 = true,
        "ip_version" if scan.eat("ipv6") => script.ipv4 = false,
        _ => {
            return Err(format!(
                "unknown option --{name}, or unknown value of this option"
            ));
        }
    }
    scan.end()
}

fn event(scan: &mut Scan<'_>) -> Result<(When, What), Unreadable> {
    let when = when(scan)?;
    let what = if scan.eat("<") {
        let ecn = ecn(scan)?;
        if scan.eat_word("icmp") {
            icmp(scan)?
        } else {
            What::Inject(segment(scan, ecn)?)
        }
    } else if scan.eat(">") {
        let ecn = ecn(scan)?;
        What::Expect(segment(scan, ecn)?)
    } else {
        What::Call(call(scan)?)
    };
    scan.end()?;
    match (when, &what) {
        (When::At(_), _) | (When::Lasting(..), What::Call(_)) => {}
        (When::Between(..) | When::Any, What::Expect(_)) => {}
        _ => {
            return Err(
                "this time is not possible for this event: TIME~TIME and * are only for \
                 expected packets, TIME...TIME only for calls"
                    .into(),
            );
        }
    }
    Ok((when, what))
}

fn when(scan: &mut Scan<'_>) -> Result<When, Unreadable> {
    if scan.eat("*") {
        return Ok(When::Any);
    }
    let from = moment(scan)?;
    if scan.eat("~") {
        return Ok(When::Between(from, moment(scan)?));
    }
    if scan.eat("...") {
        return Ok(When::Lasting(from, moment(scan)?));
    }
    Ok(When::At(from))
}

fn moment(scan: &mut Scan<'_>) -> Result<Moment, Unreadable> {
    let relative = scan.eat("+");
    let us = scan.seconds()?;
    Ok(Moment { relative, us })
}

fn ecn(scan: &mut Scan<'_>) -> Result<Option<Ecn>, Unreadable> {
    if !scan.eat("[") {
        return Ok(None);
    }
    let ecn = match scan.word() {
        Some("noecn") => Ecn::NotEct,
        Some("ect0") => Ecn::Ect0,
        Some("ect1") => Ecn::Ect1,
        Some("ce") => Ecn::Ce,
        _ => return Err("unknown ECN field; allowed: noecn, ect0, ect1, ce".into()),
    };
    scan.expect("]")?;
    Ok(Some(ecn))
}

fn icmp(scan: &mut Scan<'_>) -> Result<What, Unreadable> {
    let kinds = "unknown ICMP error; allowed: `unreachable` with no_route, \
                 admin_prohibited, address_unreachable or port_unreachable";
    if !scan.eat_word("unreachable") {
        return Err(kinds.into());
    }
    let code = match scan.word() {
        Some("no_route") => 0,
        Some("admin_prohibited") => 1,
        Some("address_unreachable") => 3,
        Some("port_unreachable") => 4,
        _ => return Err(kinds.into()),
    };
    scan.expect("[")?;
    let (seq, _) = range(scan)?;
    scan.expect("]")?;
    Ok(What::Unreachable(code, seq))
}

/// Parses `1:101(100)`: the first sequence number and the length.
fn range(scan: &mut Scan<'_>) -> Result<(u32, u32), Unreadable> {
    let start: u32 = scan.number()?;
    scan.expect(":")?;
    let end: u32 = scan.number()?;
    scan.expect("(")?;
    let len: u32 = scan.number()?;
    scan.expect(")")?;
    if start.wrapping_add(len) != end {
        return Err(format!("{start}:{end} is not {len} bytes long"));
    }
    Ok((start, len))
}

fn segment(scan: &mut Scan<'_>, ecn: Option<Ecn>) -> Result<Segment, Unreadable> {
    let names = scan.take(|c| "SFRPEWU.-".contains(c));
    let flags = names.ok_or("the flags of the segment are missing")?;
    let mut bits = 0;
    for flag in flags.chars() {
        bits |= match flag {
            'F' => 0x01,
            'S' => 0x02,
            'R' => 0x04,
            'P' => 0x08,
            '.' => 0x10,
            'U' => 0x20,
            'E' => 0x40,
            'W' => 0x80,
            _ => 0,
        };
    }
    let (seq, len) = range(scan)?;
    let mut segment = Segment {
        ecn,
        flags: bits,
        seq,
        len,
        ack: None,
        win: None,
        options: Options::Exactly(Vec::new()),
    };
    if scan.eat_word("ack") {
        segment.ack = Some(scan.number()?);
    }
    if segment.ack.is_some() != (bits & 0x10 != 0) {
        return Err("the flag `.` and an `ack` must be used together".into());
    }
    if scan.eat_word("win") {
        segment.win = Some(scan.number()?);
    }
    if scan.eat("<") {
        segment.options = options(scan)?;
    }
    Ok(segment)
}

fn options(scan: &mut Scan<'_>) -> Result<Options, Unreadable> {
    let mut list = Vec::new();
    loop {
        if scan.eat("...") {
            scan.expect(">")?;
            return Ok(Options::Begins(list));
        }
        let value = |scan: &mut Scan<'_>| {
            if scan.eat("*") {
                return Ok(Value::Any);
            }
            scan.number().map(Value::Is)
        };
        let option = match scan.word() {
            Some("mss") => Opt::Mss(scan.number()?),
            Some("wscale") => Opt::WindowScale(scan.number()?),
            Some("sackOK") => Opt::SackPermitted,
            Some("nop") => Opt::Nop,
            Some("eol") => Opt::End,
            Some("TS") => {
                let mut part = |name| {
                    if !scan.eat_word(name) {
                        return Err(format!("`{name}` is missing in TS"));
                    }
                    value(scan)
                };
                Opt::Timestamps(part("val")?, part("ecr")?)
            }
            Some("sack") => {
                let mut blocks = Vec::new();
                while !(scan.clone().eat(",") || scan.clone().eat(">")) {
                    let start = scan.number()?;
                    scan.expect(":")?;
                    blocks.push((start, scan.number()?));
                }
                Opt::Sack(blocks)
            }
            Some("FO") => Opt::Other(FAST_OPEN, bytes(scan)?),
            other => return Err(format!("unknown option {}", other.unwrap_or("?"))),
        };
        list.push(option);
        if !scan.eat(",") {
            scan.expect(">")?;
            return Ok(Options::Exactly(list));
        }
    }
}

fn bytes(scan: &mut Scan<'_>) -> Result<Vec<u8>, Unreadable> {
    let digits = scan.word().unwrap_or("");
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok()?;
        (pair.len() == 2).then(|| u8::from_str_radix(text, 16).ok())?
    });
    let bytes: Option<Vec<u8>> = pairs.collect();
    bytes.ok_or_else(|| format!("`{digits}` must consist of pairs of hexadecimal digits"))
}

fn call(scan: &mut Scan<'_>) -> Result<Call, Unreadable> {
    let name = scan
        .word()
        .ok_or("the line has neither a packet nor a call")?
        .to_owned();
    scan.expect("(")?;
    let args = list(scan, ")")?;
    scan.expect("=")?;
    let value: i64 = scan.number()?;
    let returns = match (value, scan.is_at_end()) {
        (-1, true) => {
            return Err(
                "a call that returns -1 needs the name of its error, such as EAGAIN".into(),
            );
        }
        (-1, false) => {
            let name = scan.word().unwrap_or("");
            Err(Errno::named(name).ok_or_else(|| format!("unknown error {name}"))?)
        }
        _ => Ok(value),
    };
    // Skip the meaning of the error number in parentheses.
    if scan.eat("(") {
        scan.remainder();
    }
    Ok(Call {
        name,
        args,
        returns,
    })
}

fn list(scan: &mut Scan<'_>, close: &str) -> Result<Vec<Arg>, Unreadable> {
    let mut args = Vec::new();
    if scan.eat(close) {
        return Ok(args);
    }
    loop {
        args.push(arg(scan)?);
        if !scan.eat(",") {
            scan.expect(close)?;
            return Ok(args);
        }
    }
}

fn arg(scan: &mut Scan<'_>) -> Result<Arg, Unreadable> {
    if scan.eat("...") {
        return Ok(Arg::Dots);
    }
    if scan.eat("[") {
        return list(scan, "]").map(Arg::List);
    }
    if scan.eat("{") {
        let mut fields = Vec::new();
        loop {
            let name = scan.word().ok_or("a field's name is missing")?;
            scan.expect("=")?;
            fields.push((name.to_owned(), arg(scan)?));
            if !scan.eat(",") {
                scan.expect("}")?;
                return Ok(Arg::Record(fields));
            }
        }
    }
    let mut value = 0;
    loop {
        let mut ahead = scan.clone();
        value |= match ahead.word().and_then(symbols::value) {
            Some(symbol) => {
                *scan = ahead;
                symbol
            }
            None => scan.number()?,
        };
        if !scan.eat("|") {
            return Ok(Arg::Number(value));
        }
    }
}
