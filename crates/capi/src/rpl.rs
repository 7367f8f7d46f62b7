//! Routing by RPL (RFC 6550): a leaf, a router, or the root of a DODAG.
//!
//! A library without the feature `rpl` has the same functions, which fail.

use redpoll_base::Instant;
use redpoll_socket::Errno;

use crate::error::{Code, code, reference};
use crate::handle::RpNode;

#[cfg(not(feature = "rpl"))]
use absent as implementation;
#[cfg(feature = "rpl")]
use present as implementation;

/// The position of a node in a DODAG.
struct Place {
    rank: u16,
    /// Short address of the preferred parent, or `RP_NO_SHORT`.
    parent: u16,
    /// Whether the node has a route to the root, or is the root.
    is_joined: bool,
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_rpl_start(node: *mut RpNode, now_us: u64) -> Code {
    // SAFETY: by this function's conditions.
    let found = unsafe { RpNode::on_radio(node) };
    let now = Instant::from_micros(now_us);
    code(found.and_then(|node| implementation::start(node, now).map(|()| 0)))
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `rank` and `parent` to a
/// `uint16_t` each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_rpl_place(node: *mut RpNode, rank: *mut u16, parent: *mut u16) -> Code {
    // SAFETY: by this function's conditions.
    let (found, rank, parent) =
        unsafe { (RpNode::on_radio(node), reference(rank), reference(parent)) };
    code(found.and_then(|node| {
        let (rank, parent) = (rank?, parent?);
        let place = implementation::place(node).ok_or(Errno::EOPNOTSUPP)?;
        (*rank, *parent) = (place.rank, place.parent);
        Ok(place.is_joined.into())
    }))
}

#[cfg(feature = "rpl")]
mod present {
    use redpoll_base::Instant;
    use redpoll_socket::Errno;
    #[cfg(feature = "rpl-root")]
    use redpoll_stack::RplRoot;
    use redpoll_stack::wire::ieee802154::Address;
    use redpoll_stack::wire::rpl::INFINITE_RANK;
    #[cfg(feature = "rpl-root")]
    use redpoll_stack::wire::rpl::{Configuration, config_flag, mode, objective};
    use redpoll_stack::{RplConfig, RplMemory, RplRole};

    use super::Place;
    use crate::config::NO_SHORT;
    use crate::handle::RpNode;
    use crate::role::{LEAF, ROUTER};

    /// The parameters that a root distributes: MRHOF (RFC 6719), DIO intervals from 1 s to 262 s,
    /// the redundancy constant of RFC 6550 §17, and routes with a lifetime of 30 minutes.
    #[cfg(feature = "rpl-root")]
    const CONFIGURATION: Configuration = Configuration {
        flags: config_flag::RPI_0X23,
        interval_doublings: 8,
        interval_min: 10,
        redundancy: 10,
        max_rank_increase: 1024,
        min_hop_rank_increase: 128,
        objective: objective::MRHOF,
        lifetime: 30,
        lifetime_unit_s: 60,
    };

    #[cfg(feature = "rpl-root")]
    fn root(node: &mut RpNode) -> Result<RplRole, Errno> {
        let mut prefix = node.node().address();
        for byte in prefix.0.iter_mut().skip(8) {
            *byte = 0;
        }
        Ok(RplRole::Root(RplRoot::new(
            prefix,
            mode::NON_STORING,
            CONFIGURATION,
        )))
    }

    #[cfg(not(feature = "rpl-root"))]
    fn root(_: &mut RpNode) -> Result<RplRole, Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    pub(super) fn start(node: &mut RpNode, now: Instant) -> Result<(), Errno> {
        if node.rpl.is_started {
            return Err(Errno::EALREADY);
        }
        if node.rpl.candidates.is_empty() {
            return Err(Errno::EOPNOTSUPP);
        }
        let role = match node.rpl.role {
            LEAF => RplRole::Leaf,
            ROUTER => RplRole::Router,
            _ => root(node)?,
        };
        let neighbours = core::mem::take(&mut node.rpl.candidates);
        let config = RplConfig::new(node.rpl.seed ^ now.as_micros());
        node.rpl.is_started = true;
        node.node()
            .route_by_rpl(now, role, config, RplMemory { neighbours });
        Ok(())
    }

    pub(super) fn place(node: &mut RpNode) -> Option<Place> {
        let (rank, parent) = node.node().rpl_place()?;
        let parent = match parent {
            Some(Address::Short(short)) => short,
            _ => NO_SHORT,
        };
        let is_joined = rank != INFINITE_RANK;
        Some(Place {
            rank,
            parent,
            is_joined,
        })
    }
}

#[cfg(not(feature = "rpl"))]
mod absent {
    use redpoll_base::Instant;
    use redpoll_socket::Errno;

    use super::Place;
    use crate::handle::RpNode;

    pub(super) fn start(_: &mut RpNode, _: Instant) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    pub(super) fn place(_: &mut RpNode) -> Option<Place> {
        None
    }
}
