//! The two sources of the nodes' routes: configuration, and RPL.

use redpoll_base::Instant;

use crate::common::TestNode;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    Given,
    /// RPL, except for the sleepy leaf, which registers with its router.
    #[cfg(all(feature = "rpl-root", feature = "rpl-storing"))]
    Rpl {
        mode: u8,
    },
}

#[cfg(not(all(feature = "rpl-root", feature = "rpl-storing")))]
mod found {
    use super::{Instant, TestNode, Ways};

    impl Ways {
        pub fn of(_: u64) -> Ways {
            Ways::Given
        }
    }

    pub fn begin(_: &mut TestNode, _: usize, _: Ways, _: Instant) {}

    pub fn is_joined(_: &TestNode, _: usize) -> bool {
        true
    }
}

#[cfg(all(feature = "rpl-root", feature = "rpl-storing"))]
mod found {
    use redpoll_stack::{RplConfig, RplMemory, RplRole, RplRoot};
    use redpoll_wire::rpl::mode;

    use super::{Instant, TestNode, Ways};
    use crate::common::dodag::CONFIGURATION;
    use crate::common::prefix;
    use crate::mesh::{BORDER, LEAF, SLEEPY};

    impl Ways {
        /// Every second seed uses RPL.
        pub fn of(seed: u64) -> Ways {
            match seed % 8 {
                2 | 3 => Ways::Rpl {
                    mode: mode::STORING,
                },
                6 | 7 => Ways::Rpl {
                    mode: mode::NON_STORING,
                },
                _ => Ways::Given,
            }
        }
    }

    pub fn begin(node: &mut TestNode, index: usize, ways: Ways, now: Instant) {
        let Ways::Rpl { mode } = ways else {
            return;
        };
        let role = match index {
            BORDER => RplRole::Root(RplRoot::new(prefix(), mode, CONFIGURATION)),
            LEAF => RplRole::Leaf,
            SLEEPY.. => return,
            _ => RplRole::Router,
        };
        let config = RplConfig::new(index as u64);
        let neighbours = vec![None; 3].into();
        node.route_by_rpl(now, role, config, RplMemory { neighbours });
    }

    /// Returns whether the node has a route to the root, if it should have one.
    pub fn is_joined(node: &TestNode, index: usize) -> bool {
        let place = node.rpl_place();
        place.is_none_or(|(_, parent)| index == BORDER || parent.is_some())
    }
}

pub use found::{begin, is_joined};
