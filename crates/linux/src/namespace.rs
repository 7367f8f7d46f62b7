//! A separate network, also for a user other than root: a network namespace, in a user namespace if
//! necessary, in which this process may make interfaces.

use std::fs;
use std::io;
use std::os::fd::AsFd;

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork, getgid, getuid};

use crate::tun::{self, Tun, TunConfig};

#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// The kernel or its policy allows this user no namespace.
    #[error("this kernel does not allow this user to create a user namespace: {step}: {source}")]
    Refused {
        step: &'static str,
        source: io::Error,
    },
    /// There is a namespace, but no TUN interface can be made in it.
    #[error("this kernel allows a user namespace, but no TUN interface in it")]
    NoTun,
}

fn refused<E: Into<io::Error>>(step: &'static str) -> impl Fn(E) -> NamespaceError {
    move |source| NamespaceError::Refused {
        step,
        source: source.into(),
    }
}

/// Moves this process into a new network namespace, with its loopback interface up. A user other
/// than root becomes root of a user namespace. Sockets that were opened before stay in their
/// network. The process cannot return, so call [`probe`] first. Fails with
/// [`NamespaceError::Refused`], also (EINVAL) in a process of several threads that is not root.
pub fn enter() -> Result<(), NamespaceError> {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        enter_as_user()?;
    }
    loopback_up().map_err(refused("set the loopback interface up"))
}

fn enter_as_user() -> Result<(), NamespaceError> {
    let (uid, gid) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(refused("make a namespace (unshare)"))?;
    // user_namespaces(7): without setgroups denied, an unprivileged process
    // may not write its group map.
    fs::write("/proc/self/setgroups", "deny").map_err(refused("deny setgroups"))?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1")).map_err(refused("map the user ID"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1")).map_err(refused("map the group ID"))
}

/// Determines in a short-lived child whether [`enter`] and then [`Tun::create`] would work, because
/// an attempt in this process could not be undone.
pub fn probe(config: &TunConfig) -> Result<(), NamespaceError> {
    const NO_TUN: i32 = 255;
    // SAFETY: callers are single-threaded (`enter` would be refused otherwise), so no lock can be
    // held by a thread that does not exist in the child. The child ends in `_exit`, so it runs no
    // destructor of the parent.
    match unsafe { fork() }.map_err(refused("fork"))? {
        ForkResult::Child => {
            let code = match enter() {
                Err(NamespaceError::Refused { source, .. }) => {
                    source.raw_os_error().unwrap_or(libc::EPERM)
                }
                Err(NamespaceError::NoTun) => NO_TUN,
                Ok(()) if Tun::create(config).is_err() => NO_TUN,
                Ok(()) => 0,
            };
            // SAFETY: `_exit` takes any number and does not return.
            unsafe { libc::_exit(code.min(NO_TUN)) }
        }
        ForkResult::Parent { child } => match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, 0)) => Ok(()),
            Ok(WaitStatus::Exited(_, NO_TUN)) => Err(NamespaceError::NoTun),
            Ok(WaitStatus::Exited(_, errno)) => Err(refused("make a namespace")(
                io::Error::from_raw_os_error(errno),
            )),
            _ => Err(NamespaceError::NoTun),
        },
    }
}

fn loopback_up() -> io::Result<()> {
    let socket = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    tun::set_up(socket.as_fd(), "lo")
}

/// Returns whether [`enter`] has moved this process into a user namespace as well.
pub fn is_of_a_user() -> bool {
    // user_namespaces(7): the initial namespace maps all identifiers.
    fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|map| map.split_whitespace().nth(2) == Some("1"))
}
