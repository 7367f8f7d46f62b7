//! Gives up the rights that a program no longer needs, in this order:
//!
//! - [`account`]: the process takes the identity of another user;
//! - [`give_up`]: it drops capabilities (capabilities(7));
//! - [`sandbox`]: it restricts itself to some files (landlock(7)) and system calls (seccomp(2)).

pub mod account;
pub mod sandbox;
mod syscalls;

use std::fs;
use std::io;

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl;
use nix::unistd::{getresgid, getresuid, setgroups, setresgid, setresuid};

pub use account::Account;

/// A capability that a program still needs after it has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// `CAP_KILL`: to end processes of other users.
    Kill,
    /// `CAP_NET_ADMIN`: the kernel requires it for every verdict about a packet.
    NetAdmin,
}

/// Becomes the account, if there is one, and drops all capabilities that the thread has, except
/// `keeps`. The inheritable and ambient sets become empty, and so does the bounding set if the
/// thread has CAP_SETPCAP. No program that it starts can gain a right (`no_new_privs`). Open files
/// and interfaces stay open. Fails if another thread exists, because that thread would keep its
/// capabilities.
pub fn give_up(account: Option<&Account>, keeps: &[Keep]) -> io::Result<()> {
    refuse_threads()?;
    let permitted = caps::read(None, CapSet::Permitted).map_err(io::Error::other)?;
    let kept: CapsHashSet = keeps
        .iter()
        .map(|keep| match keep {
            Keep::Kill => Capability::CAP_KILL,
            Keep::NetAdmin => Capability::CAP_NET_ADMIN,
        })
        .filter(|capability| permitted.contains(capability))
        .collect();
    if has(Capability::CAP_SETPCAP) {
        caps::clear(None, CapSet::Bounding).map_err(io::Error::other)?;
    }
    if let Some(account) = account {
        // Without this call, a change from user 0 empties the permitted set.
        prctl::set_keepcaps(!kept.is_empty())?;
        become_account(account)?;
        prctl::set_keepcaps(false)?;
    }
    // The effective set is a part of the permitted one, so it is changed first. The ambient set is
    // a part of the inheritable one: the kernel empties both together.
    caps::set(None, CapSet::Effective, &kept).map_err(io::Error::other)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(io::Error::other)?;
    caps::clear(None, CapSet::Inheritable).map_err(io::Error::other)?;
    prctl::set_no_new_privs()?;
    Ok(())
}

pub fn has_net_admin() -> bool {
    has(Capability::CAP_NET_ADMIN)
}

fn has(capability: Capability) -> bool {
    caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false)
}

fn become_account(account: &Account) -> io::Result<()> {
    let (uid, gid) = (account.uid, account.gid);
    setgroups(&account.groups)?;
    setresgid(gid, gid, gid)?;
    setresuid(uid, uid, uid)?;
    let (users, groups) = (getresuid()?, getresgid()?);
    let is_done = [users.real, users.effective, users.saved] == [uid; 3]
        && [groups.real, groups.effective, groups.saved] == [gid; 3];
    if is_done {
        Ok(())
    } else {
        // The error contains no text, because this function also runs between fork and exec, where
        // no memory may be allocated.
        Err(io::Error::from_raw_os_error(libc::EPERM))
    }
}

/// Capabilities and Landlock's rules apply to one thread, so the process must have only one thread.
fn refuse_threads() -> io::Result<()> {
    // Without /proc the number of threads is unknown.
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Ok(());
    };
    match threads.count() {
        0 | 1 => Ok(()),
        count => Err(io::Error::other(format!(
            "the process has {count} threads, but can drop its privileges only while it has one \
             thread"
        ))),
    }
}
