//! Static libraries for microcontrollers.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::install::target_dir;
use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

/// A kind of processor.
pub struct Kind {
    /// Rust's name of the target.
    pub target: &'static str,
    /// Names of the processors with this instruction set.
    pub processors: &'static str,
    /// The compiler of C, and its options for this processor.
    pub compiler: &'static [&'static str],
    /// The emulator and its options, except for the image.
    pub emulator: &'static [&'static str],
    /// Address of the code; `data`: address of the data.
    pub code: u32,
    pub data: u32,
}

const ARM: &str = "arm-none-eabi-gcc";
const RISC: &str = "riscv64-unknown-elf-gcc";
const QEMU: &str = "qemu-system-arm";

/// The kinds of processors whose archives are made.
pub const KINDS: [Kind; 7] = [
    Kind {
        target: "thumbv6m-none-eabi",
        processors: "Cortex-M0, M0+",
        compiler: &[ARM, "-mthumb", "-mcpu=cortex-m0"],
        emulator: &[QEMU, "-machine", "mps2-an385"],
        code: 0,
        data: 0x2000_0000,
    },
    Kind {
        target: "thumbv7m-none-eabi",
        processors: "Cortex-M3",
        compiler: &[ARM, "-mthumb", "-mcpu=cortex-m3"],
        emulator: &[QEMU, "-machine", "mps2-an385"],
        code: 0,
        data: 0x2000_0000,
    },
    Kind {
        target: "thumbv7em-none-eabi",
        processors: "Cortex-M4, M7",
        compiler: &[ARM, "-mthumb", "-mcpu=cortex-m4", "-mfloat-abi=soft"],
        emulator: &[QEMU, "-machine", "mps2-an386"],
        code: 0,
        data: 0x2000_0000,
    },
    Kind {
        target: "thumbv7em-none-eabihf",
        processors: "Cortex-M4F, M7F",
        compiler: &[
            ARM,
            "-mthumb",
            "-mcpu=cortex-m4",
            "-mfloat-abi=hard",
            "-mfpu=fpv4-sp-d16",
        ],
        emulator: &[QEMU, "-machine", "mps2-an386"],
        code: 0,
        data: 0x2000_0000,
    },
    Kind {
        target: "thumbv8m.main-none-eabi",
        processors: "Cortex-M33",
        compiler: &[ARM, "-mthumb", "-mcpu=cortex-m33+nodsp", "-mfloat-abi=soft"],
        emulator: &[QEMU, "-machine", "mps2-an505"],
        code: 0x1000_0000,
        data: 0x3800_0000,
    },
    Kind {
        target: "thumbv8m.main-none-eabihf",
        processors: "Cortex-M33 with FPU",
        compiler: &[
            ARM,
            "-mthumb",
            "-mcpu=cortex-m33",
            "-mfloat-abi=hard",
            "-mfpu=fpv5-sp-d16",
        ],
        emulator: &[QEMU, "-machine", "mps2-an505"],
        code: 0x1000_0000,
        data: 0x3800_0000,
    },
    Kind {
        target: "riscv32imac-unknown-none-elf",
        processors: "RV32IMAC, such as ESP32-C6 and ESP32-H2",
        compiler: &[RISC, "-march=rv32imac", "-mabi=ilp32", "-mcmodel=medany"],
        emulator: &["qemu-system-riscv32", "-machine", "virt", "-bios", "none"],
        code: 0x8000_0000,
        data: 0x8020_0000,
    },
];

/// A library. Each kind of processor has an archive of it.
pub struct Library {
    /// Name of the archive.
    file: &'static str,
    /// Features of `redpoll-capi`.
    features: &'static str,
}

/// Library for nodes on a radio and for nodes over IPv6, with UDP and all of TCP.
pub const WHOLE: Library = Library {
    file: "libredpoll.a",
    features: "radio,full",
};
/// Library for nodes over IPv6 only, with the functions of TCP that most peers have.
pub const OVER_IP: Library = Library {
    file: "libredpoll_ip.a",
    features: "node",
};
/// TCP alone, without nodes and sockets.
pub const TCP: Library = Library {
    file: "libredpoll_tcp.a",
    features: "tcp",
};

impl Kind {
    /// Builds the archive of a library, and returns its path.
    pub fn build(&self, workspace: &Workspace, library: &Library) -> Result<PathBuf, Failure> {
        let mut cargo = workspace.cargo();
        // Replaces the path of the sources in the archive, so that the archive has the same bytes
        // wherever it is built.
        let root = workspace.root.display();
        cargo.env("RUSTFLAGS", format!("--remap-path-prefix={root}=redpoll"));
        self.build_with(cargo, &target_dir(workspace).join("c-libs"), library)
    }

    /// Builds the archive with a prepared `cargo`, in the build folder `target`.
    fn build_with(
        &self,
        mut cargo: Command,
        target: &Path,
        library: &Library,
    ) -> Result<PathBuf, Failure> {
        cargo.args(["rustc", "--quiet", "--package", "redpoll-capi", "--lib"]);
        cargo.args(["--crate-type", "staticlib", "--no-default-features"]);
        cargo.args(["--features", library.features]);
        cargo.args(["--profile", "device", "--target", self.target]);
        cargo.arg("--target-dir").arg(target);
        workspace::run(&mut cargo).map_err(|failure| {
            Failure::new(format!(
                "{failure}; if the target is missing: rustup target add {}",
                self.target
            ))
        })?;
        let built = target.join(self.target).join("device");
        let archive = built.join(library.file);
        // Keeps the archive, because the build of the next library overwrites this name.
        std::fs::copy(built.join("libredpoll_capi.a"), &archive)
            .map_err(|e| Failure::new(format!("cannot write {}: {e}", archive.display())))?;
        Ok(archive)
    }
}

/// Writes the archives of all kinds, the headers and the licences into a folder.
pub fn run(workspace: &Workspace, folder: &Path) -> Outcome {
    let mut built = Vec::new();
    for kind in &KINDS {
        for library in [&WHOLE, &OVER_IP, &TCP] {
            built.push((kind.target, kind.build(workspace, library)?));
        }
    }
    for place in copy(workspace, folder, &built)? {
        println!("{}", place.display());
    }
    Ok(())
}

/// Writes the same files as [`run`]. `cargo` returns the cargo command to extend, and `target` is
/// the build folder.
pub fn release(
    workspace: &Workspace,
    cargo: impl Fn() -> Command,
    target: &Path,
    folder: &Path,
) -> Outcome {
    let mut built = Vec::new();
    for kind in &KINDS {
        for library in [&WHOLE, &OVER_IP, &TCP] {
            built.push((kind.target, kind.build_with(cargo(), target, library)?));
        }
    }
    copy(workspace, folder, &built).map(drop)
}

/// Copies the built archives, the headers and the licences into a folder, and returns their paths.
fn copy(
    workspace: &Workspace,
    folder: &Path,
    built: &[(&str, PathBuf)],
) -> Result<Vec<PathBuf>, Failure> {
    let mut files: Vec<(PathBuf, PathBuf)> = built
        .iter()
        .map(|(target, archive)| {
            let name = archive.file_name().unwrap_or_default();
            (archive.clone(), Path::new(target).join(name))
        })
        .collect();
    for header in ["redpoll.h", "redpoll_tcp.h"] {
        let from = workspace.root.join("crates/capi/include").join(header);
        files.push((from, Path::new("include").join(header)));
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        files.push((workspace.root.join(licence), PathBuf::from(licence)));
    }
    let mut places = Vec::new();
    for (from, place) in files {
        let place = folder.join(place);
        let copied = place
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::copy(&from, &place));
        copied.map_err(|error| {
            Failure::new(format!("c-libs: cannot write {}: {error}", place.display()))
        })?;
        places.push(place);
    }
    Ok(places)
}
