//! Refusal of scenarios that need more memory than the machine has.

use std::fs::read_to_string;
use std::path::Path;

use redpoll_sim::Scenario;

use crate::USAGE;
use crate::failure::Failure;

/// Least memory of a node of Redpoll's stack, in bytes: its state, its radio and its places in the
/// simulator's tables, before it uses a buffer. A test checks this bound.
const NODE_BYTES: u64 = 8 * 1_024;

/// Refuses a scenario whose nodes need more memory than is available to this process.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Failure> {
    let refusal = available().and_then(|available| refusal(scenario, available));
    refusal.map_or(Ok(()), |line| Err((USAGE, line)))
}

/// Returns the line that refuses the scenario, if its nodes need more than `available` bytes.
fn refusal(scenario: &Scenario, available: u64) -> Option<String> {
    let nodes = scenario.nodes.iter();
    // `NODE_BYTES` does not apply to nodes in another program, and to those of another stack.
    let nodes = nodes.filter(|node| node.module.is_none() && node.line.is_none());
    let nodes = nodes.count() as u64;
    let needed = nodes * NODE_BYTES;
    (needed > available).then(|| {
        format!(
            "{}: {nodes} nodes need at least {} of memory, but {} are available; simulate fewer \
             nodes, or end other programs",
            scenario.name,
            mib(needed),
            mib(available)
        )
    })
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Returns how many bytes of memory this process can still allocate at most: the least of the
/// machine's available memory plus free swap space, the limits of the process's control groups, and
/// the unused part of its address space limit. `None` if none of them is known.
fn available() -> Option<u64> {
    let read = |path: &str| read_to_string(path).unwrap_or_default();
    let machine = of_machine(&read("/proc/meminfo"));
    let groups = of_groups(&read("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    let limit = address_space(&read("/proc/self/limits"));
    let used = kib(&read("/proc/self/status"), "VmSize:");
    let space = limit.map(|limit| limit.saturating_sub(used.unwrap_or(0)));
    [machine, groups, space].into_iter().flatten().min()
}

/// Returns a field of a file such as `/proc/meminfo`, in bytes.
fn kib(text: &str, field: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(field))?;
    let number = value.trim().strip_suffix("kB")?;
    Some(1_024 * number.trim().parse::<u64>().ok()?)
}

fn of_machine(meminfo: &str) -> Option<u64> {
    let memory = kib(meminfo, "MemAvailable:")?;
    Some(memory + kib(meminfo, "SwapFree:").unwrap_or(0))
}

/// Returns the least limit of the process's control group and the groups above it (cgroup v2). The
/// group's present use is not subtracted, because the kernel can reclaim a part of it.
fn of_groups(cgroup: &str, root: &Path) -> Option<u64> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let own = root.join(path);
    let groups = own.ancestors().take_while(|group| group.starts_with(root));
    let limits = groups.filter_map(|group| {
        let limit = read_to_string(group.join("memory.max")).ok()?;
        limit.trim().parse().ok()
    });
    limits.min()
}

/// Returns the limit of the address space from `/proc/self/limits`, if there is one.
fn address_space(limits: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use redpoll_sim::{World, WorldOptions};

    use super::*;

    /// Returns a mesh whose nodes have the smallest tables and buffers that the keys allow.
    fn smallest(columns: usize) -> Scenario {
        let text = format!(
            "duration = \"1 s\"\n[topology]\nkind = \"grid\"\ncolumns = {columns}\nrows = 50\n\
             spacing = \"20 m\"\n[medium]\nmodel = \"unit-disk\"\ntransmission_range = \"25 m\"\n\
             interference_range = \"25 m\"\ncarrier_sense_range = \"25 m\"\n\
             [radio]\nmodel = \"ideal\"\n[lowpan]\nslots = 1\n"
        );
        Scenario::parse("smallest", &text, &[]).unwrap()
    }

    #[test]
    fn a_scenario_is_refused_only_if_its_nodes_exceed_the_memory() {
        let scenario = smallest(20);
        let needed = 1_000 * NODE_BYTES;
        assert_eq!(refusal(&scenario, needed), None);
        let line = refusal(&scenario, needed - 1).unwrap();
        for part in ["1000 nodes", "at least 7.8 MiB", "simulate fewer nodes"] {
            assert!(line.contains(part), "{line}");
        }
        assert!(!line.contains('\n'), "{line}");
    }

    #[test]
    fn nodes_of_other_programs_do_not_count() {
        let mut scenario = smallest(20);
        for node in &mut scenario.nodes[1..] {
            node.line = Some("127.0.0.1:1".to_owned());
        }
        assert_eq!(refusal(&scenario, NODE_BYTES), None);
    }

    #[test]
    fn limits_are_read_as_linux_writes_them() {
        let meminfo = "MemTotal:  9 kB\nMemAvailable:      3 kB\nSwapFree:  2 kB\n";
        assert_eq!(of_machine(meminfo), Some(5 * 1_024));
        assert_eq!(of_machine(""), None);
        let unlimited = "Max address space         unlimited            unlimited   bytes\n";
        assert_eq!(address_space(unlimited), None);
        let limited = "Max cpu time  1\nMax address space         4096  8192   bytes\n";
        assert_eq!(address_space(limited), Some(4_096));
        assert!(available().is_some_and(|bytes| bytes > NODE_BYTES));
    }

    #[test]
    fn the_least_limit_of_the_control_groups_counts() {
        let root = std::env::temp_dir().join(format!("redpoll-need-{}", std::process::id()));
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        assert_eq!(of_groups("0::/a/b\n", &root), None);
        std::fs::write(root.join("a/memory.max"), "700\n").unwrap();
        std::fs::write(root.join("a/b/memory.max"), "max\n").unwrap();
        assert_eq!(of_groups("0::/a/b\n", &root), Some(700));
        assert_eq!(of_groups("1:memory:/a/b\n", &root), None);
        std::fs::remove_dir_all(&root).unwrap();
    }

    /// Each of the smallest nodes takes at least `NODE_BYTES` of memory.
    #[test]
    fn each_node_takes_at_least_the_memory_that_is_assumed() {
        let resident = || kib(&read_to_string("/proc/self/status").unwrap(), "VmRSS:").unwrap();
        let scenario = smallest(80);
        let nodes = scenario.nodes.len() as u64;
        let before = resident();
        let world = World::with(scenario, WorldOptions::default()).unwrap();
        let bytes = (resident() - before) / nodes;
        drop(world);
        println!("{bytes} bytes per node");
        assert!(bytes >= NODE_BYTES, "{bytes}");
    }
}
