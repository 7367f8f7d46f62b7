//! The server: a separate thread, which also serves the page.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::{self, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use redpoll_sim::World;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;

use crate::assets::ASSETS;
use crate::desk::{BrowserRequest, Desk, DeskMessage, Request};
use crate::guard;
use crate::hub::{Hub, Message, Source};
use crate::message::{Answer, Ask, Clock, FromPage, FromServer, Mode};
use crate::scribe::Scribe;
use crate::seats::{Seat, Seats};
use crate::story::Story;
use redpoll_page::http::{self, Network};

/// Maximum number of the simulation's messages that wait for the server.
const NEWS: usize = 8;
/// Length of the longest message of a page, in bytes.
const LONGEST: usize = 16 * 1024;
/// A browser that reads no data and answers no ping for this time is disconnected.
const PATIENCE: Duration = Duration::from_secs(30);
const PING: Duration = Duration::from_secs(5);
/// Number of requests from pages that may wait for the simulation at the same time.
const REQUESTS: usize = 64;

/// The server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Cannot listen at the address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// The operating system refuses another call.
    #[error("the live view cannot start: {0}")]
    System(#[from] io::Error),
}

/// A server that listens and does not answer yet. Between [`Server::listen`] and [`Server::start`],
/// a program can change its network or drop privileges.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

#[derive(Clone)]
struct Shared {
    hub: Arc<Hub>,
    requests: mpsc::SyncSender<Request>,
    bell: Arc<UnixStream>,
    token: Arc<str>,
    port: u16,
    seats: Arc<Seats>,
}

impl Server {
    /// Listens at `address`. The token is made of `random` bytes, which must be unpredictable.
    /// Fails with [`ServerError::Listen`].
    pub fn listen(address: SocketAddr, random: [u8; 16]) -> Result<Server, ServerError> {
        let listen = |source| ServerError::Listen { address, source };
        let listener = http::listen(address).map_err(listen)?;
        Ok(Server {
            address: listener.local_addr()?,
            listener,
            token: guard::token(&random),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the page's address, with the token that permits changes.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            // A browser on this computer uses the loopback address.
            address.set_ip(match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("http://{address}/#{}", self.token)
    }

    /// Begins to answer, in a separate thread, which ends with the desk. Fails with
    /// [`ServerError::System`].
    pub fn start(self, world: &World, mode: Mode) -> Result<Desk, ServerError> {
        let source = Source::Scribe(Box::new(Scribe::new(world, mode)));
        self.start_with(source, mode)
    }

    /// Serves the page for a recording. Fails with [`ServerError::System`].
    pub fn start_recording(self, story: Story) -> Result<Desk, ServerError> {
        self.start_with(Source::Story(Box::new(story)), Mode::View)
    }

    fn start_with(self, source: Source, mode: Mode) -> Result<Desk, ServerError> {
        let (bell, ringer) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ringer.set_nonblocking(true)?;
        let (news, mut incoming) = tokio::sync::mpsc::channel(NEWS);
        let (requests, wanted) = mpsc::sync_channel(REQUESTS);
        let watchers = Arc::new(AtomicUsize::new(0));
        let clock = Clock {
            paused: false,
            speed: Some(1.0),
            ended: false,
            settable: !matches!(mode, Mode::Up),
            restartable: matches!(mode, Mode::View),
        };
        let hub = Arc::new(Hub::new(source, clock, watchers.clone()));
        let shared = Shared {
            hub: hub.clone(),
            requests,
            bell: Arc::new(ringer),
            token: self.token.as_str().into(),
            port: self.address.port(),
            seats: Arc::new(Seats::default()),
        };
        let listener = self.listener;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let serve = async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                return;
            };
            let server = tokio::spawn(http::serve(listener, router(shared)));
            while let Some(news) = incoming.recv().await {
                tell(&hub, news);
            }
            server.abort();
        };
        let thread = std::thread::Builder::new().name("live view".to_owned());
        thread.spawn(move || runtime.block_on(serve))?;
        Ok(Desk {
            news,
            requests: wanted,
            watchers,
            bell,
            mode,
            clock,
            next: None,
            figures_at: Instant::now(),
            outbox: VecDeque::new(),
            wants: None,
            commands: 0,
        })
    }
}

fn tell(hub: &Hub, news: DeskMessage) {
    match news {
        DeskMessage::Changes(batch) => hub.publish(|scribe| {
            scribe.changes(&batch.changes, &batch.sample, batch.figures, batch.wall_ms)
        }),
        DeskMessage::Scene(scene) => hub.publish(|scribe| {
            scribe.set_scene(scene);
            scribe.scene()
        }),
        DeskMessage::Clock(clock) => hub.set_clock(clock),
        DeskMessage::Renewed(scribe) => hub.renew(Source::Scribe(scribe)),
        DeskMessage::Jumped(story) => hub.renew(Source::Story(story)),
        DeskMessage::Line(line) => hub.line(line),
    }
}

fn router(shared: Shared) -> Router {
    let mut router = Router::new();
    for asset in ASSETS {
        let file = move || async move {
            ([(header::CONTENT_TYPE, asset.media_type)], asset.bytes).into_response()
        };
        router = router.route(asset.path, get(file));
    }
    router
        .route("/live", get(live))
        .layer(middleware::from_fn_with_state(shared.clone(), check))
        .with_state(shared)
}

/// Passes only requests that are meant for this server. The headers of each answer forbid the page
/// to load anything from other servers, and to be shown in a frame of another page.
async fn check(State(shared): State<Shared>, request: HttpRequest, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let is_ours = host.is_some_and(|host| guard::host_is_ours(host, shared.port));
    let mut response = if is_ours {
        next.run(request).await
    } else {
        refuse("open this page at the server's IP address or at localhost")
    };
    const SAID: [(header::HeaderName, &str); 6] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (
            header::HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in SAID {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refuse(why: &'static str) -> Response {
    (StatusCode::FORBIDDEN, Body::from(why)).into_response()
}

/// Opens the connection of a page.
async fn live(
    State(shared): State<Shared>,
    Extension(network): Extension<Network>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let host = text(header::HOST).unwrap_or_default();
    if headers.contains_key(header::ORIGIN)
        && !text(header::ORIGIN).is_some_and(|origin| guard::origin_is_ours(origin, host))
    {
        return refuse("pages of other sites may not read this mesh");
    }
    let Some(seat) = shared.seats.take(network) else {
        let why = "too many browsers show this mesh; close one of them";
        return (StatusCode::SERVICE_UNAVAILABLE, Body::from(why)).into_response();
    };
    upgrade
        .max_message_size(LONGEST)
        .max_frame_size(LONGEST)
        .on_upgrade(move |socket| async move {
            let hub = shared.hub.clone();
            // An error ends the browser's connection.
            tokio::select! {
                _ = converse(socket, &shared, &seat) => {}
                () = seat.lost() => {}
            }
            hub.leave();
            shared.ring();
        })
}

struct Over;

/// Sends changes to a page, and carries out its requests.
async fn converse(mut socket: WebSocket, shared: &Shared, seat: &Seat) -> Result<(), Over> {
    let (messages, mut news) = shared.hub.join();
    shared.ring();
    for message in messages {
        send(&mut socket, &message).await?;
    }
    let mut pings = tokio::time::interval(PING);
    loop {
        tokio::select! {
            message = news.recv() => match message {
                Ok(message) => send(&mut socket, &message).await?,
                Err(RecvError::Lagged(_)) => {
                    let (messages, fresh) = shared.hub.snapshot();
                    news = fresh;
                    for message in messages {
                        send(&mut socket, &message).await?;
                    }
                }
                Err(RecvError::Closed) => return Err(Over),
            },
            _ = pings.tick() => {
                if seat.asked() > PATIENCE {
                    return Err(Over);
                }
                put(&mut socket, ws::Message::Ping(Bytes::new())).await?;
            },
            said = socket.recv() => {
                seat.heard();
                match said {
                    Some(Ok(ws::Message::Text(text))) => {
                        let answer = shared.answer(&text).await;
                        let answer = FromServer::Answer(answer).to_string();
                        send(&mut socket, &answer.into()).await?;
                    }
                    Some(Ok(ws::Message::Close(_)) | Err(_)) | None => return Err(Over),
                    Some(Ok(_)) => {}
                }
            },
        }
    }
}

async fn send(socket: &mut WebSocket, message: &Message) -> Result<(), Over> {
    put(socket, ws::Message::Text(message.as_ref().into())).await
}

async fn put(socket: &mut WebSocket, message: ws::Message) -> Result<(), Over> {
    match tokio::time::timeout(PATIENCE, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Over),
    }
}

impl Shared {
    /// Wakes the simulation, so that it handles waiting requests.
    fn ring(&self) {
        // Ignore an error: if there is no room, a byte already waits.
        let _ = (&*self.bell).write(&[1]);
    }

    /// Carries out the request of a page, or refuses it.
    async fn answer(&self, said: &str) -> Answer {
        let said: FromPage = match serde_json::from_str(said) {
            Ok(said) => said,
            Err(error) => {
                return Answer {
                    id: 0,
                    ok: false,
                    text: format!("invalid message: {error}"),
                };
            }
        };
        let id = said.id;
        let done = match said.ask {
            Ask::Layers(frames) => {
                let layers = self.hub.layers(&frames);
                layers.ok_or_else(|| {
                    "allowed: one or two radio frames in hexadecimal, of at most 127 bytes each"
                        .to_owned()
                })
            }
            _ if !guard::is_token(&said.token, &self.token) => Err(
                "this page is read-only without the token: open the address that the terminal \
                    shows"
                    .to_owned(),
            ),
            Ask::Clock(ask) => self.ask(BrowserRequest::Clock(ask)).await,
            Ask::Mesh(command) => self.ask(BrowserRequest::Mesh(command)).await,
        };
        let ok = done.is_ok();
        let text = done.unwrap_or_else(|why| why);
        Answer { id, ok, text }
    }

    async fn ask(&self, what: BrowserRequest) -> Result<String, String> {
        let (answer, answered) = oneshot::channel();
        let sent = self.requests.try_send(Request { what, answer });
        sent.map_err(|_| "the simulation is too busy to answer; try again".to_owned())?;
        self.ring();
        let said = answered.await;
        said.unwrap_or_else(|_| Err("the simulation has ended".to_owned()))
    }
}
