//! Giving up what is not needed any more (capabilities(7)).

use std::io;

use nix::sys::prctl;

/// `_LINUX_CAPABILITY_VERSION_3`: 64 bits in two halves.
const VERSION_3: u32 = 0x2008_0522;
/// `CAP_KILL`, by its number.
const KILL: u32 = 1 << 5;

/// `struct __user_cap_header_struct`.
#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// `struct __user_cap_data_struct`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// `CAP_NET_ADMIN`, by its number.
const NET_ADMIN: u32 = 1 << 12;
/// `CAP_SETPCAP`, by its number.
const SETPCAP: u32 = 1 << 8;
/// Numbers of capabilities that a kernel can have.
const NUMBERS: std::ops::Range<libc::c_ulong> = 0..64;

/// Drops this thread's capabilities, all but that of ending processes of other users
/// if `keeps_kill`: from its sets and, where it may, from the bounding set. No program that it
/// starts can gain any (`no_new_privs`). Files and interfaces that are open stay open.
///
/// # Errors
///
/// The kernel's, which has no reason to refuse that.
pub fn drop_all(keeps_kill: bool) -> io::Result<()> {
    drop_all_but(if keeps_kill { KILL } else { 0 })
}

/// Drops this thread's capabilities as [`drop_all`] does, all but `CAP_NET_ADMIN`, for which the
/// kernel asks with every verdict about a packet.
///
/// # Errors
///
/// The kernel's, which has no reason to refuse that.
pub fn keep_net_admin() -> io::Result<()> {
    drop_all_but(NET_ADMIN)
}

fn drop_all_but(keeps: u32) -> io::Result<()> {
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let mut now = [Data::default(); 2];
    // SAFETY: capget(2) reads a header of version 3 and writes two data structs.
    if unsafe { libc::syscall(libc::SYS_capget, &raw const header, now.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if now[0].effective & SETPCAP != 0 {
        drop_bounding(keeps);
    }
    prctl::set_no_new_privs()?;
    let mut kept = [Data::default(); 2];
    kept[0].permitted = now[0].permitted & keeps;
    kept[0].effective = kept[0].permitted;
    // SAFETY: capset(2) reads a header of version 3 and two data structs.
    match unsafe { libc::syscall(libc::SYS_capset, &raw const header, kept.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Drops all capabilities but those of `kept`, a set of bits, from the bounding set.
fn drop_bounding(kept: u32) {
    for number in NUMBERS {
        if u64::from(kept) >> number & 1 == 0 {
            let unused: libc::c_ulong = 0;
            // SAFETY: prctl(2) takes numbers here and touches no memory. It refuses a capability
            // that the kernel does not have, of which nothing can be dropped.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, unused, unused, unused) };
        }
    }
}
