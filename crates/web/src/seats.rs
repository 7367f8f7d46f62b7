//! Limits the browsers that watch through a WebSocket. A browser that does not answer a ping loses
//! its seat to another browser.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use redpoll_page::http::Network;

const BROWSERS: usize = 32;
const OF_ONE_NETWORK: usize = 24;
/// Time without an answer to a ping after which a browser may lose its seat.
const GRACE: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(crate) struct Seats(Mutex<Vec<Entry>>);

struct Entry {
    network: Network,
    /// Time of the oldest ping that the browser has not answered.
    asked_at: Option<Instant>,
    lost: Arc<Notify>,
}

impl Seats {
    /// Occupies a seat for a browser of `network`. If no seat is free, the browser whose ping has
    /// been unanswered for longest loses its seat. If `network` has as many seats as one network
    /// may have, only a browser of `network` can lose its seat. Returns `None` if no browser that
    /// can lose its seat has left a ping unanswered for [`GRACE`].
    pub(crate) fn take(self: &Arc<Self>, network: Network) -> Option<Seat> {
        let mut entries = self.lock();
        let of_network = entries.iter().filter(|it| it.network == network).count();
        let is_full = entries.len() >= BROWSERS;
        if is_full || of_network >= OF_ONE_NETWORK {
            let only = (of_network >= OF_ONE_NETWORK).then_some(network);
            let silent = entries.iter().enumerate().filter_map(|(index, it)| {
                let is_candidate = only.is_none_or(|only| it.network == only);
                Some((it.asked_at.filter(|_| is_candidate)?, index))
            });
            let (asked_at, index) = silent.min()?;
            if asked_at.elapsed() < GRACE {
                return None;
            }
            entries.swap_remove(index).lost.notify_one();
        }
        let lost = Arc::new(Notify::new());
        entries.push(Entry {
            network,
            asked_at: Some(Instant::now()),
            lost: Arc::clone(&lost),
        });
        Some(Seat {
            seats: Arc::clone(self),
            lost,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Each change of the list is complete, so the list of a poisoned lock is usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A browser's seat. Dropping it makes the seat free.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    lost: Arc<Notify>,
}

impl Seat {
    /// Records a message of the browser, such as the answer to a ping.
    pub(crate) fn heard(&self) {
        self.update(|entry| entry.asked_at = None);
    }

    /// Records a ping to the browser; returns the time since the oldest unanswered ping.
    pub(crate) fn asked(&self) -> Duration {
        let mut owed = Duration::ZERO;
        self.update(|entry| {
            owed = entry.asked_at.get_or_insert_with(Instant::now).elapsed();
        });
        owed
    }

    /// Ends when the seat is given to another browser.
    pub(crate) async fn lost(&self) {
        self.lost.notified().await;
    }

    fn update(&self, change: impl FnOnce(&mut Entry)) {
        let mut entries = self.seats.lock();
        let mine = entries
            .iter_mut()
            .find(|entry| Arc::ptr_eq(&entry.lost, &self.lost));
        mine.map(change);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut entries = self.seats.lock();
        entries.retain(|entry| !Arc::ptr_eq(&entry.lost, &self.lost));
    }
}
