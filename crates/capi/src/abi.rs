//! The check that header and library belong together, and the library's version.

use core::ffi::{CStr, c_char};

use redpoll_socket::Errno;
use redpoll_socket::posix::Poll;

use crate::config::RpConfig;
use crate::error::{Code, code};
use crate::ip::RpIpConfig;
use crate::node::RpWork;
use crate::options::RpTcpInfo;
use crate::socket::RpEndpoint;
use crate::waiting::RpWaiter;

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn rp_abi_check(
    config: usize,
    ip_config: usize,
    work: usize,
    endpoint: usize,
    pollfd: usize,
    waiter: usize,
    tcp_info: usize,
) -> Code {
    let here = [
        size_of::<RpConfig>(),
        size_of::<RpIpConfig>(),
        size_of::<RpWork>(),
        size_of::<RpEndpoint>(),
        size_of::<Poll>(),
        size_of::<RpWaiter>(),
        size_of::<RpTcpInfo>(),
    ];
    let header = [config, ip_config, work, endpoint, pollfd, waiter, tcp_info];
    match here == header {
        true => 0,
        false => code(Err(Errno::EINVAL)),
    }
}

/// The version with its final zero.
const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn rp_version() -> *const c_char {
    VERSION.as_ptr()
}
