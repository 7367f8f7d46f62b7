//! Apps on the nodes, as the last part of a scene's TOML.

/// `bulk`: a node sends to another as fast as it can. A case sets the two nodes.
pub const BULK: &str = r#"
[apps.sink]
type = "bulk-sink"
on = "node-1"
port = 5001

[apps.bulk]
type = "bulk-sender"
on = "node-8"
to = "node-1:5001"
"#;

/// `readings`: every leaf makes an 82-byte reading per second for a server behind the border
/// router. Unlike the shipped `readings` and `readings-day`, it works with every transport.
pub const READINGS: &str = r#"
[apps.stream]
type = "bulk-sink"
on = "host"
port = 5683

[apps.coap]
type = "coap-server"
on = "host"

[apps.readings]
type = "sensor"
on = "every leaf"
to = "host:5683"
reading = "82 B"
interval = "1 s"
message = "469 B"
"#;
