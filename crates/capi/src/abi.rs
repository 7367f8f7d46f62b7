//! The check that the header matches the library.

use redpoll_socket::Errno;
use redpoll_socket::posix::Poll;

#[cfg(feature = "radio")]
use crate::config::RpConfig;
use crate::endpoint::RpEndpoint;
use crate::error::{Code, code};
use crate::ip::RpIpConfig;
use crate::measure::RpTcpInfo;
#[cfg(feature = "radio")]
use crate::node::RpWork;
use crate::waiting::RpWaiter;

/// `redpoll.h` describes this function.
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
        size_of::<RpIpConfig>(),
        size_of::<RpEndpoint>(),
        size_of::<Poll>(),
        size_of::<RpWaiter>(),
        size_of::<RpTcpInfo>(),
    ];
    let header = [ip_config, endpoint, pollfd, waiter, tcp_info];
    match here == header && suits_radio(config, work) {
        true => 0,
        false => code(Err(Errno::EINVAL)),
    }
}

/// Checks the structs of nodes on a radio.
#[cfg(feature = "radio")]
fn suits_radio(config: usize, work: usize) -> bool {
    [config, work] == [size_of::<RpConfig>(), size_of::<RpWork>()]
}

/// Accepts any sizes, because a library without nodes on a radio never reads their structs.
#[cfg(not(feature = "radio"))]
fn suits_radio(_: usize, _: usize) -> bool {
    true
}
