//! RPL control messages (RFC 6550 §6).

use super::nd::truncated;
use crate::layer::{Bytes, Layer, hex};

/// The bit of a code that marks secure messages (RFC 6550 §6.1).
const SECURE: u8 = 0x80;

/// Adds the fields after the checksum; `None` if the message is truncated.
pub(super) fn message(code: u8, mut input: Bytes<'_>, layer: &mut Layer) -> Option<()> {
    layer.say("RPL");
    if code & SECURE != 0 {
        security(&mut input, layer)?;
    }
    match code & !SECURE {
        0 => {
            layer.say("DIS");
            let flags = input.u8()?;
            layer.hex("icmpv6.rpl.dis.flags", flags, 2);
            input.u8()?;
        }
        1 => information(&mut input, layer)?,
        2 => {
            layer.say("DAO");
            let (instance, flags) = (input.u8()?, input.u8()?);
            input.u8()?;
            let sequence = input.u8()?;
            layer.number("icmpv6.rpl.dao.instance", instance);
            layer.flag("icmpv6.rpl.dao.flag.k", flags & 0x80 != 0);
            layer.flag("icmpv6.rpl.dao.flag.d", flags & 0x40 != 0);
            layer.number("icmpv6.rpl.dao.sequence", sequence);
            layer.say(format!("instance {instance} seq {sequence}"));
            if flags & 0x40 != 0 {
                layer.addr("icmpv6.rpl.dao.dodagid", input.addr()?);
            }
        }
        3 => {
            layer.say("DAO-ACK");
            let (instance, flags) = (input.u8()?, input.u8()?);
            let (sequence, status) = (input.u8()?, input.u8()?);
            layer.number("icmpv6.rpl.daoack.instance", instance);
            layer.flag("icmpv6.rpl.daoack.flag.d", flags & 0x80 != 0);
            layer.number("icmpv6.rpl.daoack.sequence", sequence);
            layer.number("icmpv6.rpl.daoack.status", status);
            layer.say(format!(
                "instance {instance} seq {sequence} status {status}"
            ));
            if flags & 0x80 != 0 {
                layer.addr("icmpv6.rpl.daoack.dodagid", input.addr()?);
            }
        }
        other => {
            layer.say(format!("code {other}"));
            return Some(());
        }
    }
    options(input, layer)
}

/// Adds a DIO (RFC 6550 §6.3.1).
fn information(input: &mut Bytes<'_>, layer: &mut Layer) -> Option<()> {
    layer.say("DIO");
    let (instance, version, rank) = (input.u8()?, input.u8()?, input.u16()?);
    let (flags, dtsn) = (input.u8()?, input.u8()?);
    input.u16()?;
    let dodag = input.addr()?;
    let mode = flags >> 3 & 0b111;
    layer.number("icmpv6.rpl.dio.instance", instance);
    layer.number("icmpv6.rpl.dio.version", version);
    layer.number("icmpv6.rpl.dio.rank", rank);
    layer.flag("icmpv6.rpl.dio.flag.g", flags & 0x80 != 0);
    layer.hex("icmpv6.rpl.dio.flag.mop", mode, 2);
    layer.number("icmpv6.rpl.dio.flag.preference", flags & 0b111);
    layer.number("icmpv6.rpl.dio.dtsn", dtsn);
    layer.addr("icmpv6.rpl.dio.dagid", dodag);
    layer.say(format!(
        "DODAG {dodag} instance {instance} version {version} rank {rank} MOP {mode}"
    ));
    Some(())
}

/// Adds the security section of secure messages (RFC 6550 §6.1).
fn security(input: &mut Bytes<'_>, layer: &mut Layer) -> Option<()> {
    layer.say("secure");
    let (flags, algorithm, mode) = (input.u8()?, input.u8()?, input.u8()?);
    input.u8()?;
    let counter = input.u32()?;
    layer.flag("icmpv6.rpl.secure.flag.t", flags & 0x80 != 0);
    layer.number("icmpv6.rpl.secure.algorithm", algorithm);
    layer.number("icmpv6.rpl.secure.kim", mode >> 6);
    layer.number("icmpv6.rpl.secure.lvl", mode & 0b111);
    layer.number("icmpv6.rpl.secure.counter", counter);
    // RFC 6550 §6.1, figure 9: the key identifier mode (KIM) determines the key fields.
    let source_len = match mode >> 6 {
        2 => 8,
        _ => 0,
    };
    if source_len > 0 {
        layer.bytes("icmpv6.rpl.secure.key.source", input.take(source_len)?);
    }
    if mode >> 6 != 1 {
        layer.number("icmpv6.rpl.secure.key.index", input.u8()?);
    }
    Some(())
}

fn options(mut input: Bytes<'_>, layer: &mut Layer) -> Option<()> {
    while let Some(kind) = input.u8() {
        layer.number("icmpv6.rpl.opt.type", kind);
        if kind == 0 {
            continue;
        }
        let len = input.u8()?;
        layer.number("icmpv6.rpl.opt.length", len);
        let content = input.take(len.into())?;
        if option(kind, content, layer).is_none() {
            layer.say("malformed option");
        }
    }
    Some(())
}

/// Adds the fields of an option (RFC 6550 §6.7); `None` if the option is truncated.
fn option(kind: u8, content: &[u8], layer: &mut Layer) -> Option<()> {
    let mut input = Bytes(content);
    match kind {
        1 => {}
        2 => metric(&mut input, layer)?,
        3 => {
            let (len, flags) = (input.u8()?, input.u8()?);
            let lifetime = input.u32()?;
            let prefix = truncated(input.0);
            layer.number("icmpv6.rpl.opt.route.prefix_length", len);
            layer.number("icmpv6.rpl.opt.route.pref", flags >> 3 & 0b11);
            layer.number("icmpv6.rpl.opt.route.lifetime", lifetime);
            layer.addr("icmpv6.rpl.opt.route.prefix", prefix);
            layer.say(format!("route {prefix}/{len}"));
        }
        4 => configuration(&mut input, layer)?,
        5 => {
            input.u8()?;
            let len = input.u8()?;
            let target = truncated(input.0);
            layer.number("icmpv6.rpl.opt.target.prefix_length", len);
            layer.addr("icmpv6.rpl.opt.target.prefix", target);
            layer.say(format!("target {target}/{len}"));
        }
        6 => {
            let flags = input.u8()?;
            let (control, sequence, lifetime) = (input.u8()?, input.u8()?, input.u8()?);
            layer.flag("icmpv6.rpl.opt.transit.flag.e", flags & 0x80 != 0);
            layer.number("icmpv6.rpl.opt.transit.pathctl", control);
            layer.number("icmpv6.rpl.opt.transit.pathseq", sequence);
            layer.number("icmpv6.rpl.opt.transit.pathlifetime", lifetime);
            layer.say(format!("path seq {sequence} lifetime {lifetime}"));
            if let Some(parent) = input.addr() {
                layer.addr("icmpv6.rpl.opt.transit.parent", parent);
                layer.say(format!("parent {parent}"));
            }
        }
        7 => {
            let (instance, flags) = (input.u8()?, input.u8()?);
            layer.number("icmpv6.rpl.opt.solicited.instance", instance);
            layer.flag("icmpv6.rpl.opt.solicited.flag.v", flags & 0x80 != 0);
            layer.flag("icmpv6.rpl.opt.solicited.flag.i", flags & 0x40 != 0);
            layer.flag("icmpv6.rpl.opt.solicited.flag.d", flags & 0x20 != 0);
            layer.addr("icmpv6.rpl.opt.solicited.dodagid", input.addr()?);
            layer.number("icmpv6.rpl.opt.solicited.version", input.u8()?);
        }
        8 => {
            let (len, flags) = (input.u8()?, input.u8()?);
            let (valid, preferred) = (input.u32()?, input.u32()?);
            input.u32()?;
            let prefix = input.addr()?;
            layer.number("icmpv6.rpl.opt.prefix.length", len);
            layer.flag("icmpv6.rpl.opt.prefix.flag.l", flags & 0x80 != 0);
            layer.flag("icmpv6.rpl.opt.config.flag.a", flags & 0x40 != 0);
            layer.flag("icmpv6.rpl.opt.config.flag.r", flags & 0x20 != 0);
            layer.number("icmpv6.rpl.opt.prefix.valid_lifetime", valid);
            layer.number("icmpv6.rpl.opt.prefix.preferred_lifetime", preferred);
            layer.addr("icmpv6.rpl.opt.prefix", prefix);
            layer.say(format!("prefix {prefix}/{len}"));
        }
        9 => layer.hex("icmpv6.rpl.opt.targetdesc.descriptor", input.u32()?, 8),
        other => layer.text("redpoll.rpl.option", format!("{other}: {}", hex(content))),
    }
    Some(())
}

/// Adds a DODAG Configuration option (RFC 6550 §6.7.6).
fn configuration(input: &mut Bytes<'_>, layer: &mut Layer) -> Option<()> {
    let flags = input.u8()?;
    layer.flag("icmpv6.rpl.opt.config.auth", flags & 0x08 != 0);
    layer.number("icmpv6.rpl.opt.config.pcs", flags & 0b111);
    layer.number("icmpv6.rpl.opt.config.interval_double", input.u8()?);
    layer.number("icmpv6.rpl.opt.config.interval_min", input.u8()?);
    layer.number("icmpv6.rpl.opt.config.redundancy", input.u8()?);
    layer.number("icmpv6.rpl.opt.config.max_rank_inc", input.u16()?);
    layer.number("icmpv6.rpl.opt.config.min_hop_rank_inc", input.u16()?);
    let objective = input.u16()?;
    layer.number("icmpv6.rpl.opt.config.ocp", objective);
    input.u8()?;
    layer.number("icmpv6.rpl.opt.config.def_lifetime", input.u8()?);
    layer.number("icmpv6.rpl.opt.config.lifetime_unit", input.u16()?);
    layer.say(format!("configuration, objective {objective}"));
    Some(())
}

/// Adds the metrics of a DAG Metric Container (RFC 6551 §2.1).
fn metric(input: &mut Bytes<'_>, layer: &mut Layer) -> Option<()> {
    while !input.0.is_empty() {
        let (kind, flags, len) = (input.u8()?, input.u16()?, input.u8()?);
        let mut object = Bytes(input.take(len.into())?);
        layer.number("icmpv6.rpl.opt.metric.type", kind);
        layer.flag("icmpv6.rpl.opt.metric.flag.p", flags & 1 << 10 != 0);
        layer.flag("icmpv6.rpl.opt.metric.flag.c", flags & 1 << 9 != 0);
        layer.flag("icmpv6.rpl.opt.metric.flag.o", flags & 1 << 8 != 0);
        layer.flag("icmpv6.rpl.opt.metric.flag.r", flags & 1 << 7 != 0);
        layer.number("icmpv6.rpl.opt.metric.flag.a", flags >> 4 & 0b111);
        layer.number("icmpv6.rpl.opt.metric.prec", flags & 0x0f);
        layer.number("icmpv6.rpl.opt.metric.length", len);
        match kind {
            7 => {
                let etx = object.u16()?;
                layer.number("icmpv6.rpl.opt.metric.etx.object.etx", etx);
                layer.say(format!("ETX {etx}"));
            }
            3 => layer.number("icmpv6.rpl.opt.metric.hp.object.hp", object.u16()? & 0xff),
            5 => layer.number("icmpv6.rpl.opt.metric.ll.object.ll", object.u32()?),
            4 => layer.number("icmpv6.rpl.opt.metric.lt.object.lt", object.u32()?),
            other => layer.text("redpoll.rpl.metric", format!("{other}: {}", hex(object.0))),
        }
    }
    Some(())
}
