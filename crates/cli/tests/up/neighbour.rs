//! Another computer, next to the computer that has the mesh.

use std::process::Command;
use std::time::Duration;

/// Another computer, linked to this one: a network namespace at the other end of `interface`.
pub struct Neighbour {
    process: std::process::Child,
    pid: String,
}

impl Neighbour {
    /// Starts a neighbour in a network namespace. The neighbour's interface is `wire1`.
    pub fn beside(interface: &str) -> Neighbour {
        let process = Command::new("unshare").args(["-n", "sleep", "600"]).spawn();
        let process = process.expect("unshare is there");
        let pid = process.id().to_string();
        let neighbour = Neighbour { process, pid };
        // Both processes are in one network namespace until `unshare` has made a new one.
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        let theirs = format!("/proc/{}/ns/net", neighbour.pid);
        while std::fs::read_link(&theirs).is_ok_and(|net| net == own) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let wire = ["type", "veth", "peer", "name", "wire1", "netns"];
        let wire = [&["link", "add", interface], &wire[..], &[&neighbour.pid]].concat();
        ip(&wire);
        for (conf, value) in [("accept_dad", "0"), ("accept_ra_rt_info_max_plen", "64")] {
            let set = format!("echo {value} > /proc/sys/net/ipv6/conf/wire1/{conf}");
            neighbour.run(&["sh", "-c", &set]);
        }
        let dad = format!("/proc/sys/net/ipv6/conf/{interface}/accept_dad");
        std::fs::write(dad, "0").unwrap();
        ip(&["address", "add", "fd00:17::1/64", "dev", interface]);
        ip(&["link", "set", interface, "up"]);
        neighbour.run(&["ip", "address", "add", "fd00:17::2/64", "dev", "wire1"]);
        neighbour.run(&["ip", "link", "set", "wire1", "up"]);
        neighbour
    }

    pub fn run(&self, program: &[&str]) -> String {
        let mut enter = Command::new("nsenter");
        let output = enter.args(["-t", &self.pid, "-n"]).args(program).output();
        let output = output.expect("nsenter is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    }

    /// Waits until the neighbour has a route to `prefix`, or has none if `wanted` is false.
    pub fn wait_for_route(&self, prefix: &str, wanted: bool) {
        let end = std::time::Instant::now() + Duration::from_secs(30);
        loop {
            let route = self.run(&["ip", "-6", "route", "show", prefix]);
            if route.contains("via fe80::") == wanted {
                return;
            }
            assert!(std::time::Instant::now() < end, "{wanted}: {route:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// Returns the reason for which [`Neighbour::beside`] cannot work here, if there is one.
pub fn no_wire() -> Option<String> {
    let program = |name: &str| Command::new(name).arg("--version").output().is_err();
    if let Some(name) = ["ip", "nsenter", "unshare", "ping"]
        .into_iter()
        .find(|it| program(it))
    {
        return Some(format!("there is no {name}"));
    }
    let pair = [
        "link", "add", "probe0", "type", "veth", "peer", "name", "probe1",
    ];
    let made = Command::new("ip").args(pair).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return Some("this kernel makes no veth interfaces".to_owned());
    }
    ip(&["link", "delete", "probe0"]);
    None
}
