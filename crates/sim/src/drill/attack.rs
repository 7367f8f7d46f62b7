//! Attacks, each with a limited rate.

use serde::Serialize;

use super::scene::Mesh;
use super::scene::Target::{self, Border, Leaf, Router, SleepyLeaf};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Beyond the border router, with packets.
    Host,
    /// Within radio range of the nodes, with frames.
    Air,
}

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
    NonStoringDios,
    NonStoringDaos,
    NonStoringParents,
    NonStoringHosts,
    NonStoringTable,
    NonStoringRoutes,
    SpoofedSources,
    OutsideRoutes,
    OutsideTunnels,
    TrickleReaders,
}

#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// Name in tables and options.
    pub name: &'static str,
    pub side: Side,
    /// Packets or frames per second, without replies to replies.
    pub per_s: u32,
    /// Description of its traffic.
    pub what: &'static str,
    pub targets: &'static [Target],
    pub(super) kind: Kind,
}

impl Attack {
    /// Returns the configuration of the attacked mesh.
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
            Kind::NonStoringDios
            | Kind::NonStoringDaos
            | Kind::NonStoringParents
            | Kind::NonStoringHosts
            | Kind::NonStoringTable
            | Kind::NonStoringRoutes => Mesh::NonStoring,
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
pub const ATTACKS: [Attack; 39] = [
    from_host(
        Kind::SynFlood,
        "syn-flood",
        5,
        &Target::ALL,
        "SYNs from unused addresses",
    ),
    from_host(
        Kind::SilentHandshakes,
        "silent-handshakes",
        1,
        &Target::ALL,
        "handshakes that are completed, and then send no data",
    ),
    from_host(
        Kind::Slowloris,
        "slowloris",
        2,
        &Target::ALL,
        "requests that are sent one byte at a time",
    ),
    from_host(
        Kind::SlowReaders,
        "slow-readers",
        1,
        &Target::ALL,
        "requests of clients that never read the answers",
    ),
    from_host(
        Kind::AddressScan,
        "address-scan",
        10,
        &Target::ALL,
        "packets to unused addresses",
    ),
    from_host(
        Kind::ForgedResets,
        "forged-resets",
        5,
        BEHIND,
        "TCP resets with the honest peer's address and guessed sequence numbers",
    ),
    from_host(
        Kind::ForgedAcks,
        "forged-acks",
        5,
        BEHIND,
        "TCP acknowledgments and old data with the honest peer's address and guessed sequence \
         numbers",
    ),
    from_host(
        Kind::ForgedIcmp,
        "forged-icmp",
        5,
        BEHIND,
        "ICMPv6 errors about the honest flow: unreachable, packet too big, time exceeded",
    ),
    from_host(
        Kind::CoapAmplification,
        "coap-amplification",
        2,
        &Target::ALL,
        "CoAP requests with other nodes' addresses",
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
        "datagrams to closed UDP ports",
    ),
    from_air(
        Kind::GarbageFrames,
        "garbage-frames",
        10,
        AWAKE,
        "frames with random content, from any address",
    ),
    from_air(
        Kind::DataRequests,
        "data-requests",
        10,
        ROUTERS,
        "data requests with the addresses of neighbours and other nodes",
    ),
    from_air(
        Kind::FirstFragments,
        "first-fragments",
        10,
        AWAKE,
        "first fragments of datagrams whose other fragments never follow (RFC 4944), from any \
         address",
    ),
    from_air(
        Kind::RecoverableFirsts,
        "recoverable-fragments",
        5,
        AWAKE,
        "first recoverable fragments (RFC 8931) of datagrams, from any address",
    ),
    from_air(
        Kind::Registrations,
        "registrations",
        5,
        ROUTERS,
        "registrations (NS with EARO) of the leaf's address and of other addresses",
    ),
    from_air(
        Kind::Reports,
        "reports",
        5,
        ROUTERS,
        "duplicate address requests (DAR) for such registrations",
    ),
    from_air(
        Kind::Replays,
        "replays",
        5,
        &Target::ALL,
        "frames that were received before, replayed",
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
        "TCP resets and acknowledgments of the honest flow with guessed sequence numbers, over \
         one hop",
    ),
    from_air(
        Kind::SealedReplays,
        "sealed-replays",
        5,
        &Target::ALL,
        "frames that were received before, replayed, in a mesh with link security",
    ),
    from_air(
        Kind::SealedEchoFlood,
        "sealed-echo-flood",
        5,
        AWAKE,
        "echo requests over one hop, without the key, in a mesh with link security",
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
        "multicast DISs, from any address",
    ),
    from_air(
        Kind::RplDaos,
        "rpl-daos",
        5,
        AWAKE,
        "DAOs for targets that do not exist, and No-Path DAOs for the leaf, from any address",
    ),
    from_air(
        Kind::RplSourceRoutes,
        "rpl-source-routes",
        5,
        AWAKE,
        "source routes that go back and forth between router and leaf (RFC 6554)",
    ),
    from_air(
        Kind::RplForgedDao,
        "rpl-forged-dao",
        1,
        PASSED,
        "DAOs that claim a route to the leaf through a neighbour that does not exist",
    ),
    from_air(
        Kind::RplFullTable,
        "rpl-full-table",
        5,
        PASSED,
        "endless DAOs from fifteen neighbours that do not exist, for targets that do not exist",
    ),
    from_air(
        Kind::NonStoringDios,
        "non-storing-dios",
        5,
        AWAKE,
        "DIOs with falling ranks and invented versions in a non-storing DODAG, from any address",
    ),
    from_air(
        Kind::NonStoringDaos,
        "non-storing-daos",
        5,
        AWAKE,
        "DAOs in a non-storing DODAG: targets that do not exist, targets that are not the source, \
         and No-Path DAOs for the leaf",
    ),
    from_air(
        Kind::NonStoringParents,
        "non-storing-parents",
        1,
        AWAKE,
        "DAOs in the name of the router and of the leaf, with false parents",
    ),
    from_air(
        Kind::NonStoringHosts,
        "non-storing-hosts",
        5,
        AWAKE,
        "DAOs in the name of the router, for hosts that did not register (RFC 9010)",
    ),
    from_air(
        Kind::NonStoringTable,
        "non-storing-table",
        5,
        AWAKE,
        "endless DAOs of nodes that do not exist, whose parent is the router",
    ),
    from_air(
        Kind::NonStoringRoutes,
        "non-storing-routes",
        5,
        AWAKE,
        "source routes that go back and forth between router and leaf in a non-storing DODAG",
    ),
    from_air(
        Kind::SpoofedSources,
        "spoofed-sources",
        5,
        PASSED,
        "packets to the host with the attacker's own and with other source addresses",
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
        "tunnelled packets from outside the mesh (RFC 2473)",
    ),
    from_host(
        Kind::TrickleReaders,
        "trickle-readers",
        1,
        &Target::ALL,
        "requests of clients that read the answers slowly, 600 bytes every few seconds",
    ),
];
