//! A web server with a page and a file.

use core::convert::Infallible;

use edge_nal::TcpBind;
use redpoll_apps::http::{self, Error, Site};

pub use redpoll_apps::http::AT_ONCE;

/// The answer to `/`.
pub const PAGE: &str = "A web server on Redpoll.\n";

/// Returns byte `at` of `/file`.
pub fn content(at: usize) -> u8 {
    (at as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[0]
}

/// Answers on `port`: `/` with [`PAGE`], `/file` with `file` bytes. `pause` waits for a number of
/// milliseconds. Returns errors of binding and accepting.
pub async fn serve<N: TcpBind>(
    net: &N,
    port: u16,
    file: usize,
    pause: impl AsyncFn(u32),
) -> Result<Infallible, Error<N::Error>> {
    http::serve(net, port, &Sample { file }, pause).await
}

struct Sample {
    file: usize,
}

#[derive(Clone, Copy)]
enum Resource {
    Page,
    File,
}

impl Site for Sample {
    type Resource = Resource;

    fn find(&self, path: &str) -> Option<Resource> {
        match path {
            "/" => Some(Resource::Page),
            "/file" => Some(Resource::File),
            _ => None,
        }
    }

    fn len(&self, resource: Resource) -> usize {
        match resource {
            Resource::Page => PAGE.len(),
            Resource::File => self.file,
        }
    }

    fn read(&self, resource: Resource, begin: usize, out: &mut [u8]) {
        match resource {
            Resource::Page => out.copy_from_slice(&PAGE.as_bytes()[begin..begin + out.len()]),
            Resource::File => {
                for (at, byte) in out.iter_mut().enumerate() {
                    *byte = content(begin + at);
                }
            }
        }
    }
}
