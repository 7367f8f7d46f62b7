//! The changes that the log reports: losses and overflows, once a second at most, and the state of
//! the mesh's interface.

use nix::net::if_::if_nametoindex;
use redpoll_assist::taim::{Counters, Taim};
use redpoll_base::{Duration, Instant};
use redpoll_linux::links::Links;
use tracing::{debug, info, warn};

use super::Heap;

/// Shortest interval between two reports of the same kind.
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Events {
    interface: String,
    exists: bool,
    /// The kernel's notices of changed interfaces; `None` if the kernel refuses them.
    links: Option<Links>,
    last: Counters,
    overflows: u64,
    is_shaping: bool,
    due: Instant,
}

impl Events {
    pub(super) fn new(interface: String) -> Events {
        // The socket is open before the interface's state is read, so no change is missed.
        let links = Links::watch();
        let links = links.inspect_err(|error| debug!(%error, "cannot watch interfaces"));
        Events {
            exists: if_nametoindex(interface.as_str()).is_ok(),
            interface,
            links: links.ok(),
            last: Counters::default(),
            overflows: 0,
            is_shaping: false,
            due: Instant::ZERO,
        }
    }

    /// Resets the counters for an empty engine and a new queue.
    pub(super) fn restart(&mut self) {
        self.last = Counters::default();
        self.overflows = 0;
    }

    /// Returns the number of times at which packets passed because the program read too slowly.
    pub(super) fn overflows(&self) -> u64 {
        self.overflows
    }

    /// Reports a missing interface that the user named.
    pub(super) fn start(&self, is_named: bool) {
        if is_named && !self.exists {
            warn!(interface = %self.interface, "the interface does not exist; waiting for it");
        }
    }

    pub(super) fn report(&mut self, now: Instant, taim: &Taim<Heap, u32>, overflows: u64) {
        self.report_interface();
        if now < self.due {
            return;
        }
        self.due = now + INTERVAL;
        let counters = taim.counters();
        let since = |read: fn(&Counters) -> u64| read(counters).wrapping_sub(read(&self.last));
        let evicted = since(|it| it.evicted);
        if evicted > 0 {
            warn!(
                flows = evicted,
                "flows lost their place in the table to new flows; --flows sets the number of \
                 places"
            );
        }
        let untracked = since(|it| it.untracked);
        if untracked > 0 {
            warn!(
                packets = untracked,
                "packets of flows without a place in the table passed immediately; --flows sets \
                 the number of places"
            );
        }
        let pushed_out = since(|it| it.pushed_out);
        if pushed_out > 0 {
            warn!(
                packets = pushed_out,
                "the limit of held packets was reached: packets were forwarded before their turn; \
                 --packets sets this limit"
            );
        }
        if overflows != self.overflows {
            warn!(
                notices = overflows.wrapping_sub(self.overflows),
                "the kernel's queue overflowed: packets passed immediately, because the program \
                 reads too slowly"
            );
            self.overflows = overflows;
        }
        if taim.is_shaping() != self.is_shaping {
            self.is_shaping = taim.is_shaping();
            let said = if self.is_shaping {
                "flows compete for the mesh: packets wait"
            } else {
                "no flows compete for the mesh: packets pass immediately"
            };
            debug!(flows = taim.flow_counts().1, "{said}");
        }
        self.last = *counters;
    }

    fn report_interface(&mut self) {
        let Some(links) = &mut self.links else {
            return;
        };
        while let Ok(Some(notice)) = links.recv() {
            if notice.name != self.interface || notice.exists == self.exists {
                continue;
            }
            self.exists = notice.exists;
            if self.exists {
                info!(interface = %self.interface, "the interface appeared");
            } else {
                warn!(interface = %self.interface, "the interface vanished");
            }
        }
    }
}
