//! Floors: nodes' positions, medium, radio and transport, as the first part of a scene's TOML.

/// The office floor of the shipped scenario `testbed-3`: 15 nodes at -8 dBm, SINR with capture,
/// path loss exponent 4. Node 1 is the border router, 2 to 11 are routers, 12 to 15 are leaves.
/// `docs/model/medium.md` gives the sources of these figures.
pub const OFFICE: &str = r#"
duration = "300 s"

[topology]
kind = "positions"

[medium]
model = "sinr"
tx_power = "-8 dBm"
path_loss_exponent = 4
co_channel = "2.5 dB"

[radio]
model = "at86rf233"

[mac]
link_retry_delay = "40 ms"

[tcp]
mss = "462 B"
send_buffer = "1848 B"
receive_buffer = "1848 B"

[border]
host_delay = "6 ms"

[nodes]
node-1 = { role = "border", position = ["2 m", "10 m"] }
node-2 = { role = "router", position = ["11 m", "6 m"] }
node-3 = { role = "router", position = ["11 m", "14 m"] }
node-4 = { role = "router", position = ["20 m", "4 m"] }
node-5 = { role = "router", position = ["20 m", "10 m"] }
node-6 = { role = "router", position = ["20 m", "16 m"] }
node-7 = { role = "router", position = ["29 m", "6 m"] }
node-8 = { role = "router", position = ["29 m", "14 m"] }
node-9 = { role = "router", position = ["37 m", "4 m"] }
node-10 = { role = "router", position = ["37 m", "10 m"] }
node-11 = { role = "router", position = ["37 m", "16 m"] }
leaf-12 = { role = "leaf", position = ["33 m", "-1 m"] }
leaf-13 = { role = "leaf", position = ["33 m", "21 m"] }
leaf-14 = { role = "leaf", position = ["46 m", "10 m"] }
leaf-15 = { role = "leaf", position = ["22 m", "23 m"] }
"#;
