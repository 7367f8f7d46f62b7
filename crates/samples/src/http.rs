//! A web server with a page and a file.

use core::fmt::{Debug, Display};
use core::net::{Ipv6Addr, SocketAddr};

use edge_http::io::Error;
use edge_http::io::server::{Connection, Handler, Server};
use edge_http::{Method, RequestHeaders};
use edge_nal::{TcpBind, TcpSplit};
use embedded_io_async::{Read, Write};

use crate::decimal::Decimal;

/// Requests that are answered at the same time.
pub const AT_ONCE: usize = 2;
/// Bytes of a request's head.
const HEAD: usize = 512;
/// Fields of a request's head.
const FIELDS: usize = 16;

/// What `/` answers.
pub const PAGE: &str = "A web server on Redpoll.\n";

/// Byte `at` of `/file`.
pub fn content(at: usize) -> u8 {
    (at as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[0]
}

/// Answers on `port`: `/` with [`PAGE`], `/file` with so many bytes, else 404 and 405. It
/// ends with an error if the network does.
///
/// # Errors
/// Those of binding and accepting.
pub async fn serve<N: TcpBind>(net: &N, port: u16, file: usize) -> Result<(), Error<N::Error>> {
    let local = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
    let listener = net.bind(local).await.map_err(Error::Io)?;
    let mut server = Server::<AT_ONCE, HEAD, FIELDS>::new();
    server.run(None, listener, Site { file }).await
}

/// Whether a request has one Host, which only HTTP/1.0 may leave out (RFC 9112 §3.2).
fn is_sound<const N: usize>(head: &RequestHeaders<'_, N>) -> bool {
    let fields = head.headers.iter_raw();
    let mut hosts = fields.filter(|(name, _)| name.eq_ignore_ascii_case("Host"));
    let is_good = match hosts.next() {
        Some((_, value)) => !value.iter().any(|byte| b" \t/?#@".contains(byte)),
        None => !head.http11,
    };
    is_good && hosts.next().is_none()
}

struct Site {
    file: usize,
}

impl Handler for Site {
    type Error<E>
        = Error<E>
    where
        E: Debug;

    async fn handle<T, const N: usize>(
        &self,
        _task: impl Display + Copy,
        connection: &mut Connection<'_, T, N>,
    ) -> Result<(), Error<T::Error>>
    where
        T: Read + Write + TcpSplit,
    {
        let head = connection.headers()?;
        let (is_get, path) = (head.method == Method::Get, head.path);
        let file = path == "/file";
        let is_sound = is_sound(head);
        let (status, bytes) = match (is_get, path) {
            _ if !is_sound => (400, 0),
            (false, _) => (405, 0),
            (true, "/") => (200, PAGE.len()),
            (true, "/file") => (200, self.file),
            _ => (404, 0),
        };
        let length = Decimal::of(i32::try_from(bytes).unwrap_or(i32::MAX));
        let fields = [("Content-Length", length.as_str())];
        connection.initiate_response(status, None, &fields).await?;
        if status != 200 {
            return Ok(());
        }
        if !file {
            return connection.write_all(PAGE.as_bytes()).await;
        }
        let mut chunk = [0; 256];
        for begin in (0..bytes).step_by(chunk.len()) {
            let len = chunk.len().min(bytes - begin);
            for (at, byte) in chunk[..len].iter_mut().enumerate() {
                *byte = content(begin + at);
            }
            connection.write_all(&chunk[..len]).await?;
        }
        Ok(())
    }
}
