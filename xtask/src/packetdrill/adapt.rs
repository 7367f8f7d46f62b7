//! The changes to every script before it runs, and their reasons.
//!
//! These rules replace features of Linux or FreeBSD in a script: addresses, settings and shell
//! commands. The rules that relax a comparison are in [`favours`](super::favours).

use super::script::{Line, Packet, Script};
use super::suite::Suite;

pub struct Rule {
    pub name: &'static str,
    pub reason: &'static str,
    apply: fn(&mut Adapted) -> bool,
}

/// A script with the changes for the library, as the tool runs it.
#[derive(Clone)]
pub struct Adapted {
    pub suite: Suite,
    pub script: Script,
    /// Flags for the library, `key=value`. Later flags override earlier ones.
    pub flags: Vec<String>,
}

/// The rules for the scripts of Linux and FreeBSD, in the order in which they apply.
pub const RULES: [Rule; 11] = [
    Rule {
        name: "addresses",
        reason: "All scripts run over IPv6 with an MTU of 1,500 bytes, or the smaller MTU that they set. The library's MSS is \
                 therefore 1,440 bytes instead of the 1,460 bytes of a script for IPv4.",
        apply: addresses,
    },
    Rule {
        name: "settings",
        reason: "Settings of the kernel become flags of the library (`ecn`, `rcvbuf`, `sndbuf`, \
                 `ts`, `delack`); other shell commands are removed.",
        apply: settings,
    },
    Rule {
        name: "`TCP_INFO`",
        reason: "Assertions about a kernel's `TCP_INFO` are removed: the tool reads it \
                 from the host's kernel.",
        apply: |adapted| adapted.script.assertions > 0,
    },
    Rule {
        name: "right edge",
        reason: "FreeBSD accepts 66,240 bytes although it announced 65,535. Segments at the right \
                 edge of the window are moved to the announced edge (RFC 9293 §3.10.7.4, first \
                 step).",
        apply: right_edge,
    },
    Rule {
        name: "receive buffer",
        reason: "FreeBSD rounds `SO_RCVBUF` up to a multiple of the MSS. The size of a buffer is \
                 the system's choice, so the assertions about `SO_RCVBUF` are removed.",
        apply: receive_buffer,
    },
    Rule {
        name: "send buffer",
        reason: "`SO_SNDBUF` of a connection becomes the flag `sndbuf`, doubled as in \
                 Linux, because the library has one size for all connections.",
        apply: send_buffer,
    },
    Rule {
        name: "listener's options",
        reason: "`TCP_FASTOPEN` and `TCP_MAXSEG` of a listener are set before `listen`, because the \
                 library refuses them later.",
        apply: before_listen,
    },
    Rule {
        name: "peer's window",
        reason: "The library does not offer window scaling (RFC 7323 §2.2), so the peer does not \
                 scale its windows either. The peer's windows are in bytes, at most 65,535.",
        apply: peers_window,
    },
    Rule {
        name: "options of SYNs",
        reason: "In an expected SYN, the options have the script's values, the library's order and \
                 no window scaling. The test compares MSS, SACK-permitted, timestamps and Fast \
                 Open.",
        apply: syn_options,
    },
    Rule {
        name: "`TCP_FASTOPEN`",
        reason: "Linux's `tcp_fastopen` can switch Fast Open on for all listeners. In the library it \
                 is an option of a socket, so `setsockopt` sets it before each `listen`.",
        apply: listener_fast_open,
    },
    Rule {
        name: "cookies",
        reason: "A server's cookie depends on its secret (RFC 7413 §4.1.2), so the library's \
                 cookie replaces Linux's.",
        apply: cookies,
    },
];

/// The library's cookie for the tool's address.
const OWN_COOKIE: &str = "29ca9a31c617e327";
/// The cookies of Linux for the scripts' addresses with the key of the suite, in addition to
/// those in a script's SYN-ACKs.
const LINUX_COOKIES: [&str; 3] = ["3021b9d889017eeb", "c1d1e9742a47a9bc", "TFO_COOKIE"];

/// Adapts a script; also returns the indices of the rules that changed it.
pub fn adapt(suite: Suite, text: &str) -> (Adapted, Vec<usize>) {
    let mut adapted = Adapted {
        suite,
        // FreeBSD's scripts contain variants for RFC 9293 (`STANDARD`) and for FreeBSD.
        script: Script::parse(text, &["STANDARD"]),
        flags: suite.flags().split(',').map(str::to_owned).collect(),
    };
    let mut changed = Vec::new();
    for (index, rule) in RULES.iter().enumerate() {
        if (rule.apply)(&mut adapted) {
            changed.push(index);
        }
    }
    (adapted, changed)
}

fn addresses(adapted: &mut Adapted) -> bool {
    let mut changed = false;
    for line in &mut adapted.script.lines {
        let Line::Other(text) = line else { continue };
        let option = text.trim_start();
        let ours = ["--ip_version", "--local_ip", "--remote_ip", "--mtu"];
        if ours.iter().any(|name| option.starts_with(name)) {
            changed |= !option.starts_with("--ip_version=ipv6");
            if let Some(mtu) = option.strip_prefix("--mtu=") {
                adapted.flags.push(format!("mtu={}", mtu.trim()));
            }
            text.clear();
        }
    }
    for packet in adapted.script.packets() {
        if !packet.sent || !packet.has('S') {
            continue;
        }
        if let Some(options) = &mut packet.options
            && options.contains("mss 1460")
        {
            *options = options.replace("mss 1460", "mss 1440");
            changed = true;
        }
    }
    changed
}

fn settings(adapted: &mut Adapted) -> bool {
    let first = adapted.script.line_with("socket(").unwrap_or(usize::MAX);
    let mut flags = Vec::new();
    for (line, command) in &adapted.script.commands {
        let words = command.split([' ', '\n', '\t', '\\']);
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            let name = name.rsplit(['/', '.']).next().unwrap_or(name);
            let wide = name == "enable" && command.contains("ecn.enable");
            let flag = match name {
                "rfc1323" | "tcp_timestamps" => "ts",
                "recvspace" => "rcvbuf",
                "sendspace" => "sndbuf",
                "delacktime" => "delack",
                "tcp_ecn" => "ecn",
                _ if wide => "ecn",
                _ => continue,
            };
            // Settings after the first socket restore the host for its next test.
            if *line < first {
                flags.push(format!("{flag}={value}"));
            }
        }
    }
    adapted.flags.append(&mut flags);
    !adapted.script.commands.is_empty()
}

fn receive_buffer(adapted: &mut Adapted) -> bool {
    if adapted.suite != Suite::FreeBsd {
        return false;
    }
    let mut changed = false;
    for line in &mut adapted.script.lines {
        if buffer_size(line).is_some_and(|bytes| bytes != 65_536) {
            *line = Line::Other(String::new());
            changed = true;
        }
    }
    changed
}

/// Returns the size in an assertion about `SO_RCVBUF`.
fn buffer_size(line: &Line) -> Option<u32> {
    let Line::Other(text) = line else { return None };
    let (_, size) = text
        .split_once("getsockopt(")?
        .1
        .split_once("SO_RCVBUF, [")?;
    size.split_once(']')?.0.parse().ok()
}

fn send_buffer(adapted: &mut Adapted) -> bool {
    if adapted.suite != Suite::Linux {
        return false;
    }
    let mut changed = false;
    for line in &mut adapted.script.lines {
        let Line::Other(text) = line else { continue };
        let call = text.split_once("setsockopt(").map_or("", |(_, call)| call);
        let size = call.split_once("SO_SNDBUF, [").and_then(|(_, size)| {
            let digits = size.trim_start().split_once(']')?.0;
            digits.parse::<u32>().ok()
        });
        if let Some(size) = size {
            adapted.flags.push(format!("sndbuf={}", size * 2));
            text.clear();
            changed = true;
        }
    }
    changed
}

fn before_listen(adapted: &mut Adapted) -> bool {
    if adapted.suite != Suite::Linux {
        return false;
    }
    let mut changed = false;
    let mut listens: Option<usize> = None;
    for number in 0..adapted.script.lines.len() {
        let Line::Other(text) = &adapted.script.lines[number] else {
            continue;
        };
        let late = ["TCP_FASTOPEN,", "TCP_MAXSEG,"];
        if text.contains("listen(") {
            listens = Some(number);
        } else if text.contains("setsockopt(")
            && late.iter().any(|option| text.contains(option))
            && let Some(listen) = listens.take()
        {
            adapted.script.lines.swap(listen, number);
            changed = true;
        }
    }
    changed
}

fn peers_window(adapted: &mut Adapted) -> bool {
    let mut changed = false;
    let mut shift = 0;
    for packet in adapted.script.packets().filter(|packet| !packet.sent) {
        if packet.has('S') {
            let list = packet.option_list();
            let scale = list
                .iter()
                .find_map(|option| option.strip_prefix("wscale "));
            shift = scale.and_then(|scale| scale.parse().ok()).unwrap_or(0);
        } else if let Some(window) = &mut packet.window
            && let Ok(units) = window.parse::<u32>()
        {
            let bytes = (units << shift).min(65_535);
            changed |= bytes != units;
            *window = bytes.to_string();
        }
    }
    changed
}

/// Writes the options of the library's SYNs in the library's order. Returns whether the script
/// changed.
fn syn_options(adapted: &mut Adapted) -> bool {
    let mut changed = false;
    for packet in adapted.script.packets() {
        if packet.sent && packet.has('S') && packet.options.as_deref() != Some("...") {
            let own = own_order(packet);
            changed |= packet.options.as_deref() != Some(&own);
            packet.options = Some(own);
        }
    }
    changed
}

/// Returns the options of a SYN in the library's order.
fn own_order(packet: &Packet) -> String {
    let list = packet.option_list();
    let find = |prefix: &str| {
        let found = list.iter().find(|option| option.starts_with(prefix));
        found.map(|option| (*option).to_owned())
    };
    let mut own: Vec<String> = find("mss").into_iter().collect();
    let stamps = find("TS val");
    own.extend(find("sackOK").map(|option| match stamps {
        Some(_) => option,
        None => format!("nop,nop,{option}"),
    }));
    own.extend(stamps);
    own.extend(find("FO").map(|option| {
        let kind = if option.starts_with("FOEXP") { 4 } else { 2 };
        let cookie = option
            .split_once(' ')
            .map_or(0, |(_, cookie)| cookie.len() / 2);
        // Two no-operation options precede the Fast Open option, and end-of-list options follow it.
        let ends = ",eol".repeat((2usize.wrapping_sub(kind + cookie)) % 4);
        format!("nop,nop,{option}{ends}")
    }));
    own.join(",")
}

fn right_edge(adapted: &mut Adapted) -> bool {
    if adapted.suite != Suite::FreeBsd {
        return false;
    }
    let mut changed = false;
    // `beyond`: bytes that FreeBSD accepts beyond the library's window. `ended`: 1 after a FIN of
    // the tool, which takes one sequence number.
    let (mut beyond, mut ended) = (0, 0);
    for line in &mut adapted.script.lines {
        beyond = buffer_size(line).map_or(beyond, |bytes| bytes.saturating_sub(65_536));
        let Line::Packet(packet) = line else { continue };
        let Some(first) = packet.first().filter(|_| !packet.sent) else {
            continue;
        };
        if beyond > 0 && (65_536..100_000).contains(&first) {
            packet.move_to(first - beyond - 1 - ended);
            changed = true;
        } else if packet.has('F') {
            ended = 1;
        }
    }
    changed
}

fn listener_fast_open(adapted: &mut Adapted) -> bool {
    if adapted.suite != Suite::Linux {
        return false;
    }
    let script = &mut adapted.script;
    let offered = |line: &Line| {
        let Line::Packet(packet) = line else {
            return false;
        };
        let list = packet.option_list();
        !packet.sent && packet.flags == "S" && list.iter().any(|option| option.starts_with("FO"))
    };
    if !script.lines.iter().any(offered) || script.line_with("TCP_FASTOPEN").is_some() {
        return false;
    }
    let mut changed = false;
    for number in 0..script.lines.len() {
        let before = script.commands.iter().filter(|(line, _)| *line <= number);
        let mut settings = before.filter_map(|(_, command)| command.split_once("tcp_fastopen="));
        let last = settings
            .next_back()
            .map_or(LISTENERS, |(_, value)| number_in(value));
        let Line::Other(text) = &mut script.lines[number] else {
            continue;
        };
        if last & LISTENERS != 0
            && let Some((_, call)) = text.split_once("listen(")
        {
            let socket = call.split(',').next().unwrap_or_default();
            *text =
                format!("+0 setsockopt({socket}, IPPROTO_TCP, TCP_FASTOPEN, [5], 4) = 0 {text}");
            changed = true;
        }
    }
    changed
}

/// Bit of `net.ipv4.tcp_fastopen` with which listeners need no socket option of their own.
const LISTENERS: u32 = 0x400;

/// Returns the hexadecimal or decimal number at the start of `text`.
fn number_in(text: &str) -> u32 {
    let text = text.trim_start_matches('"');
    let digits = |text: &str, radix| {
        let end = text
            .find(|c: char| !c.is_digit(radix))
            .unwrap_or(text.len());
        u32::from_str_radix(&text[..end], radix).unwrap_or(0)
    };
    match text.strip_prefix("0x") {
        Some(text) => digits(text, 16),
        None => digits(text, 10),
    }
}

fn cookies(adapted: &mut Adapted) -> bool {
    if adapted.suite != Suite::Linux {
        return false;
    }
    let mut given: Vec<String> = LINUX_COOKIES.map(str::to_owned).into();
    for packet in adapted.script.packets() {
        let list = packet.option_list();
        let offered = list.iter().find_map(|option| option.strip_prefix("FO "));
        if packet.sent && packet.flags == "S." {
            given.extend(offered.map(str::to_owned));
        }
    }
    let mut changed = false;
    for packet in adapted.script.packets() {
        let Some(options) = &mut packet.options else {
            continue;
        };
        for cookie in &given {
            if options.contains(cookie) && cookie != OWN_COOKIE {
                *options = options.replace(cookie, OWN_COOKIE);
                changed = true;
            }
        }
    }
    changed
}
