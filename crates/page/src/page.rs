//! Serves a text over HTTP, such as a daemon's metrics, which another thread writes per request.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::sync::oneshot;

use crate::http;

/// Time within which the program must write the text.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
pub struct PageKind {
    pub path: &'static str,
    pub media_type: &'static str,
}

/// A server that listens, but does not respond yet.
#[derive(Debug)]
pub struct PageServer {
    listener: TcpListener,
    address: SocketAddr,
    kind: PageKind,
}

impl PageServer {
    pub fn listen(address: SocketAddr, kind: PageKind) -> io::Result<PageServer> {
        let listener = http::listen(address)?;
        Ok(PageServer {
            address: listener.local_addr()?,
            listener,
            kind,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to respond in a separate thread, which ends with the process. Fails if the operating
    /// system cannot create a thread.
    pub fn start(self) -> io::Result<Page> {
        let page = Page::default();
        let router = router(self.kind, page.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let listener = self.listener;
        let serve = async move {
            if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                http::serve(listener, router).await;
            }
        };
        let thread = std::thread::Builder::new().name("page".to_owned());
        thread.spawn(move || runtime.block_on(serve))?;
        Ok(page)
    }
}

/// The clients that wait for the text. A thread of the program checks for them and writes the text.
#[derive(Clone, Debug, Default)]
pub struct Page {
    waiting: Arc<Mutex<Vec<oneshot::Sender<Bytes>>>>,
}

impl Page {
    /// Returns whether a client waits for the text.
    pub fn is_asked(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Sends the text to all waiting clients.
    pub fn answer(&self, text: String) {
        let text = Bytes::from(text);
        for waiting in self.lock().drain(..) {
            // Ignore the error: the client may have closed its connection.
            let _ = waiting.send(text.clone());
        }
    }

    /// Waits for the text, at most [`PATIENCE`].
    async fn ask(&self) -> Option<Bytes> {
        let (sender, answered) = oneshot::channel();
        {
            let mut waiting = self.lock();
            waiting.retain(|other| !other.is_closed());
            waiting.push(sender);
        }
        tokio::time::timeout(PATIENCE, answered).await.ok()?.ok()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<oneshot::Sender<Bytes>>> {
        // Each change leaves a consistent list, so the list is usable even if the lock is poisoned.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn router(kind: PageKind, page: Page) -> Router {
    let answer = move || {
        let page = page.clone();
        async move { response(kind, page.ask().await) }
    };
    let elsewhere = move || async move {
        let text = format!("this server answers only GET {}\n", kind.path);
        (StatusCode::NOT_FOUND, text)
    };
    Router::new()
        .route(kind.path, get(answer))
        .fallback(elsewhere)
}

fn response(kind: PageKind, text: Option<Bytes>) -> Response {
    match text {
        Some(text) => {
            let media_type = HeaderValue::from_static(kind.media_type);
            ([(header::CONTENT_TYPE, media_type)], text).into_response()
        }
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
