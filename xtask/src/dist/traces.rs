//! Checks that no file of a release contains a path of the computer that built it. Such a path, and
//! so the file, would differ on another computer.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Release, cannot, create, create_empty, list, shown};
use crate::report::{Failure, Outcome};
use crate::workspace;

/// Unpacks all files of the release, and fails if one contains the folder of the sources or of cargo's crates.
pub fn check(release: &Release<'_>) -> Outcome {
    let folder = release.stage.join("unpacked");
    create_empty(&folder)?;
    for file in list(&release.out)? {
        if file.is_file() {
            let name = file.file_name().unwrap_or_default();
            unpack(release, &file, &folder.join(name))?;
        }
    }
    let own: Vec<String> = release
        .renamed()
        .into_iter()
        .map(|(from, _)| from)
        .collect();
    let found = containing(&folder, &own)?;
    std::fs::remove_dir_all(&folder).map_err(|error| cannot("remove", &folder, &error))?;
    Failure::unless_empty("dist: files with paths of this computer:", found)
}

/// Unpacks an archive, or copies another file, into the folder `to`.
fn unpack(release: &Release<'_>, file: &Path, to: &Path) -> Outcome {
    create(to)?;
    let name = shown(file);
    let mut command = match () {
        () if name.ends_with(".deb") => {
            let mut dpkg = Command::new("dpkg-deb");
            dpkg.arg("-x").arg(file).arg(to);
            dpkg
        }
        () if name.ends_with(".whl") => {
            let mut python = release.command("python3");
            python.args(["-m", "zipfile", "-e"]).arg(file).arg(to);
            python
        }
        () if name.ends_with(".tar.xz") || name.ends_with(".tar.gz") => {
            let mut tar = Command::new("tar");
            tar.arg("-xf").arg(file).arg("-C").arg(to);
            tar
        }
        () => {
            let mut copy = Command::new("cp");
            copy.arg(file).arg(to);
            copy
        }
    };
    workspace::run(&mut command)
}

/// Returns the files below `folder` that contain one of the texts.
fn containing(folder: &Path, texts: &[String]) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in list(&folder)? {
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut grep = Command::new("grep");
            grep.args(["--text", "--quiet", "--fixed-strings"]);
            for text in texts {
                grep.args(["-e", text]);
            }
            let status = grep.arg("--").arg(&path).status();
            match status.ok().and_then(|status| status.code()) {
                Some(0) => found.push(shown(&path)),
                Some(1) => {}
                _ => return Err(Failure::new(format!("cannot search {}", path.display()))),
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_path_of_this_computer_is_found() {
        let folder = std::env::temp_dir().join(format!("redpoll-traces-{}", std::process::id()));
        let below = folder.join("below");
        create(&below).unwrap();
        std::fs::write(folder.join("clean"), b"\0/usr/src/redpoll").unwrap();
        std::fs::write(below.join("binary"), b"\0\xff/home/me/redpoll\0").unwrap();
        let texts = ["/home/me/redpoll".to_owned(), "/elsewhere".to_owned()];
        let found = containing(&folder, &texts).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [shown(&below.join("binary"))]);
    }
}
