//! Log lines about what a border router on a radio lost or refused: at most one line of a kind in
//! each interval.

use std::fmt::Display;

use redpoll_base::{Duration, Instant};
use redpoll_border::each_drop;
use redpoll_linux::forward::{Ending, ForwardEvent, Passage};
use redpoll_linux::gateway::Gateway;
use redpoll_linux::radio::mesh::RadioMesh;
use redpoll_stack::Profile;
use tracing::{debug, warn};

/// Shortest interval between two lines of the same kind.
const INTERVAL: Duration = Duration::from_secs(10);
/// Interval between two comparisons of the counters, if the last one found no loss.
const PERIOD: Duration = Duration::from_secs(1);

/// A reason for dropped packets or frames, as layer and name in reports, and their number.
type Loss = (String, u64);

/// The losses at the last report, in the order of [`losses`].
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
        let grown = self.grown(losses(mesh, gateway));
        for (reason, count) in &grown {
            match warning(reason) {
                Some(text) => warn!(count, %reason, "{text}"),
                None => debug!(count, %reason, "packets or frames were dropped"),
            }
        }
        !grown.is_empty()
    }

    /// Returns by how much each of `losses` is greater than at the last call.
    fn grown(&mut self, losses: Vec<Loss>) -> Vec<Loss> {
        self.last.resize(losses.len(), 0);
        let mut grown = Vec::new();
        for (last, (reason, count)) in self.last.iter_mut().zip(losses) {
            // A counter of 32 bits that wrapped is reported from zero on.
            let since = count.checked_sub(*last).unwrap_or(count);
            *last = count;
            if since > 0 {
                grown.push((reason, since));
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

fn losses<P: Profile>(mesh: &RadioMesh<P>, gateway: &Gateway) -> Vec<Loss> {
    let mut losses = vec![
        ("host.to_mesh_full".to_owned(), mesh.turned_away()),
        (
            "host.refused".to_owned(),
            gateway.counters().refused_by_host,
        ),
    ];
    let mut add = |layer: &str, reason: &dyn Display, count: u32| {
        losses.push((format!("{layer}.{reason}"), count.into()));
    };
    for (reason, count) in mesh.gate().counters().drops() {
        add("host", &reason, count);
    }
    if let Some(security) = mesh.node().security() {
        for (reason, count) in security.counters().refusals() {
            add("security", &reason, count);
        }
    }
    each_drop(mesh.node(), add);
    losses
}

/// Returns the text of a warning about a full table, queue or buffer, or about a false sender;
/// `None` for other reasons.
fn warning(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "host.to_mesh_full" => {
            "packets from this computer were dropped: the queue to the mesh was full"
        }
        "host.refused" => "packets from the mesh were dropped: this computer did not accept them",
        "host.unroutable_source" | "host.foreign_source" => {
            "packets from the mesh were dropped: their source is not an address of the mesh"
        }
        "host.spoofed_source" => {
            "packets into the mesh were dropped: their source is an address of the mesh"
        }
        "host.echo_limit" => {
            "echo requests were dropped: they exceeded 256 bytes a second to one node"
        }
        "ip.no_packet_slot" | "lowpan.no_slot" => {
            "packets were dropped: all packet buffers of the border router were in use"
        }
        "ip.host_queue_full" => {
            "packets from the mesh were dropped: the queue to this computer was full"
        }
        "ip.udp_full" => {
            "datagrams to the border router were dropped: the socket's buffer was full"
        }
        "ip.no_connection_slot" => {
            "connections to the border router were refused: all its sockets were in use"
        }
        "ip.backlog_full" => {
            "connections to the border router were refused: its application accepts too slowly"
        }
        "lowpan.no_fragment_buffer" => {
            "fragments were dropped: all fragment buffers of the border router were in use"
        }
        "lowpan.evicted" => "incomplete packets were dropped: newer packets needed their buffers",
        "lowpan.indirect_full" => {
            "packets were dropped: too many already waited for their sleepy node"
        }
        reason if reason.starts_with("security.") => "link-layer security refused frames",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use redpoll_border::GateCounters;
    use redpoll_stack::NodeCounters;
    use redpoll_stack::lowpan::LowpanCounters;

    use super::*;

    #[test]
    fn only_what_grew_since_the_last_report_is_logged() {
        let mut losses = Losses::default();
        let mut grown = |counts: [u64; 2]| {
            let reasons = ["a", "b"].map(str::to_owned);
            let grown = losses.grown(reasons.into_iter().zip(counts).collect());
            grown
                .into_iter()
                .map(|(reason, count)| format!("{reason} {count}"))
                .collect::<Vec<_>>()
        };
        assert!(grown([0, 0]).is_empty());
        assert_eq!(grown([2, 0]), ["a 2"]);
        assert!(grown([2, 0]).is_empty());
        assert_eq!(grown([5, 1]), ["a 3", "b 1"]);
        assert_eq!(grown([4, 1]), ["a 4"]);
    }

    /// Each reason with a warning has the name that a counter gives it.
    #[test]
    fn the_reasons_of_warnings_exist() {
        let node = NodeCounters::default();
        let mut known: Vec<String> = node
            .drops()
            .map(|(reason, _)| format!("ip.{reason}"))
            .collect();
        known.extend(
            GateCounters::default()
                .drops()
                .map(|(reason, _)| format!("host.{reason}")),
        );
        known.extend(
            LowpanCounters::default()
                .drops()
                .map(|(reason, _)| format!("lowpan.{reason}")),
        );
        let warned = known.iter().filter(|reason| warning(reason).is_some());
        assert_eq!(warned.count(), 13, "{known:?}");
    }
}
