//! Redpoll for C for microcontrollers: one archive with the header and a static library for each
//! kind of processor.

use super::{Release, create};
use crate::clib;
use crate::report::Outcome;
use crate::workspace;

pub fn build(release: &Release<'_>) -> Outcome {
    let top = format!("redpoll-{}-c-microcontrollers", release.version);
    let folder = release.stage.join(&top);
    create(&folder)?;
    let cargo = || release.command("cargo");
    let target = release.target.join("c-libs");
    clib::archives_of_release(release.workspace, cargo, &target, &folder)?;
    let file = release.out.join(format!("{top}.tar.xz"));
    let mut tar = release.tar(&file);
    workspace::run(tar.arg("-C").arg(&release.stage).arg(&top))
}
