//! The text of a forward: `8080:leaf-12:80`.

use std::fmt;
use std::str::FromStr;

/// `PORT:NODE:PORT`: a port of this host, a node, a port of that node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardSpec {
    /// Port on this host's loopback interface; with 0 the kernel chooses one.
    pub host_port: u16,
    pub node: String,
    /// Port on the node, 1 to 65535.
    pub node_port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a port to forward: write PORT:NODE:PORT, for example 8080:leaf-12:80 (host's \
     port, node's name, node's port from 1 to 65535)"
)]
pub struct ForwardSpecError(String);

impl fmt::Display for ForwardSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.host_port, self.node, self.node_port)
    }
}

impl FromStr for ForwardSpec {
    type Err = ForwardSpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (host_port, rest) = text.split_once(':')?;
            let (node, node_port) = rest.rsplit_once(':')?;
            let node_port = node_port.parse().ok().filter(|&port| port != 0)?;
            (!node.is_empty()).then_some(ForwardSpec {
                host_port: host_port.parse().ok()?,
                node: node.to_owned(),
                node_port,
            })
        };
        parse().ok_or_else(|| ForwardSpecError(text.to_owned()))
    }
}
