//! Whether header and library belong together.

use redpoll_socket::Errno;
use redpoll_socket::posix::Poll;

use crate::config::RpConfig;
use crate::error::{Code, code};
use crate::ip::RpIpConfig;
use crate::node::RpWork;
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
) -> Code {
    let here = [
        size_of::<RpConfig>(),
        size_of::<RpIpConfig>(),
        size_of::<RpWork>(),
        size_of::<RpEndpoint>(),
        size_of::<Poll>(),
        size_of::<RpWaiter>(),
    ];
    match here == [config, ip_config, work, endpoint, pollfd, waiter] {
        true => 0,
        false => code(Err(Errno::EINVAL)),
    }
}
