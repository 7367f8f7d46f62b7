//! The nodes of an application: those that it runs on, and the node or host that it sends to.

use std::net::Ipv6Addr;

use super::{App, HOST};
use crate::scenario::check::unknown;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{Role, Target, TargetHost};

/// Name that the keys `on` and `to` of an app use for the border router, in addition to the name of
/// its node.
const BORDER: &str = "border";

impl App<'_, '_> {
    pub(super) fn target(&self) -> Result<Target, ScenarioError> {
        let key = self.key("to");
        let text = self.values.text(&key);
        let wrong = || {
            let allowed = "\"node:port\", \"border:port\", \"host:port\" or \"[address]:port\", \
                port from 1 to 65535";
            self.values
                .error(&key, format!("got \"{text}\"; allowed: {allowed}"))
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(wrong)?;
        if host == HOST {
            let addr = self.scenario.border.host;
            return Ok(Target {
                host: TargetHost::Outside,
                addr,
                port,
            });
        }
        if let Some(addr) = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let addr: Ipv6Addr = addr.parse().map_err(|_| wrong())?;
            let addr = addr.into();
            // If a simulated node has this address, the node is the target.
            let node = (0..self.scenario.nodes.len())
                .find(|index| self.scenario.address(*index) == Some(addr));
            let host = node.map_or(TargetHost::Outside, TargetHost::Node);
            return Ok(Target { host, addr, port });
        }
        match self.node(host) {
            Some(index) => {
                let addr = self.scenario.address(index).unwrap_or_default();
                Ok(Target {
                    host: TargetHost::Node(index),
                    addr,
                    port,
                })
            }
            None => {
                let names = std::iter::once(HOST);
                let names = names.chain(self.scenario.nodes.iter().map(|node| node.name.as_str()));
                let names: Vec<&str> = names.collect();
                Err(self.values.error(&key, unknown("node", host, &names)))
            }
        }
    }

    /// Returns the node called `name`; `border` is the border router unless a node has that name.
    fn node(&self, name: &str) -> Option<usize> {
        let border = || match name {
            BORDER => self.scenario.border_router(),
            _ => None,
        };
        self.scenario.node(name).or_else(border)
    }

    pub(super) fn nodes(&self, target: Option<&Target>) -> Result<Vec<usize>, ScenarioError> {
        let key = self.key("on");
        let all = || 0..self.scenario.nodes.len();
        let of_role = |role| all().filter(move |index| self.scenario.nodes[*index].role == role);
        let texts = self.values.texts(&key);
        let mut nodes: Vec<usize> = Vec::new();
        for text in &texts {
            match text.as_str() {
                "every node" => nodes.extend(all()),
                "every router" => nodes.extend(of_role(Role::Router)),
                "every leaf" => nodes.extend(of_role(Role::Leaf)),
                "every other node" => {
                    let far_end = target.map(|target| target.host);
                    nodes.extend(all().filter(|index| far_end != Some(TargetHost::Node(*index))));
                }
                HOST if self.scenario.border_router().is_none() => {
                    let problem = "got host, but no node has role = \"border\"; allowed: \
                                   names and groups of nodes, or host with a border router";
                    return Err(self.values.error(&key, problem));
                }
                HOST => nodes.push(self.scenario.nodes.len()),
                name => match self.node(name) {
                    Some(index) => nodes.push(index),
                    None => {
                        let names: Vec<&str> = self
                            .scenario
                            .nodes
                            .iter()
                            .map(|node| node.name.as_str())
                            .collect();
                        return Err(self.values.error(&key, unknown("node", name, &names)));
                    }
                },
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() {
            let problem = format!(
                "got \"{}\", but no node matches; allowed: names and groups of nodes that match at least one node",
                texts.join("\", \"")
            );
            return Err(self.values.error(&key, problem));
        }
        let far_end = target.and_then(|target| match target.host {
            TargetHost::Node(index) => Some(index),
            TargetHost::Outside => {
                (target.addr == self.scenario.border.host).then_some(self.scenario.nodes.len())
            }
        });
        if let Some(far_end) = far_end.filter(|far_end| nodes.contains(far_end)) {
            let name = self.scenario.nodes.get(far_end);
            let problem = format!(
                "got {}, the destination of the app; allowed: nodes other than the destination, \
                 such as \"every other node\", which selects all except the destination",
                name.map_or(HOST, |node| &node.name)
            );
            return Err(self.values.error(&key, problem));
        }
        Ok(nodes)
    }
}
