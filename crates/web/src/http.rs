//! Connections: so many at a time, and none for long that says nothing.
//!
//! Descriptors are the program's, whose forwards and files need them, too.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Connections at a time, beside those through which pages hear, which are bounded by themselves: a
/// browser loads the page by six at most. Who comes when there are as many waits in the system's
/// backlog.
const CONNECTIONS: usize = 96;
/// Who has not asked for anything for so long is gone, before the first request as between two.
/// The connection through which a page hears is not meant.
const SILENCE: Duration = Duration::from_secs(5);
/// How long nothing is accepted where the system has no descriptor left.
const NO_DESCRIPTOR: Duration = Duration::from_secs(1);

/// Serves whoever connects, until it is dropped.
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(NO_DESCRIPTOR).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(SILENCE);
            let connection = http.serve_connection(TokioIo::new(stream), service);
            // What goes wrong with a connection ends it.
            let _ = connection.with_upgrades().await;
            drop(place);
        });
    }
}
