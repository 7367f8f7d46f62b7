//! Attacks, each with a limited rate.

use redpoll_stack::wire::rpl::mode;
use serde::Serialize;

use super::scene::Mesh;
use super::scene::Target::{self, Border, Leaf, Router, SleepyLeaf};
use crate::scenario::Scenario;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The attacker is a host beyond the border router and sends packets.
    Host,
    /// The attacker is within radio range of the nodes and sends frames.
    Air,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AttackKind {
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
    pub name: &'static str,
    pub side: Side,
    /// Packets or frames per second, without the attacker's answers to replies.
    pub per_s: u32,
    pub what: &'static str,
    pub targets: &'static [Target],
    pub(super) kind: AttackKind,
}

impl Attack {
    /// Returns whether a viewer can start this attack in a mesh of `scenario`: the scenario has a
    /// border router, an attacker's radio for an attack over the air, and the routing, the
    /// security or the fragments that the attack exploits.
    pub fn fits(&self, scenario: &Scenario) -> bool {
        let mode = scenario.routing.rpl().map(|params| params.mode);
        scenario.border_router().is_some()
            && (self.side == Side::Host || scenario.nodes.iter().any(|node| node.attacker))
            && match self.mesh() {
                Mesh::Plain => true,
                Mesh::Recovering => scenario.lowpan.recovery.is_some(),
                Mesh::Sealed => scenario.security.is_some(),
                Mesh::Rpl => mode.is_some_and(|mode| mode != mode::NON_STORING),
                Mesh::NonStoring => mode == Some(mode::NON_STORING),
            }
    }

    pub(super) fn mesh(&self) -> Mesh {
        match self.kind {
            AttackKind::RecoverableFirsts => Mesh::Recovering,
            AttackKind::RplDios
            | AttackKind::RplSolicitations
            | AttackKind::RplDaos
            | AttackKind::RplSourceRoutes
            | AttackKind::RplForgedDao
            | AttackKind::RplFullTable
            | AttackKind::OutsideRoutes
            | AttackKind::OutsideTunnels => Mesh::Rpl,
            AttackKind::NonStoringDios
            | AttackKind::NonStoringDaos
            | AttackKind::NonStoringParents
            | AttackKind::NonStoringHosts
            | AttackKind::NonStoringTable
            | AttackKind::NonStoringRoutes => Mesh::NonStoring,
            AttackKind::SealedReplays | AttackKind::SealedEchoFlood => Mesh::Sealed,
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
    kind: AttackKind,
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
    kind: AttackKind,
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

pub const ATTACKS: [Attack; 39] = [
    from_host(
        AttackKind::SynFlood,
        "syn-flood",
        5,
        &Target::ALL,
        "SYNs from unused addresses",
    ),
    from_host(
        AttackKind::SilentHandshakes,
        "silent-handshakes",
        1,
        &Target::ALL,
        "completed handshakes whose clients then send no data",
    ),
    from_host(
        AttackKind::Slowloris,
        "slowloris",
        2,
        &Target::ALL,
        "requests that are sent one byte at a time",
    ),
    from_host(
        AttackKind::SlowReaders,
        "slow-readers",
        1,
        &Target::ALL,
        "requests of clients that never read the answers",
    ),
    from_host(
        AttackKind::AddressScan,
        "address-scan",
        10,
        &Target::ALL,
        "packets to unused addresses",
    ),
    from_host(
        AttackKind::ForgedResets,
        "forged-resets",
        5,
        BEHIND,
        "TCP resets with the honest peer's address and guessed sequence numbers",
    ),
    from_host(
        AttackKind::ForgedAcks,
        "forged-acks",
        5,
        BEHIND,
        "TCP acknowledgments and old data with the honest peer's address and guessed sequence \
         numbers",
    ),
    from_host(
        AttackKind::ForgedIcmp,
        "forged-icmp",
        5,
        BEHIND,
        "ICMPv6 errors about the honest flow: unreachable, packet too big, time exceeded",
    ),
    from_host(
        AttackKind::CoapAmplification,
        "coap-amplification",
        2,
        &Target::ALL,
        "CoAP requests whose source addresses are those of other nodes",
    ),
    from_host(
        AttackKind::UnfinishedUploads,
        "unfinished-uploads",
        2,
        &Target::ALL,
        "first blocks of uploads to CoAP servers, without the next blocks",
    ),
    from_host(
        AttackKind::EchoFlood,
        "echo-flood",
        5,
        &Target::ALL,
        "echo requests of 64 bytes",
    ),
    from_host(
        AttackKind::ClosedPorts,
        "closed-ports",
        5,
        &Target::ALL,
        "datagrams to closed UDP ports",
    ),
    from_air(
        AttackKind::GarbageFrames,
        "garbage-frames",
        10,
        AWAKE,
        "frames with random content, from any address",
    ),
    from_air(
        AttackKind::DataRequests,
        "data-requests",
        10,
        ROUTERS,
        "data requests whose source address is that of a node of the mesh, or an unused address",
    ),
    from_air(
        AttackKind::FirstFragments,
        "first-fragments",
        10,
        AWAKE,
        "first fragments of datagrams whose other fragments never follow (RFC 4944), from any \
         address",
    ),
    from_air(
        AttackKind::RecoverableFirsts,
        "recoverable-fragments",
        5,
        AWAKE,
        "first recoverable fragments (RFC 8931) of datagrams, from any address",
    ),
    from_air(
        AttackKind::Registrations,
        "registrations",
        5,
        ROUTERS,
        "registrations (NS with EARO) of the leaf's address and of other addresses",
    ),
    from_air(
        AttackKind::Reports,
        "reports",
        5,
        ROUTERS,
        "duplicate address requests (DAR) for the leaf's address and for other addresses",
    ),
    from_air(
        AttackKind::Replays,
        "replays",
        5,
        &Target::ALL,
        "replays of frames that the attacker heard",
    ),
    from_air(
        AttackKind::AirEchoFlood,
        "air-echo-flood",
        5,
        AWAKE,
        "echo requests over one hop, from any address",
    ),
    from_air(
        AttackKind::AirResets,
        "air-resets",
        5,
        ENDS,
        "TCP resets and acknowledgments of the honest flow with guessed sequence numbers, over \
         one hop",
    ),
    from_air(
        AttackKind::SealedReplays,
        "sealed-replays",
        5,
        &Target::ALL,
        "replays of frames that the attacker heard, in a mesh with link security",
    ),
    from_air(
        AttackKind::SealedEchoFlood,
        "sealed-echo-flood",
        5,
        AWAKE,
        "echo requests over one hop, without the key, in a mesh with link security",
    ),
    from_air(
        AttackKind::RplDios,
        "rpl-dios",
        5,
        AWAKE,
        "DIOs with falling ranks and invented versions, from any address (RFC 6550)",
    ),
    from_air(
        AttackKind::RplSolicitations,
        "rpl-solicitations",
        5,
        AWAKE,
        "multicast DISs, from any address",
    ),
    from_air(
        AttackKind::RplDaos,
        "rpl-daos",
        5,
        AWAKE,
        "DAOs for targets that do not exist, and No-Path DAOs for the leaf, from any address",
    ),
    from_air(
        AttackKind::RplSourceRoutes,
        "rpl-source-routes",
        5,
        AWAKE,
        "source routes that go back and forth between router and leaf (RFC 6554)",
    ),
    from_air(
        AttackKind::RplForgedDao,
        "rpl-forged-dao",
        1,
        PASSED,
        "DAOs that claim a route to the leaf through a neighbour that does not exist",
    ),
    from_air(
        AttackKind::RplFullTable,
        "rpl-full-table",
        5,
        PASSED,
        "DAOs with an infinite lifetime, from fifteen neighbours that do not exist, for targets \
         that do not exist",
    ),
    from_air(
        AttackKind::NonStoringDios,
        "non-storing-dios",
        5,
        AWAKE,
        "DIOs with falling ranks and invented versions in a non-storing DODAG, from any address",
    ),
    from_air(
        AttackKind::NonStoringDaos,
        "non-storing-daos",
        5,
        AWAKE,
        "DAOs in a non-storing DODAG: targets that do not exist, targets that are not the source, \
         and No-Path DAOs for the leaf",
    ),
    from_air(
        AttackKind::NonStoringParents,
        "non-storing-parents",
        1,
        AWAKE,
        "DAOs in the name of the router and of the leaf, with false parents",
    ),
    from_air(
        AttackKind::NonStoringHosts,
        "non-storing-hosts",
        5,
        AWAKE,
        "DAOs in the name of the router, for hosts that did not register (RFC 9010)",
    ),
    from_air(
        AttackKind::NonStoringTable,
        "non-storing-table",
        5,
        AWAKE,
        "DAOs with an infinite lifetime: nodes that do not exist claim the router as their parent",
    ),
    from_air(
        AttackKind::NonStoringRoutes,
        "non-storing-routes",
        5,
        AWAKE,
        "source routes that go back and forth between router and leaf in a non-storing DODAG",
    ),
    from_air(
        AttackKind::SpoofedSources,
        "spoofed-sources",
        5,
        PASSED,
        "packets to the host from false source addresses: the host, an unused address, a loopback \
         address and the leaf",
    ),
    from_host(
        AttackKind::OutsideRoutes,
        "outside-routes",
        5,
        PASSED,
        "source routes from outside the mesh (RFC 6554)",
    ),
    from_host(
        AttackKind::OutsideTunnels,
        "outside-tunnels",
        5,
        PASSED,
        "tunnelled packets from outside the mesh (RFC 2473)",
    ),
    from_host(
        AttackKind::TrickleReaders,
        "trickle-readers",
        1,
        &Target::ALL,
        "requests of up to four clients, which together read 600 bytes of the answers per second",
    ),
];
