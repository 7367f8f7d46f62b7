//! `cargo xtask vm-test`: runs the packages for amd64 in a virtual machine, with systemd as the first process, a kernel
//! with NFQUEUE for nft, and firewalls of an operator.
//!
//! debootstrap makes the system once, and each run copies it to a fresh disk. scripts/vm-test.sh runs inside and writes
//! one line for each check to the second serial port. The first serial port is the console, which also gets the
//! journal.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::chroots::{copy, package, system};
use super::{ARCHS, cannot, create, shown, write};
use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

/// Debian 12.
const SUITE: &str = "bookworm";
/// Programs of a border router with systemd, the kernel, and the programs that the checks call.
const INCLUDED: &str = "adduser,dbus,initramfs-tools,iproute2,iptables,iputils-ping,kmod,libpam-systemd,\
    linux-image-amd64,nftables,procps,python3,systemd-sysv,udev";
/// Longest time of the test with an emulated processor.
const MAX: Duration = Duration::from_secs(45 * 60);
/// Longest time until the kernel's first line with KVM.
const KVM_PATIENCE: Duration = Duration::from_secs(10);
/// Size of the disk. The file is sparse.
const DISK: &str = "3G";
const ADVICE: &str = "the log of the machine has the reason";

/// Files of the machine.
struct Files {
    disk: PathBuf,
    console: PathBuf,
    results: PathBuf,
}

/// Runs the test, and prints each check with its measured value.
pub fn run(workspace: &Workspace) -> Outcome {
    let folder = workspace.root.join("target/vm");
    let out = workspace.root.join("target/dist");
    let [arch, ..] = &ARCHS;
    let packages = ["redpoll-taim_", "redpoll_"].map(|prefix| package(&out, prefix, arch));
    let [Ok(taim), Ok(whole)] = packages else {
        return skipped("there are no packages for amd64 in target/dist; to build them: make dist");
    };
    if let Some(reason) = missing() {
        return skipped(reason);
    }
    create(&folder)?;
    let chroots = workspace.root.join("target/dist-chroots");
    create(&chroots)?;
    println!("vm-test: {SUITE} for {}", arch.debian);
    let root = system(&chroots, &format!("{SUITE}-vm"), (SUITE, INCLUDED), arch)?;
    fit(workspace, &root, [&taim, &whole])?;
    let files = Files {
        disk: folder.join("disk.img"),
        console: folder.join("console.log"),
        results: folder.join("results"),
    };
    make_disk(&root, &files.disk)?;
    let machine = start(&root, &files)?;
    let judged = watch(machine, &files.results);
    judged.map_err(|failure| {
        Failure::new(format!(
            "{failure}\n{ADVICE}: {}",
            shown(workspace.relative(&files.console))
        ))
    })
}

fn skipped(reason: &str) -> Outcome {
    println!("vm-test: skipped: {reason}");
    Ok(())
}

/// Returns what this computer lacks for the test, with the remedy.
fn missing() -> Option<&'static str> {
    let works = |tool: &str| workspace::output(Command::new(tool).arg("--version")).is_ok();
    let has_mke2fs = workspace::output(Command::new("mke2fs").arg("-V")).is_ok();
    let user = workspace::output(Command::new("id").arg("-u")).unwrap_or_default();
    if user.trim() != "0" {
        Some("making the system of the machine needs root: run it as root")
    } else if !works("debootstrap") {
        Some("debootstrap is missing: apt-get install debootstrap")
    } else if !has_mke2fs {
        Some("mke2fs is missing: apt-get install e2fsprogs")
    } else if !works("qemu-system-x86_64") {
        Some("QEMU is missing: apt-get install qemu-system-x86")
    } else {
        None
    }
}

/// Puts the packages and the test into the system, which starts the test after each boot.
fn fit(workspace: &Workspace, root: &Path, packages: [&Path; 2]) -> Outcome {
    let folder = root.join("packages");
    create(&folder)?;
    for path in packages {
        copy(path, &folder.join(path.file_name().unwrap_or_default()))?;
    }
    copy(
        &workspace.root.join("scripts/vm-test.sh"),
        &root.join("usr/local/sbin/vm-test"),
    )?;
    let unit = "[Service]\nExecStart=/bin/sh /usr/local/sbin/vm-test\nTimeoutStartSec=infinity\n";
    write(&root.join("etc/systemd/system/vm-test.service"), unit)?;
    let wants = root.join("etc/systemd/system/multi-user.target.wants");
    create(&wants)?;
    let link = wants.join("vm-test.service");
    std::os::unix::fs::symlink("/etc/systemd/system/vm-test.service", &link)
        .map_err(|error| cannot("create", &link, &error))?;
    // Without this number, systemd treats each boot as the first one.
    write(
        &root.join("etc/machine-id"),
        "726564706f6c6c000000000000000001\n",
    )?;
    write(&root.join("etc/hostname"), "router\n")
}

/// Makes a disk with the files of `root`.
fn make_disk(root: &Path, disk: &Path) -> Outcome {
    if disk.exists() {
        std::fs::remove_file(disk).map_err(|error| cannot("remove", disk, &error))?;
    }
    let mut make = Command::new("mke2fs");
    make.args(["-q", "-t", "ext4", "-d"]).arg(root).arg(disk);
    workspace::output(make.arg(DISK)).map(drop)
}

/// Returns the file of `boot` whose name begins with `prefix`.
fn boot_file(root: &Path, prefix: &str) -> Result<PathBuf, Failure> {
    let files = super::list(&root.join("boot"))?;
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(prefix)
    };
    let found = files.into_iter().find(fits);
    found.ok_or_else(|| Failure::new(format!("vm-test: the system has no file boot/{prefix}*")))
}

/// Starts the machine with KVM, or with an emulated processor if there is no KVM that starts Debian's kernel. KVM in
/// a virtual machine may accept the kernel without ever running it.
fn start(root: &Path, files: &Files) -> Result<Child, Failure> {
    let device = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/kvm");
    if device.is_ok() {
        let mut machine = boot(root, files, &["-accel", "kvm", "-smp", "2"])?;
        let until = Instant::now() + KVM_PATIENCE;
        while Instant::now() < until {
            let console = std::fs::read(&files.console).unwrap_or_default();
            if String::from_utf8_lossy(&console).contains("Linux version") {
                return Ok(machine);
            }
            sleep(Duration::from_millis(100));
        }
        // Ignores errors: QEMU may have ended, for example because it may not use KVM.
        let _ = machine.kill();
        let _ = machine.wait();
    }
    println!(
        "note: KVM is missing or does not start Debian's kernel, so QEMU emulates a processor"
    );
    boot(root, files, &["-accel", "tcg", "-smp", "1"])
}

/// Starts the machine. Its stick for USB is a serial port at which no device answers.
fn boot(root: &Path, files: &Files, processor: &[&str]) -> Result<Child, Failure> {
    write(&files.results, "")?;
    write(&files.console, "")?;
    let serial = |path: &Path| format!("file:{}", shown(path));
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-nodefaults", "-no-user-config", "-display", "none"]);
    qemu.args(["-machine", "q35", "-cpu", "max", "-m", "1024"]);
    qemu.args(processor);
    qemu.args(["-device", "virtio-rng-pci"]);
    qemu.args(["-device", "qemu-xhci", "-chardev", "null,id=stick"]);
    qemu.args(["-device", "usb-serial,chardev=stick,always-plugged=on"]);
    qemu.arg("-serial").arg(serial(&files.console));
    qemu.arg("-serial").arg(serial(&files.results));
    qemu.arg("-drive").arg(format!(
        "file={},if=virtio,format=raw,cache=unsafe",
        shown(&files.disk)
    ));
    qemu.arg("-kernel").arg(boot_file(root, "vmlinuz-")?);
    qemu.arg("-initrd").arg(boot_file(root, "initrd.img-")?);
    qemu.args([
        "-append",
        "root=/dev/vda rw console=ttyS0 systemd.journald.forward_to_console=1",
    ]);
    qemu.spawn()
        .map_err(|error| Failure::new(format!("vm-test: cannot run QEMU: {error}")))
}

/// Prints the results until the machine is switched off, and judges them.
fn watch(mut machine: Child, results: &Path) -> Outcome {
    let until = Instant::now() + MAX;
    let mut printed = 0;
    loop {
        let status = machine.try_wait();
        let status = status
            .map_err(|error| Failure::new(format!("vm-test: cannot wait for QEMU: {error}")))?;
        let bytes = std::fs::read(results).map_err(|error| cannot("read", results, &error))?;
        let text = String::from_utf8_lossy(&bytes).replace('\r', "");
        // Only whole lines.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let whole = &text[..whole];
        for line in whole.lines().skip(printed) {
            printed += 1;
            println!("{line}");
        }
        match status {
            Some(status) if status.success() => return judge(whole),
            Some(status) => return Err(Failure::new(format!("vm-test: QEMU failed: {status}"))),
            None if Instant::now() > until => {
                // Ignores errors: the machine may end at this moment.
                let _ = machine.kill();
                let _ = machine.wait();
                let minutes = MAX.as_secs() / 60;
                return Err(Failure::new(format!(
                    "vm-test: the test has not ended after {minutes} minutes"
                )));
            }
            None => sleep(Duration::from_millis(200)),
        }
    }
}

/// Fails if a check failed, or if the machine was switched off before the end of the test.
fn judge(results: &str) -> Outcome {
    let checks = |word: &str| -> Vec<String> {
        let lines = results.lines().filter(|line| line.starts_with(word));
        lines.map(str::to_owned).collect()
    };
    let (passed, failed) = (checks("ok "), checks("failed "));
    let end = format!("end {}", passed.len() + failed.len());
    if results.lines().last() != Some(end.as_str()) {
        let last = results.lines().last().unwrap_or("no result");
        let line = format!("vm-test: the test ended early or lost a line after: {last}");
        return Err(Failure::new(line));
    }
    Failure::unless_empty("vm-test: these checks failed:", failed)?;
    println!("vm-test: {} checks passed", passed.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_a_lost_line_and_an_early_end_are_failures() {
        let said = |text: &str| judge(text).map_err(|failure| failure.to_string());
        assert_eq!(said("ok a: 1\nnote: x\nok b: 2\nend 2\n"), Ok(()));
        let failed = said("ok a: 1\nfailed b: 2\nend 2\n").unwrap_err();
        assert_eq!(failed, "vm-test: these checks failed:\n  failed b: 2");
        for early in [
            "",
            "ok a: 1\n",
            "ok a: 1\nend 2\n",
            "ok a: 1\nend 1\nok b: 2\n",
        ] {
            assert!(said(early).unwrap_err().contains("ended early"), "{early}");
        }
    }
}
