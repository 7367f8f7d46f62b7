//! Favours: relaxed comparisons, each used only for a script that does not pass without it.
//!
//! A relaxed comparison is kept if the script passes with it, or fails at a later line than without
//! it.

use super::adapt::Adapted;
use super::script::Line;
use super::suite::Suite;

pub struct Favour {
    pub name: &'static str,
    pub reason: &'static str,
    /// Changes the script so that the line with this number, which does not compare equal, is
    /// compared less strictly. Returns whether the script changed.
    pub apply: fn(&mut Adapted, usize) -> bool,
}

pub const FAVOURS: [Favour; 6] = [
    Favour {
        name: "windows",
        reason: "From the first window that differs, the windows that the library announces are not compared. \
                 The size of the window is the receiver's choice (RFC 9293 §3.8.6).",
        apply: windows,
    },
    Favour {
        name: "PSH",
        reason: "PSH on data follows the library, which sets it when the send buffer becomes empty. \
                 RFC 9293 §3.9.1.2, MAY-15: a TCP endpoint MAY implement PUSH flags on SEND calls.",
        apply: push,
    },
    Favour {
        name: "repeated FIN",
        reason: "In a simultaneous close, FreeBSD repeats its FIN to acknowledge the peer's FIN. \
                 RFC 9293 §3.10.7.4, eighth step: the ACK has SEQ=SND.NXT.",
        apply: simultaneous_close,
    },
    Favour {
        name: "ACKs not delayed after a loss",
        reason: "After a gap, the library acknowledges 16 segments one by one, while FreeBSD delays \
                 ACKs again. RFC 5681 §4.2 asks for an ACK for at least \
                 every second full-sized segment, so more ACKs are permitted.",
        apply: no_delay,
    },
    Favour {
        name: "data of a SYN",
        reason: "In a simultaneous open, the library acknowledges the data of the peer's SYN when the \
                 handshake ends. FreeBSD delays this ACK. RFC 5681 §4.2 asks for an ACK for at least \
                 every second full-sized segment, so more ACKs are permitted.",
        apply: text_of_a_syn,
    },
    Favour {
        name: "immediate ACKs",
        reason: "The library acknowledges every segment immediately (`ack_every=1`), as Linux does \
                 at the start of a connection. RFC 5681 §4.2 asks for an ACK for at least \
                 every second full-sized segment, so more ACKs are permitted.",
        apply: at_once,
    },
];

fn windows(adapted: &mut Adapted, line: usize) -> bool {
    let mut changed = false;
    for line in adapted.script.lines.iter_mut().skip(line) {
        if let Line::Packet(packet) = line
            && packet.sent
        {
            changed |= packet.window.take().is_some();
        }
    }
    changed
}

fn push(adapted: &mut Adapted, line: usize) -> bool {
    let Some(Line::Packet(packet)) = adapted.script.lines.get_mut(line) else {
        return false;
    };
    if !packet.sent || packet.length().is_none_or(|bytes| bytes == 0) || packet.has('S') {
        return false;
    }
    packet.flags = if packet.has('P') {
        packet.flags.replace('P', "")
    } else {
        format!("P{}", packet.flags)
    };
    true
}

fn simultaneous_close(adapted: &mut Adapted, line: usize) -> bool {
    let Some(Line::Packet(packet)) = adapted.script.lines.get(line) else {
        return false;
    };
    let earlier = adapted.script.lines[..line].iter().any(|earlier| {
        matches!(earlier, Line::Packet(other)
            if other.sent && other.has('F') && other.sequence == packet.sequence)
    });
    if adapted.suite != Suite::FreeBsd || !earlier || packet.flags != "F." {
        return false;
    }
    let Some(Line::Packet(packet)) = adapted.script.lines.get_mut(line) else {
        return false;
    };
    let Some(first) = packet.first() else {
        return false;
    };
    packet.flags = ".".to_owned();
    packet.move_to(first.wrapping_add(1));
    true
}

/// Returns the number of the last line before `line` with a segment of the stack.
fn sent_before(adapted: &Adapted, line: usize) -> Option<usize> {
    let lines = adapted.script.lines.get(..line)?;
    let sent = |line: &Line| matches!(line, Line::Packet(packet) if packet.sent);
    lines.iter().rposition(sent)
}

/// Returns the numbers of the lines with text from the peer after the line `from` and before `to`.
fn texts(adapted: &Adapted, from: usize, to: usize) -> Vec<usize> {
    let has_text = |number: &usize| {
        matches!(&adapted.script.lines[*number], Line::Packet(packet)
            if !packet.sent && packet.length().is_some_and(|bytes| bytes > 0))
    };
    (from..to).filter(has_text).collect()
}

fn no_delay(adapted: &mut Adapted, line: usize) -> bool {
    if adapted.suite != Suite::FreeBsd {
        return false;
    }
    let lines = &mut adapted.script.lines;
    let selective = lines[..line.min(lines.len())]
        .iter()
        .any(|line| match line {
            Line::Packet(packet) => packet.sent && packet.text().contains("sack "),
            Line::Other(text) => text.contains("sack "),
        });
    let Some(Line::Packet(packet)) = lines.get_mut(line) else {
        return false;
    };
    if !selective || !packet.sent || packet.flags != "." {
        return false;
    }
    if packet.when == "+0.04" {
        packet.when = "+0.00".to_owned();
        return true;
    }
    let mut own = packet.clone();
    let Some(earlier) = sent_before(adapted, line) else {
        return false;
    };
    let texts = texts(adapted, earlier, line);
    let (Some(first), true) = (texts.first(), texts.len() > 1) else {
        return false;
    };
    let Line::Packet(text) = &adapted.script.lines[*first] else {
        return false;
    };
    own.ack = text.last().map(|end| end.to_string());
    own.options = None;
    let both = format!("{} {}", text.text(), own.text());
    adapted.script.lines[*first] = Line::Other(both);
    true
}

fn text_of_a_syn(adapted: &mut Adapted, line: usize) -> bool {
    let lines = &mut adapted.script.lines;
    let crossed = lines.iter().any(|line| {
        matches!(line, Line::Packet(packet)
            if !packet.sent && packet.has('S') && packet.length().is_some_and(|n| n > 0))
    });
    let Some(Line::Packet(packet)) = lines.get(line) else {
        return false;
    };
    if adapted.suite != Suite::FreeBsd || !crossed || packet.flags != "F." {
        return false;
    }
    let mut own = packet.clone();
    own.flags = ".".to_owned();
    lines[line] = Line::Other(format!("{} {}", own.text(), packet.text()));
    true
}

fn at_once(adapted: &mut Adapted, _: usize) -> bool {
    let flag = "ack_every=1".to_owned();
    if adapted.suite != Suite::Linux || adapted.flags.contains(&flag) {
        return false;
    }
    adapted.flags.push(flag);
    true
}
