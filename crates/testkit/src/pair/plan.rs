//! The conditions of a run: the link in each direction, and the plan of each application.

use redpoll_base::Duration;

/// The effect of a link on segments, in one direction.
///
/// The link serves one segment at a time, as a radio does, and meanwhile reads the segment's
/// payload in two halves.
#[derive(Clone, Debug)]
pub struct Link {
    /// Time from the end of a segment's service to its arrival.
    pub latency: Duration,
    /// Time to serve one byte. The service time of a segment is that of all its bytes.
    pub per_byte: Duration,
    /// Segments per thousand that vanish although the link reported them sent.
    pub loss: u32,
    /// Segments per thousand that arrive twice.
    pub duplicate: u32,
    /// Segments per thousand that are held up by up to `reorder_by`.
    pub reorder: u32,
    pub reorder_by: Duration,
    /// Segments per thousand that the link gives up, and reports as lost.
    pub give_up: u32,
    /// Numbers of the segments that are lost in any case, counted from 0 in this direction.
    pub lose: Vec<u32>,
}

impl Default for Link {
    fn default() -> Self {
        Link {
            latency: Duration::from_millis(10),
            per_byte: Duration::from_micros(40),
            loss: 0,
            duplicate: 0,
            reorder: 0,
            reorder_by: Duration::from_millis(200),
            give_up: 0,
            lose: Vec::new(),
        }
    }
}

/// The plan of a side's application.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bytes to send; then the application closes.
    pub send: usize,
    pub chunk: usize,
    /// Time for which the application waits before it reads the received bytes; zero: at once.
    pub read_pause: Duration,
    pub read_chunk: usize,
    /// Send and receive buffers, in bytes.
    pub buffers: (usize, usize),
    /// Number of events per thousand after which this end's connection is frozen, if its state
    /// allows freezing.
    pub freeze: u32,
    /// Number of the event of the run, from 0, after which this end's connection is frozen, if its
    /// state allows freezing.
    pub freeze_at: Option<u32>,
    /// Maximum time for which the connection is frozen. Segments that arrive meanwhile are lost.
    pub sleep: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            send: 0,
            chunk: usize::MAX,
            read_pause: Duration::ZERO,
            read_chunk: usize::MAX,
            buffers: (1848, 1848),
            freeze: 0,
            freeze_at: None,
            sleep: Duration::ZERO,
        }
    }
}
