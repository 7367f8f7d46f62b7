//! Ways in which the mesh is joined to this computer.

use std::fmt;

use redpoll_linux::namespace::{self, NamespaceError};
use redpoll_linux::tun::{Tun, TunConfig, TunError};
use redpoll_sim::Scenario;

use super::args::{Join, UpArgs};

/// The smallest MTU that IPv6 allows (RFC 8200 §5), which 6LoWPAN carries (RFC 4944 §4).
const MTU: u16 = 1280;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// A TUN interface in the user's network namespace.
    Tun,
    /// A TUN interface in a new network namespace, which this process has entered.
    Namespace,
    /// No interface; forwarded ports use sockets.
    Forward,
}

#[derive(Debug)]
pub(super) struct Joined {
    pub(super) way: Way,
    pub(super) tun: Option<Tun>,
    /// Reason for which a preferred way was not possible.
    pub(super) because: Option<String>,
}

/// Reason for which the mesh could not be joined to this computer.
#[derive(Debug)]
pub(super) enum JoinError {
    Tun(TunError),
    Namespace(NamespaceError),
    NothingToForward,
    NoWay(TunError, NamespaceError),
}

impl JoinError {
    /// Returns whether the command line is wrong: the interface of `--name` exists already, or
    /// `--join forward` has no `--forward`.
    pub(super) fn is_usage(&self) -> bool {
        matches!(
            self,
            JoinError::Tun(TunError::NameInUse(_)) | JoinError::NothingToForward
        )
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ADVICE: &str =
            "forward single ports, which needs no privilege: --forward 8080:NODE:80";
        match self {
            JoinError::Tun(e) => write!(f, "{e}"),
            JoinError::Namespace(e) => write!(f, "{e}; run redpoll as root, or {ADVICE}"),
            JoinError::NothingToForward => write!(
                f,
                "--join forward needs at least one --forward PORT:NODE:PORT"
            ),
            JoinError::NoWay(tun, namespace) => {
                write!(
                    f,
                    "the mesh cannot be connected to this computer: {tun}; {namespace}; run \
                     redpoll as root, or {ADVICE}"
                )
            }
        }
    }
}

/// Joins the mesh in the way that `args` names, or otherwise in the first possible way. If that way
/// is a namespace, this process enters it.
pub(super) fn join(
    args: &UpArgs,
    scenario: &Scenario,
    forwards: bool,
) -> Result<Joined, JoinError> {
    let config = TunConfig {
        name: args.name.clone(),
        address: scenario.border.host.into(),
        route: (scenario.border.prefix.into(), 64),
        mtu: MTU,
    };
    match args.join {
        Join::Auto if args.shell => by_namespace(&config, None),
        Join::Auto => automatically(args, &config, forwards),
        Join::Tun => by_tun(&config).map_err(JoinError::Tun),
        Join::Namespace => by_namespace(&config, None),
        Join::Forward if forwards => Ok(Joined {
            way: Way::Forward,
            tun: None,
            because: None,
        }),
        Join::Forward => Err(JoinError::NothingToForward),
    }
}

fn automatically(args: &UpArgs, config: &TunConfig, forwards: bool) -> Result<Joined, JoinError> {
    let no_tun = match by_tun(config) {
        Ok(joined) => return Ok(joined),
        Err(e) if e.is_permission() => e,
        Err(e) => return Err(JoinError::Tun(e)),
    };
    let no_namespace = match namespace::probe(config) {
        // A user who only forwards ports does not need a namespace.
        Ok(()) if forwards && args.is_alone() => None,
        Ok(()) => return by_namespace(config, Some(no_tun.to_string())),
        Err(e) => Some(e),
    };
    match no_namespace {
        Some(e) if !forwards => Err(JoinError::NoWay(no_tun, e)),
        other => Ok(Joined {
            way: Way::Forward,
            tun: None,
            because: Some(match other {
                Some(e) => format!("{no_tun}; {e}"),
                None => no_tun.to_string(),
            }),
        }),
    }
}

fn by_tun(config: &TunConfig) -> Result<Joined, TunError> {
    let tun = Tun::create(config)?;
    Ok(Joined {
        way: Way::Tun,
        tun: Some(tun),
        because: None,
    })
}

fn by_namespace(config: &TunConfig, because: Option<String>) -> Result<Joined, JoinError> {
    namespace::probe(config).map_err(JoinError::Namespace)?;
    namespace::enter().map_err(JoinError::Namespace)?;
    let tun = Tun::create(config).map_err(JoinError::Tun)?;
    Ok(Joined {
        way: Way::Namespace,
        tun: Some(tun),
        because,
    })
}
