//! The routes with which a simulated node starts.

use redpoll_base::Addr;
use redpoll_mac::Access;
use redpoll_stack::{Route, Via};
use redpoll_wire::ieee802154::Address;

use super::SimNode;
use crate::scenario::{Role, Scenario, global_address};
use crate::topology::NodeRoutes;

/// Adds to `node`, which is node `index` of the scenario, the routes with which it starts.
pub(super) fn add(
    scenario: &Scenario,
    index: usize,
    routes: &NodeRoutes,
    node: &mut SimNode<impl Access>,
) {
    let sleeps = |dest: usize, address: &Addr| {
        scenario.nodes.get(dest).is_some_and(|node| {
            node.sleepy && *address == global_address(&scenario.border.prefix, node.short)
        })
    };
    for (route, dest) in routes_of(scenario, index, routes) {
        // Adding a route cannot fail, because the node's table has room for every route of
        // `routes_of`. The host route to a sleepy node lasts only until the sleepy node registers
        // its address with its parent.
        let _ = match dest.is_some_and(|dest| sleeps(dest, &route.prefix)) {
            true => node.add_route_until_registered(route.prefix, route.via),
            false => node.add_route(route),
        };
    }
}

fn routes_of(
    scenario: &Scenario,
    index: usize,
    routes: &NodeRoutes,
) -> Vec<(Route, Option<usize>)> {
    let prefix = scenario.border.prefix;
    let neighbour = |node| {
        let link = scenario.link_address(node);
        Via::Neighbour(link.unwrap_or(Address::Absent))
    };
    let finds = scenario.finds_routes(index);
    let hosts = routes.hosts.iter().filter(|_| !finds);
    let mut list: Vec<(Route, Option<usize>)> = hosts
        .map(|host| {
            let route = Route {
                prefix: scenario.address(host.dest).unwrap_or_default(),
                len: 128,
                via: neighbour(host.next_hop),
            };
            (route, Some(host.dest))
        })
        .collect();
    let default = |via| {
        let route = Route {
            prefix: Addr::UNSPECIFIED,
            len: 0,
            via,
        };
        (route, None)
    };
    if Some(index) == scenario.host_index() {
        list.push(default(Via::Host));
    } else if scenario.nodes[index].role == Role::Border {
        // A packet to an address without a node must not return to the host by the default route.
        // RPL ensures this itself; without RPL, an unreachable route does.
        if !finds {
            let unreachable = Route {
                prefix,
                len: 64,
                via: Via::Unreachable,
            };
            list.push((unreachable, None));
        }
        list.push(default(Via::Host));
    } else if let Some(next_hop) = routes.default.filter(|_| !finds) {
        list.push(default(neighbour(next_hop)));
    }
    list
}
