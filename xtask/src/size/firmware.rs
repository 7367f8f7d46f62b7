//! Building the images of `firmware/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::image::Image;
use crate::purity::{Libraries, Toolchain};
use crate::report::Failure;
use crate::workspace::{self, Workspace};

pub struct Images {
    /// Image without the engine.
    pub bare: Image,
    pub tcp: Image,
    /// Image with the part of the engine that TCPlp has too.
    pub subset: Image,
    pub node: Image,
    /// Images of a node that routes by RPL, by the features of [`ROUTED`].
    pub routed: Vec<(&'static str, Image)>,
    /// Image of a node whose frames are protected.
    pub secured: Image,
    /// Image with a leaf, its services and a driver.
    pub leaf: Image,
    /// Image with another stack that has a leaf's functions.
    pub smoltcp: Image,
    /// Image of two endpoints, to be run.
    pub pair: Image,
    /// Image of two endpoints of each TCP that Redpoll is compared with.
    pub rivals: Image,
    /// Image of three nodes, to be run.
    pub mesh: Image,
    /// Image that protects and opens frames, to be run.
    pub seal: Image,
}

/// Names of the node image's variants of RPL, and the features that build each.
const ROUTED: [(&str, &str); 2] = [
    ("router or leaf, non-storing mode", "rpl"),
    ("all of it", "rpl-root,rpl-storing,rpl-hosts"),
];

pub fn build(workspace: &Workspace, toolchain: &Toolchain) -> Result<Images, Failure> {
    let flags = flags(workspace, toolchain);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let subset = ["--no-default-features", "--bin", "subset"];
    let subset = cargo(workspace, toolchain, &[&flags[..], &subset].concat())?;
    let subset = image(&subset, "subset")?;
    // The simulator's processors use the counts of this image, which is therefore built as a
    // product without special flags.
    let usual = ["--config", "profile.release.opt-level='s'"];
    let mesh = cargo(
        workspace,
        toolchain,
        &[&usual[..], &["--bin", "mesh"]].concat(),
    )?;
    let mesh = image(&mesh, "mesh")?;
    let leaf = ["--no-default-features", "--features", "leaf"];
    let leaf = [&flags[..], &leaf, &["--bin", "leaf-microbit"]].concat();
    let leaf = image(&cargo(workspace, toolchain, &leaf)?, "leaf-microbit")?;
    let smoltcp = ["--no-default-features", "--features", "smoltcp"];
    let smoltcp = [&flags[..], &smoltcp, &["--bin", "smoltcp"]].concat();
    let smoltcp = image(&cargo(workspace, toolchain, &smoltcp)?, "smoltcp")?;
    let mut routed = Vec::new();
    for (name, features) in ROUTED {
        let with = ["--features", features, "--bin", "node"];
        let node = cargo(workspace, toolchain, &[&flags[..], &with].concat())?;
        routed.push((name, image(&node, "node")?));
    }
    let with = ["--features", "security", "--bin", "node", "--bin", "seal"];
    let with = cargo(workspace, toolchain, &[&flags[..], &with].concat())?;
    let (secured, seal) = (image(&with, "node")?, image(&with, "seal")?);
    let names = ["bare", "tcp", "node", "pair", "rivals"];
    let bins = names.iter().flat_map(|name| ["--bin", name]);
    let rest = cargo(
        workspace,
        toolchain,
        &flags.iter().copied().chain(bins).collect::<Vec<_>>(),
    )?;
    let image = |name| image(&rest, name);
    Ok(Images {
        bare: image("bare")?,
        tcp: image("tcp")?,
        subset,
        leaf,
        smoltcp,
        node: image("node")?,
        routed,
        secured,
        pair: image("pair")?,
        rivals: image("rivals")?,
        mesh,
        seal,
    })
}

/// Returns cargo's arguments for images optimised for size. Cargo itself would look for their
/// configuration from the current folder only.
///
/// Toolchains that contain the routines for copying and division have optimised them for speed. If
/// this build compiles the routines, it therefore does not apply the images' opt-level to them.
fn flags(workspace: &Workspace, toolchain: &Toolchain) -> Vec<String> {
    let config = workspace.root.join("firmware/.cargo/config.toml");
    let mut flags = vec!["--config".to_owned(), config.to_string_lossy().into_owned()];
    if toolchain.builds_core() {
        let speed = "profile.release.package.compiler_builtins.opt-level=3";
        flags.extend(["--config", speed].map(str::to_owned));
    }
    flags
}

/// Builds the images of a leaf, and of a node with all parts of RPL.
pub fn leaf_and_node(workspace: &Workspace, toolchain: &Toolchain) -> Result<[Image; 2], Failure> {
    let flags = flags(workspace, toolchain);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let leaf = ["--no-default-features", "--features", "leaf"];
    let leaf = [&flags[..], &leaf, &["--bin", "leaf-microbit"]].concat();
    let leaf = image(&cargo(workspace, toolchain, &leaf)?, "leaf-microbit")?;
    let [_, (_, features)] = ROUTED;
    let node = ["--features", features, "--bin", "node"];
    let node = [&flags[..], &node].concat();
    let node = image(&cargo(workspace, toolchain, &node)?, "node")?;
    Ok([leaf, node])
}

/// Builds the images of a leaf on a serial line, and returns their folder.
pub fn leaves(workspace: &Workspace, toolchain: &Toolchain) -> Result<PathBuf, Failure> {
    let flags = flags(workspace, toolchain);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let what = ["--no-default-features", "--features", "leaf-whole"];
    let bins = ["--bin", "leaf-microbit", "--bin", "leaf-mps2"];
    let messages = cargo(workspace, toolchain, &[&flags[..], &what, &bins].concat())?;
    let path = workspace::executable(&messages, "leaf-microbit");
    let folder = path.and_then(|path| Some(path.parent()?.to_owned()));
    folder.ok_or_else(|| Failure::new("firmware: cargo built no image `leaf-microbit`"))
}

fn cargo(workspace: &Workspace, toolchain: &Toolchain, what: &[&str]) -> Result<String, Failure> {
    let mut cargo: Command = toolchain.cargo(workspace, "build", Libraries::CoreAndAlloc);
    cargo.args(["--release", "--message-format", "json-render-diagnostics"]);
    cargo.args(what);
    cargo.args([
        Path::new("--manifest-path"),
        &workspace.root.join("firmware/Cargo.toml"),
    ]);
    if let Some(linker) = linker(toolchain)? {
        cargo.env("CARGO_TARGET_THUMBV6M_NONE_EABI_LINKER", linker);
    }
    // Flags for the host in this variable would replace those for the image.
    cargo.env_remove("RUSTFLAGS");
    workspace::output(&mut cargo)
}

fn image(messages: &str, name: &str) -> Result<Image, Failure> {
    let path = workspace::executable(messages, name)
        .ok_or_else(|| Failure::new(format!("size: cargo built no image `{name}`")))?;
    Image::read(&path)
}

/// Returns the linker, if it is not the target's default: rustup's toolchains contain the default
/// linker, and Debian's do not always.
pub fn linker(toolchain: &Toolchain) -> Result<Option<&'static str>, Failure> {
    if toolchain.has_linker() || on_path("rust-lld") {
        return Ok(None);
    }
    let other = ["ld.lld", "arm-none-eabi-ld"]
        .into_iter()
        .find(|l| on_path(l));
    other.map(Some).ok_or_else(|| {
        Failure::new("there is no linker for thumbv6m-none-eabi (scripts/setup.sh size)")
    })
}

pub fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for() {
        assert!(on_path("sh"));
        assert!(!on_path("no such program"));
    }
}
