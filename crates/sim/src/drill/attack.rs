//! What attackers do, each at a bounded rate.

use serde::Serialize;

use super::scene::Mesh;
use super::scene::Target::{self, Border, Leaf, Router, SleepyLeaf};

/// From where an attacker works.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// From beyond the border router, by packets.
    Host,
    /// From within range of the nodes' radios, by frames.
    Air,
}

/// What an attacker does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    SynFlood,
    SilentHandshakes,
    Slowloris,
    SlowReaders,
    AddressScan,
    ForgedResets,
    ForgedAcks,
    ForgedIcmp,
    CoapAmplification,
    UnfinishedUploads,
    EchoFlood,
    ClosedPorts,
    GarbageFrames,
    DataRequests,
    FirstFragments,
    RecoverableFirsts,
    Registrations,
    Reports,
    Replays,
    AirEchoFlood,
    AirResets,
    SealedReplays,
    SealedEchoFlood,
    RplDios,
    RplSolicitations,
    RplDaos,
    RplSourceRoutes,
    RplForgedDao,
    RplFullTable,
    SpoofedSources,
    OutsideRoutes,
    OutsideTunnels,
    TrickleReaders,
}

/// An attack and the nodes on which it is tried.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// What tables and options call it.
    pub name: &'static str,
    /// From where it comes.
    pub side: Side,
    /// Packets or frames in a second, answers to answers not counted.
    pub per_s: u32,
    /// What is sent.
    pub what: &'static str,
    /// Whom it is tried on.
    pub targets: &'static [Target],
    pub(super) kind: Kind,
}

impl Attack {
    /// How the attacked mesh works.
    pub(super) fn mesh(&self) -> Mesh {
        match self.kind {
            Kind::RecoverableFirsts => Mesh::Recovering,
            Kind::RplDios
            | Kind::RplSolicitations
            | Kind::RplDaos
            | Kind::RplSourceRoutes
            | Kind::RplForgedDao
            | Kind::RplFullTable
            | Kind::OutsideRoutes
            | Kind::OutsideTunnels => Mesh::Rpl,
            Kind::SealedReplays | Kind::SealedEchoFlood => Mesh::Sealed,
            _ => Mesh::Plain,
        }
    }
}

const ENDS: &[Target] = &[Border, Leaf, SleepyLeaf];
const BEHIND: &[Target] = &[Leaf, SleepyLeaf];
const ROUTERS: &[Target] = &[Router, SleepyLeaf];
const PASSED: &[Target] = &[Router, Leaf];
const AWAKE: &[Target] = &[Border, Router, Leaf];

const fn from_host(
    kind: Kind,
    name: &'static str,
    per_s: u32,
    targets: &'static [Target],
    what: &'static str,
) -> Attack {
    Attack {
        name,
        side: Side::Host,
        per_s,
        what,
        targets,
        kind,
    }
}

const fn from_air(
    kind: Kind,
    name: &'static str,
    per_s: u32,
    targets: &'static [Target],
    what: &'static str,
) -> Attack {
    Attack {
        side: Side::Air,
        ..from_host(kind, name, per_s, targets, what)
    }
}

/// Every attack of the drill.
pub const ATTACKS: [Attack; 33] = [
    from_host(
        Kind::SynFlood,
        "syn-flood",
        5,
        &Target::ALL,
        "SYNs from addresses that nobody has",
    ),
    from_host(
        Kind::SilentHandshakes,
        "silent-handshakes",
        1,
        &Target::ALL,
        "handshakes that are completed, and nothing behind them",
    ),
    from_host(
        Kind::Slowloris,
        "slowloris",
        2,
        &Target::ALL,
        "requests that go on a byte at a time",
    ),
    from_host(
        Kind::SlowReaders,
        "slow-readers",
        1,
        &Target::ALL,
        "requests whose answers nobody takes",
    ),
    from_host(
        Kind::AddressScan,
        "address-scan",
        10,
        &Target::ALL,
        "packets to addresses that nobody has",
    ),
    from_host(
        Kind::ForgedResets,
        "forged-resets",
        5,
        BEHIND,
        "resets in the honest peer's name, numbers guessed",
    ),
    from_host(
        Kind::ForgedAcks,
        "forged-acks",
        5,
        BEHIND,
        "acknowledgments and old text in the honest peer's name, numbers guessed",
    ),
    from_host(
        Kind::ForgedIcmp,
        "forged-icmp",
        5,
        BEHIND,
        "errors about the honest flow: unreachable, too big, out of time",
    ),
    from_host(
        Kind::CoapAmplification,
        "coap-amplification",
        2,
        &Target::ALL,
        "CoAP requests in the names of others",
    ),
    from_host(
        Kind::UnfinishedUploads,
        "unfinished-uploads",
        2,
        &Target::ALL,
        "first blocks of uploads to CoAP servers",
    ),
    from_host(
        Kind::EchoFlood,
        "echo-flood",
        5,
        &Target::ALL,
        "echo requests of 64 bytes",
    ),
    from_host(
        Kind::ClosedPorts,
        "closed-ports",
        5,
        &Target::ALL,
        "datagrams to ports where nobody listens",
    ),
    from_air(
        Kind::GarbageFrames,
        "garbage-frames",
        10,
        AWAKE,
        "frames with anything in them, from any address",
    ),
    from_air(
        Kind::DataRequests,
        "data-requests",
        10,
        ROUTERS,
        "data requests in the names of the neighbours and of others",
    ),
    from_air(
        Kind::FirstFragments,
        "first-fragments",
        10,
        AWAKE,
        "first fragments of datagrams that never end (RFC 4944), from any address",
    ),
    from_air(
        Kind::RecoverableFirsts,
        "recoverable-fragments",
        5,
        AWAKE,
        "first fragments that can be recovered (RFC 8931), from any address",
    ),
    from_air(
        Kind::Registrations,
        "registrations",
        5,
        ROUTERS,
        "registrations of the leaf's and of other addresses (NS with EARO)",
    ),
    from_air(
        Kind::Reports,
        "reports",
        5,
        ROUTERS,
        "reports of such registrations (DAR)",
    ),
    from_air(
        Kind::Replays,
        "replays",
        5,
        &Target::ALL,
        "frames that were heard, again",
    ),
    from_air(
        Kind::AirEchoFlood,
        "air-echo-flood",
        5,
        AWAKE,
        "echo requests over one hop, from any address",
    ),
    from_air(
        Kind::AirResets,
        "air-resets",
        5,
        ENDS,
        "resets and acknowledgments of the honest flow, numbers guessed, over one hop",
    ),
    from_air(
        Kind::SealedReplays,
        "sealed-replays",
        5,
        &Target::ALL,
        "frames that were heard, again, where frames are secured",
    ),
    from_air(
        Kind::SealedEchoFlood,
        "sealed-echo-flood",
        5,
        AWAKE,
        "echo requests over one hop without the key, where frames are secured",
    ),
    from_air(
        Kind::RplDios,
        "rpl-dios",
        5,
        AWAKE,
        "DIOs with falling ranks and invented versions, from any address (RFC 6550)",
    ),
    from_air(
        Kind::RplSolicitations,
        "rpl-solicitations",
        5,
        AWAKE,
        "DISs to everybody, from any address",
    ),
    from_air(
        Kind::RplDaos,
        "rpl-daos",
        5,
        AWAKE,
        "DAOs about targets that nobody has, and No-Paths about the leaf, from any address",
    ),
    from_air(
        Kind::RplSourceRoutes,
        "rpl-source-routes",
        5,
        AWAKE,
        "source routes back and forth between router and leaf (RFC 6554)",
    ),
    from_air(
        Kind::RplForgedDao,
        "rpl-forged-dao",
        1,
        PASSED,
        "DAOs that put the leaf behind a neighbour that does not exist",
    ),
    from_air(
        Kind::RplFullTable,
        "rpl-full-table",
        5,
        PASSED,
        "DAOs of fifteen neighbours that do not exist, for ever, about targets that do not",
    ),
    from_air(
        Kind::SpoofedSources,
        "spoofed-sources",
        5,
        PASSED,
        "packets to the host in its own name and in those of others, from any address",
    ),
    from_host(
        Kind::OutsideRoutes,
        "outside-routes",
        5,
        PASSED,
        "source routes from outside the mesh (RFC 6554)",
    ),
    from_host(
        Kind::OutsideTunnels,
        "outside-tunnels",
        5,
        PASSED,
        "packets in packets from outside the mesh (RFC 2473)",
    ),
    from_host(
        Kind::TrickleReaders,
        "trickle-readers",
        1,
        &Target::ALL,
        "requests whose answers are taken 600 bytes in some seconds",
    ),
];
