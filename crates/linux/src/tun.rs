//! A TUN interface: whole IPv6 packets between the host's kernel and this process.
//!
//! The interface is not persistent. It exists, with its address and its route, as long as the
//! descriptor. When the process ends, even by SIGKILL, the kernel removes all three.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::net::{Ipv6Addr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::ioctl;

/// Device file of the kernel for TUN interfaces.
pub const DEVICE: &str = "/dev/net/tun";

#[derive(Clone, Debug)]
pub struct TunConfig {
    /// Name of up to 15 characters; the kernel replaces one `%d` in it by a number.
    pub name: String,
    pub address: Ipv6Addr,
    /// The prefix that is reached through the interface, and its length, 0 to 128.
    pub route: (Ipv6Addr, u8),
    /// Largest packet in bytes; IPv6 requires at least 1280 (RFC 8200 §5).
    pub mtu: u16,
}

#[derive(Debug, thiserror::Error)]
pub enum TunError {
    /// The device node is missing: no `tun` module, or a container without the device.
    #[error(
        "{DEVICE} does not exist (load it with `modprobe tun`, or give the container the device)"
    )]
    NoDevice,
    /// The device node or the interface may not be used by this user.
    #[error("no permission to {0} (needs root or CAP_NET_ADMIN)")]
    NoPermission(&'static str),
    #[error("interface {0} already exists: choose another name with --name")]
    NameInUse(String),
    #[error(
        "{0} is already an address of this host, perhaps of another mesh: give each mesh a \
         different prefix with --prefix, or choose another address with --set border.host=ADDRESS"
    )]
    AddressInUse(Ipv6Addr),
    /// The host already has a route to the prefix. One of the two routes would hide the other.
    #[error(
        "this host already has a route to {0}/{1}, perhaps to another mesh: choose another prefix \
         with --prefix"
    )]
    PrefixInUse(Ipv6Addr, u8),
    /// The host has IPv6 switched off.
    #[error(
        "IPv6 is disabled on this host: enable it with sysctl \
        net.ipv6.conf.all.disable_ipv6=0"
    )]
    NoIpv6,
    /// Another failure, with the step that failed.
    #[error("cannot {step}: {source}")]
    Io {
        step: &'static str,
        source: io::Error,
    },
}

impl TunError {
    /// Returns whether a user with more rights could make the interface.
    pub fn is_permission(&self) -> bool {
        matches!(self, TunError::NoDevice | TunError::NoPermission(_))
    }

    fn at(step: &'static str) -> impl Fn(io::Error) -> TunError {
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied => TunError::NoPermission(step),
            _ => TunError::Io { step, source },
        }
    }
}

const ROUTES: &str = "/proc/thread-self/net/ipv6_route";

/// An interface that is up, with its address; it is removed when this value is dropped.
#[derive(Debug)]
pub struct Tun {
    device: File,
    name: String,
    route: (Ipv6Addr, u8),
    /// The list of routes, opened before the sandbox forbids opening files; `None` if the kernel
    /// does not list routes.
    routes: Option<File>,
}

impl Tun {
    /// Makes the interface, sets it up with its address and its route, and returns when the address
    /// can be used. After an error, nothing remains.
    pub fn create(config: &TunConfig) -> Result<Tun, TunError> {
        let device = open()?;
        let name = attach(&device, &config.name)?;
        // This check comes after `attach`, so that a user without permission gets the error of
        // `attach`. This user may still create an interface with the same address in another
        // namespace.
        if UdpSocket::bind(SocketAddrV6::new(config.address, 0, 0, 0)).is_ok() {
            return Err(TunError::AddressInUse(config.address));
        }
        let tun = Tun {
            device,
            name,
            route: config.route,
            routes: File::open(ROUTES).ok(),
        };
        if tun.has_route() == Some(true) {
            let (prefix, len) = config.route;
            return Err(TunError::PrefixInUse(prefix, len));
        }
        tun.configure(config)?;
        Ok(tun)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the mesh can still be reached through the interface. An interface that is
    /// set down loses its address and its route, and does not regain them when it is set up.
    pub fn is_intact(&self) -> bool {
        self.has_route() != Some(false)
    }

    /// Returns whether this network has a route to exactly the interface's prefix; `None` where the
    /// kernel does not list the routes.
    fn has_route(&self) -> Option<bool> {
        let (prefix, len) = self.route;
        let start = format!("{:032x} {len:02x} ", u128::from(prefix));
        let mut file = self.routes.as_ref()?;
        let mut routes = String::new();
        file.seek(SeekFrom::Start(0)).ok()?;
        file.read_to_string(&mut routes).ok()?;
        Some(routes.lines().any(|route| route.starts_with(&start)))
    }

    /// Returns the message for an interface that is not [intact](Self::is_intact).
    pub fn gone(&self) -> String {
        let (prefix, len) = self.route;
        format!(
            "the interface {} has lost its route to {prefix}/{len}: another program removed the \
             route or switched the interface off; find that program, then start this one again",
            self.name
        )
    }

    /// Receives the next packet that the host sends into the mesh; `None` if there is none now. A
    /// packet longer than `packet` is cut. Returns the kernel's error, for instance if another
    /// program sets the interface down.
    pub fn recv(&self, packet: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match (&self.device).read(packet) {
                Ok(len) => return Ok(Some(len)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Gives a packet to the host's kernel. Returns `false` if the kernel refuses it, for instance
    /// because it is not an IP packet. Returns the kernel's error, for instance if another program
    /// sets the interface down.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        loop {
            match (&self.device).write(packet) {
                Ok(_) => return Ok(true),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if refused(&e) => return Ok(false),
                Err(e) => return Err(e),
            }
        }
    }

    fn configure(&self, config: &TunConfig) -> Result<(), TunError> {
        self.prepare_ipv6();
        let socket = nix::sys::socket::socket(
            nix::sys::socket::AddressFamily::Inet6,
            nix::sys::socket::SockType::Datagram,
            nix::sys::socket::SockFlag::SOCK_CLOEXEC,
            None,
        )
        .map_err(|_| TunError::NoIpv6)?;
        let socket = socket.as_fd();
        let request = || ioctl::ifreq(&self.name).map_err(TunError::at("name the interface"));

        let mut mtu = request()?;
        mtu.ifr_ifru.ifru_mtu = config.mtu.into();
        ioctl::call(socket, &ioctl::SIOCSIFMTU, &mut mtu)
            .map_err(TunError::at("set the interface's MTU"))?;
        set_up(socket, &self.name).map_err(TunError::at("set the interface up"))?;

        let mut index = request()?;
        ioctl::call(socket, &ioctl::SIOCGIFINDEX, &mut index)
            .map_err(TunError::at("find the interface's index"))?;
        let index = ioctl::index_of(&index);
        let mut address = libc::in6_ifreq {
            ifr6_addr: libc::in6_addr {
                s6_addr: config.address.octets(),
            },
            ifr6_prefixlen: 128,
            ifr6_ifindex: index,
        };
        ioctl::call(socket, &ioctl::SIOCSIFADDR_IN6, &mut address)
            .map_err(TunError::at("give the interface its address"))?;
        ioctl::call(
            socket,
            &ioctl::SIOCADDRT_IN6,
            &mut ioctl::In6Rtmsg::new(config.route, index),
        )
        .map_err(TunError::at("add the route to the mesh"))?;
        wait_for(config.address)
    }

    /// Enables IPv6 for the interface if the system's default is off, and disables the kernel's own
    /// link-local address. This address would only cause router solicitations and multicast reports
    /// in the mesh. If /proc/sys is read-only, both settings stay unchanged without harm.
    fn prepare_ipv6(&self) {
        let conf = format!("/proc/sys/net/ipv6/conf/{}", self.name);
        let _ = fs::write(format!("{conf}/disable_ipv6"), "0");
        let _ = fs::write(format!("{conf}/addr_gen_mode"), "1");
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Sets an interface up, as `ip link set … up` does.
pub(crate) fn set_up(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = ioctl::ifreq(name)?;
    ioctl::call(socket, &ioctl::SIOCGIFFLAGS, &mut request)?;
    request.ifr_ifru.ifru_flags = ioctl::flags_of(&request) | libc::IFF_UP as libc::c_short;
    ioctl::call(socket, &ioctl::SIOCSIFFLAGS, &mut request)
}

/// Waits at most 30 s until the host may use the address. The kernel ends its search for a
/// duplicate in a worker thread, which waits while other namespaces are removed.
fn wait_for(address: Ipv6Addr) -> Result<(), TunError> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match UdpSocket::bind(SocketAddrV6::new(address, 0, 0, 0)) {
            Ok(_) => return Ok(()),
            Err(_) if Instant::now() < deadline => sleep(Duration::from_millis(1)),
            Err(e) => return Err(TunError::at("bind a socket to the interface's address")(e)),
        }
    }
}

fn open() -> Result<File, TunError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(DEVICE)
        .map_err(|e| match e.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => TunError::NoDevice,
            _ => TunError::at("open /dev/net/tun")(e),
        })
}

fn attach(device: &File, name: &str) -> Result<String, TunError> {
    let mut request = ioctl::ifreq(name).map_err(TunError::at("name the interface"))?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    ioctl::call(device.as_fd(), &ioctl::TUNSETIFF, &mut request).map_err(|e| {
        match e.raw_os_error() {
            Some(libc::EBUSY | libc::EEXIST) => TunError::NameInUse(name.to_owned()),
            // An interface of another kind has this name.
            Some(libc::EINVAL) if nix::net::if_::if_nametoindex(name).is_ok() => {
                TunError::NameInUse(name.to_owned())
            }
            _ => TunError::at("create a TUN interface")(e),
        }
    })?;
    Ok(ioctl::name_of(&request))
}

/// Returns whether the kernel refused only this packet, and not the interface.
fn refused(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINVAL | libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EMSGSIZE)
    )
}
