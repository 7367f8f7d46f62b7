//! The sleepy nodes around: a neighbour that has sent a data request is one,
//! and gets nothing that it has not asked for.

use redpoll_mac::PENDING_MAX;
use redpoll_wire::ieee802154::Address;

/// Short addresses of sleepy neighbours, the one heard last first. With more of
/// them than there is room, the one heard longest ago is forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Children {
    heard: [Option<u16>; PENDING_MAX],
}

impl Children {
    /// `child` has sent a data request.
    pub(crate) fn on_request(&mut self, child: u16) {
        let known = self.heard.iter().position(|heard| *heard == Some(child));
        let place = known.unwrap_or(PENDING_MAX.saturating_sub(1));
        if let Some(moved) = self.heard.get_mut(..=place) {
            moved.rotate_right(1);
        }
        if let Some(first) = self.heard.first_mut() {
            *first = Some(child);
        }
    }

    /// Whether this neighbour sleeps.
    pub(crate) fn contains(&self, link: Address) -> bool {
        match link {
            Address::Short(short) => self.iter().any(|child| child == short),
            _ => false,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.heard.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_child_heard_longest_ago_is_forgotten() {
        let mut children = Children::default();
        for child in 0..PENDING_MAX as u16 {
            children.on_request(child);
        }
        children.on_request(0);
        children.on_request(99);
        assert!(children.contains(Address::Short(0)) && children.contains(Address::Short(99)));
        assert!(!children.contains(Address::Short(1)));
        assert_eq!(children.iter().count(), PENDING_MAX);
    }
}
