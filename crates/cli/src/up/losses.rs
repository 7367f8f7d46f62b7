//! Log lines about what a border router on a radio lost or refused: at most one line of a kind in
//! each interval.

use redpoll_base::{Duration, Instant};
use redpoll_linux::forward::{Ending, ForwardEvent, Passage};
use redpoll_linux::gateway::Gateway;
use redpoll_linux::radio::mesh::RadioMesh;
use redpoll_stack::mac::security::Refusal;
use redpoll_stack::{DropReason, Profile};
use tracing::{debug, warn};

/// Shortest interval between two lines of the same kind.
const INTERVAL: Duration = Duration::from_secs(10);
/// Interval between two comparisons of the counters, if the last one found no loss.
const PERIOD: Duration = Duration::from_secs(1);

/// The subject of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Packets or connections beyond a limit of this computer or of the border router, or packets
    /// with a false source. The text names the cause.
    Warning(&'static str),
    /// Packets dropped for another reason.
    Packet(DropReason),
    /// Frames dropped by link-layer security.
    Frame(Refusal),
}

/// The counts at the last report, in the order of [`counts`].
#[derive(Default)]
pub(super) struct Losses {
    last: Vec<u64>,
    due: Instant,
}

impl Losses {
    /// Logs each count that grew since the last report, if a report is due.
    pub(super) fn report<P: Profile>(
        &mut self,
        now: Instant,
        mesh: &RadioMesh<P>,
        gateway: &Gateway,
    ) {
        if now >= self.due {
            let is_loss = self.log(mesh, gateway);
            self.due = now + if is_loss { INTERVAL } else { PERIOD };
        }
    }

    /// Logs each count that grew since the last report. Returns whether one did.
    pub(super) fn log<P: Profile>(&mut self, mesh: &RadioMesh<P>, gateway: &Gateway) -> bool {
        let grown = self.grown(&counts(mesh, gateway));
        for (kind, count) in &grown {
            match kind {
                Kind::Warning(text) => warn!(count, "{text}"),
                Kind::Packet(reason) => debug!(count, %reason, "packets were dropped"),
                Kind::Frame(reason) => warn!(count, %reason, "link-layer security refused frames"),
            }
        }
        !grown.is_empty()
    }

    /// Returns by how much each of `counts` is greater than at the last call.
    fn grown(&mut self, counts: &[(Kind, u64)]) -> Vec<(Kind, u64)> {
        self.last.resize(counts.len(), 0);
        let mut grown = Vec::new();
        for (last, &(kind, count)) in self.last.iter_mut().zip(counts) {
            // A counter of 32 bits that wrapped is reported from zero on.
            let since = count.checked_sub(*last).unwrap_or(count);
            *last = count;
            if since > 0 {
                grown.push((kind, since));
            }
        }
        grown
    }
}

/// Logs the end of a forwarded connection, as a warning if the mesh broke it.
pub(super) fn log_forward(event: &ForwardEvent) {
    let (from, to) = (event.from, event.to);
    match event.what {
        Passage::Begun => debug!(%from, %to, "a connection is forwarded"),
        Passage::Ended { how, bytes } => {
            let [sent, received] = bytes;
            match how {
                Ending::BrokenByMesh => {
                    warn!(%from, %to, sent, received, "the mesh aborted a forwarded connection");
                }
                Ending::Closed | Ending::BrokenByHost => {
                    debug!(%from, %to, sent, received, "a forwarded connection ended");
                }
            }
        }
    }
}

fn counts<P: Profile>(mesh: &RadioMesh<P>, gateway: &Gateway) -> Vec<(Kind, u64)> {
    let gate = mesh.gate().counters();
    let mut counts = vec![
        (
            Kind::Warning(
                "packets from this computer were dropped: the queue to the mesh was full",
            ),
            mesh.turned_away(),
        ),
        (
            Kind::Warning("packets from the mesh were dropped: this computer did not accept them"),
            gateway.counters().refused_by_host,
        ),
        (
            Kind::Warning(
                "packets from the mesh were dropped: their source is not an address of the mesh",
            ),
            u64::from(gate.unroutable_source) + u64::from(gate.foreign_source),
        ),
        (
            Kind::Warning(
                "packets into the mesh were dropped: their source is an address of the mesh",
            ),
            u64::from(gate.spoofed_source),
        ),
        (
            Kind::Warning(
                "echo requests were dropped: they exceeded 256 bytes a second to one node",
            ),
            u64::from(gate.echo_limit),
        ),
    ];
    let drops = mesh.node().counters().drops();
    counts.extend(drops.map(|(reason, count)| (kind(reason), count.into())));
    if let Some(security) = mesh.node().security() {
        let refusals = security.counters().refusals();
        counts.extend(refusals.map(|(why, count)| (Kind::Frame(why), count.into())));
    }
    counts
}

/// Returns the warning for a full table, queue or buffer, or the plain reason.
fn kind(reason: DropReason) -> Kind {
    match reason {
        DropReason::NoSlot => Kind::Warning(
            "packets were dropped: all packet buffers of the border router were in use",
        ),
        DropReason::HostQueueFull => {
            Kind::Warning("packets from the mesh were dropped: the queue to this computer was full")
        }
        DropReason::UdpFull => Kind::Warning(
            "datagrams to the border router were dropped: the socket's buffer was full",
        ),
        DropReason::NoConnectionSlot => Kind::Warning(
            "connections to the border router were refused: all its sockets were in use",
        ),
        DropReason::BacklogFull => Kind::Warning(
            "connections to the border router were refused: its application accepts too slowly",
        ),
        reason => Kind::Packet(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_grew_since_the_last_report_is_logged() {
        let kinds = [Kind::Warning("full"), Kind::Packet(DropReason::NoRoute)];
        let mut losses = Losses::default();
        let mut grown = |counts: [u64; 2]| {
            let counts: Vec<_> = kinds.into_iter().zip(counts).collect();
            losses.grown(&counts)
        };
        assert_eq!(grown([0, 0]), []);
        assert_eq!(grown([2, 0]), [(kinds[0], 2)]);
        assert_eq!(grown([2, 0]), []);
        assert_eq!(grown([5, 1]), [(kinds[0], 3), (kinds[1], 1)]);
        assert_eq!(grown([5, 0]), []);
        assert_eq!(grown([4, 0]), [(kinds[0], 4)]);
    }

    #[test]
    fn a_full_queue_has_a_warning_that_names_it() {
        assert!(
            matches!(kind(DropReason::HostQueueFull), Kind::Warning(text) if text.ends_with("the queue to this computer was full"))
        );
        assert_eq!(kind(DropReason::NoRoute), Kind::Packet(DropReason::NoRoute));
    }
}
