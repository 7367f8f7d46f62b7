//! `--advertise`: the route to the mesh is advertised on a link of this computer.

use redpoll_linux::advertiser::{Advertiser, AdvertiserError};
use redpoll_linux::entropy;
use redpoll_sim::Scenario;

use super::{UpArgs, failed, join, unusable};
use crate::failure::Failure;

const FORWARDING: &str = "/proc/sys/net/ipv6/conf/all/forwarding";

pub(super) fn advertiser(
    args: &UpArgs,
    scenario: &Scenario,
    way: join::Way,
) -> Result<Option<Advertiser>, Failure> {
    let Some(interface) = &args.advertise else {
        return Ok(None);
    };
    if way != join::Way::Tun {
        let line = "--advertise needs a TUN interface in the same network namespace as the \
            interface on which the route is advertised; run the program as root";
        return Err(failed(line));
    }
    let mut seed = [0; 8];
    entropy::fill(&mut seed).map_err(failed)?;
    let prefix = scenario.border.prefix.into();
    let advertiser = Advertiser::new(interface, prefix, u64::from_le_bytes(seed));
    let advertiser = advertiser.map_err(|error| {
        let line = format!("--advertise: {error}");
        match error {
            AdvertiserError::NoInterface(_) => unusable(line),
            _ => failed(line),
        }
    })?;
    let forwards = std::fs::read_to_string(FORWARDING);
    if forwards.is_ok_and(|value| value.trim() == "0") {
        eprintln!(
            "warning: this computer does not forward packets, so computers that learn the route \
             to the mesh cannot reach it; to forward: sysctl -w net.ipv6.conf.all.forwarding=1"
        );
    }
    Ok(Some(advertiser))
}
