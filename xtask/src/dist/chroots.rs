//! `cargo xtask dist-test`: installs, upgrades, uses and purges the packages in Debian's releases, and installs the
//! wheel in an empty environment.
//!
//! debootstrap makes each system once. For other architectures, QEMU has no netfilter, so rules are
//! only printed, and the demonstration does not run. No system runs systemd, so the test runs the
//! commands of the unit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::{ARCHS, Arch, cannot, create, list, shown, wheel, write};
use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

/// Debian 11, 12 and 13.
const SUITES: [&str; 3] = ["bullseye", "bookworm", "trixie"];
/// Programs that the smallest Debian lacks: those of a border router, and those of the demonstration.
const INCLUDED: &str = "adduser,curl,iproute2,iptables,iputils-ping,mosquitto";
/// Version of the package from which the test upgrades.
const OLD: &str = "0.0.1";
/// Longest time from the installation to the running program, in seconds.
const MAX_S: f64 = 60.0;

/// Installs the old package, changes a setting, and installs the new one.
const UPGRADE: &str = "
dpkg -i /packages/redpoll-taim-old.deb
getent passwd redpoll-taim
sed -i 's/^period = .*/period = \"30 s\"/' /etc/redpoll/taim.toml
dpkg --force-confold -i /packages/redpoll-taim.deb
grep -q '30 s' /etc/redpoll/taim.toml
redpoll-taim --check-config
redpoll-taim install --firewall ip6tables-legacy --print | grep -q NFQUEUE || test -z \"$NETFILTER\"
";
/// Starts the program `$TAIM` as the unit does, and checks it.
const RUN: &str = "
ip link set lo up
$TAIM install --firewall ip6tables-legacy
$TAIM --user redpoll-taim &
daemon=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    if $TAIM check; then break; fi
    sleep 1
done
$TAIM check
grep VmRSS /proc/$daemon/status
kill $daemon
wait $daemon
$TAIM uninstall
";
/// Checks that the program says in one line why it cannot read the rules of the firewall.
const WITHOUT_NETFILTER: &str = "
code=0
$TAIM check >/tmp/said 2>&1 || code=$?
cat /tmp/said >&2
test $code -eq 2
test $(wc -l </tmp/said) -eq 1
rm /tmp/said
";
/// Installs an older version of the whole program next to the daemon, upgrades it, and runs it.
const WHOLE: &str = "
dpkg -i /packages/redpoll-old.deb
dpkg -i /packages/redpoll.deb
redpoll run line-3 >/dev/null
redpoll up --config /etc/redpoll/border.toml --check-config
";
/// Joins a mesh to the system: the kernel's TCP, curl, ping and a broker use its nodes.
const DEMO: &str = "
ip link set lo up
redpoll up office --set routing=rpl --demo
";
/// Removes the packages with their settings. The rules of the firewall are in force, and `dpkg` believes that systemd
/// runs, as on a router.
const PURGE: &str = "
rules() { ip6tables-legacy -t mangle -S | grep NFQUEUE; }
if dpkg -s redpoll; then dpkg --purge redpoll; fi
if test -n \"$NETFILTER\"; then
    redpoll-taim install --firewall ip6tables-legacy
    rules
fi
mkdir -p /run/systemd/system
dpkg --purge redpoll-taim
rmdir -p --ignore-fail-on-non-empty /run/systemd/system
if getent passwd redpoll-taim || getent group redpoll-taim; then exit 1; fi
if test -n \"$NETFILTER\" && rules; then exit 1; fi
";

/// Tests the packages of `target/dist` in each system; `only` limits the systems by name.
pub fn run(workspace: &Workspace, only: Option<&str>) -> Outcome {
    let folder = workspace.root.join("target/dist-chroots");
    create(&folder)?;
    let mut table = String::new();
    let mut failed = Vec::new();
    for arch in &ARCHS {
        for suite in SUITES {
            let name = format!("{suite}-{}", arch.debian);
            if only.is_some_and(|only| !name.contains(only)) {
                continue;
            }
            println!("dist-test: {name}");
            let outcome = match system(&folder, &name, (suite, INCLUDED), arch) {
                Ok(system) => judged(workspace, &system, arch, &mut failed),
                Err(failure) => format!("skipped: {failure}"),
            };
            let line = outcome.lines().next().unwrap_or_default();
            let _ = writeln!(table, "{name:16} {line}");
        }
    }
    if only.is_none() {
        match wheel::measure(workspace) {
            Ok(line) => {
                let _ = writeln!(table, "{:16} {line}", "wheel");
            }
            Err(failure) => failed.push(failure.to_string()),
        }
    }
    print!("{table}");
    Failure::unless_empty(
        "dist-test: the packages do not work on these systems:",
        failed,
    )
}

fn judged(workspace: &Workspace, system: &Path, arch: &Arch, failed: &mut Vec<String>) -> String {
    match test(workspace, system, arch) {
        Ok(text) => text,
        Err(failure) => {
            failed.push(format!("{}: {failure}", shown(system)));
            "failed".to_owned()
        }
    }
}

/// Makes a fresh Debian system of this suite with these packages, and returns its folder.
pub(super) fn system(
    folder: &Path,
    name: &str,
    (suite, included): (&str, &str),
    arch: &Arch,
) -> Result<PathBuf, Failure> {
    let (root, packed) = (folder.join(name), folder.join(format!("{name}.tar")));
    if root.exists() {
        unmount(&root);
        std::fs::remove_dir_all(&root).map_err(|error| cannot("remove", &root, &error))?;
    }
    let is_native = arch.name == std::env::consts::ARCH;
    if !is_native {
        emulate(arch)?;
    }
    create(&root)?;
    if packed.is_file() {
        workspace::output(
            Command::new("tar")
                .arg("-xpf")
                .arg(&packed)
                .arg("-C")
                .arg(&root),
        )?;
        return Ok(root);
    }
    let mut bootstrap = Command::new("debootstrap");
    bootstrap.args(["--variant=minbase", &format!("--include={included}")]);
    bootstrap.arg(format!("--arch={}", arch.debian));
    if !is_native {
        bootstrap.arg("--foreign");
    }
    // Systems of the same release share packages, and repeating a failed run needs no network.
    let packages = folder.join("packages");
    create(&packages)?;
    bootstrap.arg(format!("--cache-dir={}", shown(&packages)));
    let mirror = std::env::var("DEBIAN_MIRROR");
    let mirror = mirror.unwrap_or_else(|_| "http://deb.debian.org/debian".to_owned());
    workspace::output(bootstrap.arg(suite).arg(&root).arg(mirror))?;
    if !is_native {
        let mut second = Command::new("chroot");
        second
            .arg(&root)
            .args(["/debootstrap/debootstrap", "--second-stage"]);
        workspace::output(&mut second)?;
    }
    unmount(&root);
    // The file gets its name when it is complete, so no later run uses an incomplete system.
    let part = packed.with_extension("part");
    workspace::output(
        Command::new("tar")
            .arg("-cf")
            .arg(&part)
            .arg("-C")
            .arg(&root)
            .arg("."),
    )?;
    std::fs::rename(&part, &packed).map_err(|error| cannot("write", &packed, &error))?;
    Ok(root)
}

/// Removes the file systems that debootstrap leaves mounted if it, or a package's script, is interrupted.
fn unmount(root: &Path) {
    for folder in ["proc", "sys"] {
        // Ignores the error: `umount` fails if nothing is mounted at the folder.
        let _ = workspace::output(Command::new("umount").arg(root.join(folder)));
    }
}

/// Makes the kernel run programs of `arch` with QEMU.
fn emulate(arch: &Arch) -> Outcome {
    let known = Path::new("/proc/sys/fs/binfmt_misc");
    if known.join(format!("qemu-{}", arch.qemu)).exists() {
        return Ok(());
    }
    if !known.join("register").exists() {
        let mut mount = Command::new("mount");
        workspace::output(mount.args(["-t", "binfmt_misc", "none"]).arg(known))?;
    }
    let path = PathBuf::from(format!("/usr/lib/binfmt.d/qemu-{}.conf", arch.qemu));
    let line = std::fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))?;
    write(&known.join("register"), line.trim())
}

/// Runs all commands in a system, and compares its files before and after.
fn test(workspace: &Workspace, root: &Path, arch: &Arch) -> Result<String, Failure> {
    let packages = root.join("packages");
    create(&packages)?;
    let out = workspace.root.join("target/dist");
    offer(
        &package(&out, "redpoll-taim_", arch)?,
        "redpoll-taim",
        &packages,
    )?;
    let whole = package(&out, "redpoll_", arch).ok();
    if let Some(whole) = &whole {
        offer(whole, "redpoll", &packages)?;
    }
    let is_native = arch.name == std::env::consts::ARCH;
    let before = state(root)?;
    let start = Instant::now();
    call(root, UPGRADE, "", is_native)?;
    let rules = if is_native { RUN } else { WITHOUT_NETFILTER };
    let memory = memory(&call(root, rules, "redpoll-taim", is_native)?);
    let took = start.elapsed().as_secs_f64();
    // An emulator is too slow for this limit.
    if is_native && took > MAX_S {
        let line = format!("{took:.0} s until the program ran; at most {MAX_S} s are allowed");
        return Err(Failure::new(line));
    }
    let mut used = "without redpoll".to_owned();
    if whole.is_some() {
        call(root, WHOLE, "", is_native)?;
        call(root, rules, "redpoll taim", is_native)?;
        // QEMU cannot execute /proc/self/exe, by which the program enters its own namespaces.
        let demo = if is_native {
            demonstrated(&call(root, DEMO, "", is_native)?)
        } else {
            "demo not possible".to_owned()
        };
        used = format!("redpoll too, {demo}");
    }
    call(root, PURGE, "", is_native)?;
    let after = state(root)?;
    let only = |one: &[String], other: &[String], sign: char| -> Vec<String> {
        let lines = one.iter().filter(|line| !other.contains(line));
        lines.map(|line| format!("{sign} {line}")).collect()
    };
    let left = [only(&before, &after, '-'), only(&after, &before, '+')].concat();
    Failure::unless_empty(
        "after the purge, these files differ from those before the installation:",
        left,
    )?;
    let rules = if is_native {
        "with rules"
    } else {
        "without netfilter"
    };
    Ok(format!("passed in {took:.1} s, {rules}, {used} {memory}"))
}

/// Returns the memory of the daemon, which the script prints if the daemon runs.
fn memory(said: &str) -> String {
    let line = said.lines().find(|line| line.starts_with("VmRSS"));
    let words = line.unwrap_or_default().split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the result of the demonstration, with the number of steps that it skipped.
fn demonstrated(said: &str) -> String {
    let skipped = said.lines().filter(|line| line.starts_with("skipped:"));
    match skipped.count() {
        0 => "demo ok".to_owned(),
        steps => format!("demo ok, {steps} steps skipped"),
    }
}

/// Runs a script in separate network and process namespaces of a system; `$TAIM` is `taim`.
fn call(root: &Path, script: &str, taim: &str, is_native: bool) -> Result<String, Failure> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--net", "--pid", "--fork", "--kill-child", "--mount"]);
    unshare.args([
        "sh",
        "-ec",
        "mount -t proc none \"$0/proc\"; ip tuntap add dev wpan0 mode tun; mkdir -p \"$0/dev/net\"; \
         test -e \"$0/dev/net/tun\" || mknod \"$0/dev/net/tun\" c 10 200; exec chroot \"$0\" sh -ec \"$1\"",
    ]);
    unshare.arg(root).arg(script);
    unshare.env(
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    );
    unshare
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C");
    unshare.env("TAIM", taim);
    unshare.env("NETFILTER", if is_native { "yes" } else { "" });
    workspace::output(&mut unshare)
}

/// Returns each file of a system, and the users and groups. Logs, caches and dpkg's own database may change.
fn state(root: &Path) -> Result<Vec<String>, Failure> {
    let mut find = Command::new("find");
    find.current_dir(root).args([".", "-xdev", "("]);
    for (at, path) in [
        "./proc",
        "./sys",
        "./dev",
        "./tmp",
        "./var/lib/dpkg",
        "./var/log",
        "./var/cache",
    ]
    .iter()
    .enumerate()
    {
        if at > 0 {
            find.arg("-o");
        }
        find.args(["-path", path]);
    }
    find.args([")", "-prune", "-o", "-print"]);
    let mut lines: Vec<String> = workspace::output(&mut find)?
        .lines()
        .map(str::to_owned)
        .collect();
    // adduser keeps copies of the previous state; adduser and iptables keep lock files.
    lines.retain(|line| {
        let is_copy = line.starts_with("./etc/") && line.ends_with('-');
        !is_copy && line != "./run/adduser" && line != "./run/xtables.lock"
    });
    for name in ["etc/passwd", "etc/group"] {
        let path = root.join(name);
        let text = std::fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))?;
        lines.extend(text.lines().map(|line| format!("{name}: {line}")));
    }
    Ok(lines)
}

/// Puts a package into the folder as `NAME.deb`, and the same package as an older version, `NAME-old.deb`.
fn offer(package: &Path, name: &str, folder: &Path) -> Outcome {
    copy(package, &folder.join(format!("{name}.deb")))?;
    let tree = folder.join("tree");
    workspace::output(Command::new("dpkg-deb").arg("-R").args([package, &tree]))?;
    let control = tree.join("DEBIAN/control");
    let text =
        std::fs::read_to_string(&control).map_err(|error| cannot("read", &control, &error))?;
    let lines = text.lines().map(|line| {
        let is_version = line.starts_with("Version: ");
        if is_version {
            format!("Version: {OLD}\n")
        } else {
            format!("{line}\n")
        }
    });
    write(&control, &lines.collect::<String>())?;
    let old = folder.join(format!("{name}-old.deb"));
    workspace::output(
        Command::new("dpkg-deb")
            .args(["-b", "-Zgzip", "-z1", "--root-owner-group"])
            .args([&tree, &old]),
    )?;
    std::fs::remove_dir_all(&tree).map_err(|error| cannot("remove", &tree, &error))
}

/// Returns the package of the folder whose name begins with `prefix`, for this architecture.
pub(super) fn package(folder: &Path, prefix: &str, arch: &Arch) -> Result<PathBuf, Failure> {
    let end = format!("_{}.deb", arch.debian);
    let fits = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with(prefix) && name.ends_with(&end)
    };
    let found = list(folder)?.into_iter().find(fits);
    found.ok_or_else(|| Failure::new(format!("no package {prefix}*{end}: make dist")))
}

pub(super) fn copy(from: &Path, to: &Path) -> Outcome {
    std::fs::copy(from, to)
        .map(drop)
        .map_err(|error| cannot("copy", from, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_the_scripts_are_read() {
        assert_eq!(memory("safe: yes\nVmRSS:\t    6812 kB\n"), "VmRSS: 6812 kB");
        assert_eq!(memory("redpoll-taim: no rules\n"), "");
        assert_eq!(demonstrated("[1/4] ping\n\ndemo: ok\n"), "demo ok");
        let said = "skipped: step 4 (readings): no broker\ndemo: ok\n";
        assert_eq!(demonstrated(said), "demo ok, 1 steps skipped");
    }
}
