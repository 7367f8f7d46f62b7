//! Makes a release: `make release VERSION=x.y.z`. The command refuses an unclean state with all
//! reasons at once, writes the version into every manifest, and commits and tags the result with
//! the notes of `CHANGELOG.md`. If a step fails, the repository is as before.

mod changelog;
pub mod passed;
mod places;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

const CHANGELOG: &str = "CHANGELOG.md";
const BRANCH: &str = "main";
/// Files that each version wrote: later versions must read them or refuse them with advice.
const WRITTEN: &str = "crates/cli/tests/written";

/// A version without a suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version([u32; 3]);

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| part.parse().ok().filter(|it: &u32| it.to_string() == part);
        let parts: Option<Vec<u32>> = text.split('.').map(number).collect();
        let parts = parts.and_then(|it| <[u32; 3]>::try_from(it).ok());
        let wrong = || format!("`{text}` is not a version, such as 0.2.0");
        parts.map(Version).ok_or_else(wrong)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The repository to release, and the program that asks GitHub.
struct Repository {
    root: PathBuf,
    gh: PathBuf,
}

/// A file and its text in the release.
struct Change {
    path: PathBuf,
    text: String,
}

impl Repository {
    fn of(workspace: &Workspace) -> Self {
        Repository {
            root: workspace.root.clone(),
            gh: PathBuf::from("gh"),
        }
    }

    fn git(&self, args: &[&str]) -> Result<String, Failure> {
        let mut git = Command::new("git");
        workspace::output(git.current_dir(&self.root).args(args))
    }

    fn read(&self, path: &Path) -> Result<String, Failure> {
        source::read(&self.root.join(path))
    }

    /// Returns the version in `Cargo.toml`.
    fn version(&self) -> Result<Version, Failure> {
        let path = Path::new("Cargo.toml");
        let text = self.read(path)?;
        let place = places::find(path, &text).into_iter().next();
        let place = place.ok_or_else(|| Failure::new("release: Cargo.toml has no version"))?;
        let wrong = |e| Failure::new(format!("release: Cargo.toml: {e}"));
        text[place].parse().map_err(wrong)
    }

    /// Returns the files with a version.
    fn versioned(&self) -> Result<Vec<PathBuf>, Failure> {
        let files = self.git(&["ls-files", "-z"])?;
        let mut found = Vec::new();
        for path in files.split('\0').map(PathBuf::from) {
            // Selects files by their names, because other files need not be text.
            let is_there = self.root.join(&path).is_file();
            if is_there && places::is_known(&path) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Returns each place whose version differs from that of `Cargo.toml`.
    fn other_versions(&self) -> Result<Vec<String>, Failure> {
        let version = self.version()?.to_string();
        let mut findings = Vec::new();
        for path in self.versioned()? {
            let text = self.read(&path)?;
            for place in places::find(&path, &text) {
                let line = 1 + text[..place.start].matches('\n').count();
                let found = &text[place];
                if found != version {
                    findings.push(format!(
                        "{}:{line}: {found}, but Cargo.toml has {version}",
                        path.display()
                    ));
                }
            }
        }
        Ok(findings)
    }

    /// Returns the reasons against a release, each with its remedy.
    fn obstacles(&self, version: Version) -> Result<Vec<String>, Failure> {
        let mut found = self.other_versions()?;
        if !self.git(&["status", "--porcelain"])?.is_empty() {
            found.push("the working tree has changes: commit or stash them".to_owned());
        }
        let branch = self.git(&["branch", "--show-current"])?;
        if branch.trim() != BRANCH {
            found.push(format!(
                "the branch is `{}`: switch to {BRANCH}",
                branch.trim()
            ));
        }
        let tag = format!("v{version}");
        let mut is_tagged = !self.git(&["tag", "--list", &tag])?.is_empty();
        if self.git(&["remote"])?.lines().any(|it| it == "origin") {
            found.extend(self.behind_origin());
            let there = self.git(&["ls-remote", "--tags", "origin", &tag]);
            is_tagged |= there.is_ok_and(|it| !it.is_empty());
        }
        if is_tagged {
            found.push(format!("the tag {tag} exists: choose a higher version"));
        }
        found.extend(self.too_low(version)?);
        let commit = self.git(&["rev-parse", "HEAD"])?;
        if passed::find(&self.root, &self.gh, commit.trim()).is_none() {
            found.push(format!(
                "the checks have not passed for commit {:.12}: run `make test`, or push and wait for the workflow CI",
                commit.trim()
            ));
        }
        let changes = self.read(Path::new(CHANGELOG))?;
        if let Err(reason) = changelog::entries(&changes, &version.to_string()) {
            found.push(format!("{CHANGELOG} {reason}"));
        }
        let written = self.root.join(WRITTEN);
        if written.exists() && !written.join(version.to_string()).exists() {
            found.push(format!(
                "{WRITTEN} has no files of {version}: run `REDPOLL_BLESS={version} cargo test -p redpoll --test upgrades`, and commit them"
            ));
        }
        Ok(found)
    }

    /// Returns a reason if the branch lacks commits of the remote one, or if that is unknown.
    fn behind_origin(&self) -> Option<String> {
        if let Err(e) = self.git(&["fetch", "--quiet", "origin", BRANCH]) {
            let line = e.to_string().replace('\n', " ");
            return Some(format!("origin cannot be asked for its {BRANCH}: {line}"));
        }
        let contained = self.git(&["merge-base", "--is-ancestor", "FETCH_HEAD", "HEAD"]);
        contained
            .is_err()
            .then(|| format!("origin has commits that {BRANCH} lacks: git pull --rebase"))
    }

    /// Returns a reason if the version is lower than a released version, or than the version in the
    /// manifests.
    fn too_low(&self, version: Version) -> Result<Option<String>, Failure> {
        let tags = self.git(&["tag", "--list", "v*"])?;
        let released = tags
            .lines()
            .filter_map(|it| it.strip_prefix('v')?.parse().ok());
        let last = released.max();
        let present = self.version()?;
        Ok(match last {
            Some(last) if version < last => Some(format!(
                "{version} is lower than the released {last}: choose a higher version"
            )),
            _ if version < present => Some(format!(
                "{version} is lower than {present} in Cargo.toml: choose a higher version"
            )),
            _ => None,
        })
    }

    /// Returns the files that change, with their new texts.
    fn changes(&self, version: Version, date: &str) -> Result<Vec<Change>, Failure> {
        let version = version.to_string();
        let mut changes = Vec::new();
        for path in self.versioned()? {
            let before = self.read(&path)?;
            let mut text = places::replace(&before, &places::find(&path, &before), &version);
            if path.ends_with("CITATION.cff") {
                text = places::dated(&text, date);
            }
            if text != before {
                changes.push(Change { path, text });
            }
        }
        let path = PathBuf::from(CHANGELOG);
        let text = changelog::release(&self.read(&path)?, &version, date);
        changes.push(Change { path, text });
        Ok(changes)
    }

    /// Writes the changes, commits and tags them.
    fn commit(&self, version: Version, changes: &[Change]) -> Outcome {
        for change in changes {
            let path = self.root.join(&change.path);
            std::fs::write(&path, &change.text).map_err(|e| {
                Failure::new(format!("release: cannot write {}: {e}", path.display()))
            })?;
        }
        // The lock file must fit the manifests.
        let mut lock = Command::new(workspace::cargo());
        lock.current_dir(&self.root);
        lock.args(["update", "--workspace", "--locked", "--offline", "--quiet"]);
        workspace::output(&mut lock)?;
        let notes = self.read(Path::new(CHANGELOG))?;
        let notes = changelog::notes(&notes, &version.to_string()).unwrap_or_default();
        let message = format!("Release {version}");
        self.git(&["commit", "--quiet", "--all", "--message", &message])?;
        let (tag, message) = (
            format!("v{version}"),
            format!("Redpoll {version}\n\n{notes}\n"),
        );
        // By default git would remove the headings, which begin with `#`.
        self.git(&[
            "tag",
            "--annotate",
            "--cleanup=verbatim",
            "--message",
            &message,
            &tag,
        ])?;
        Ok(())
    }

    /// Makes the release, or prints it.
    fn release(&self, version: Version, is_dry: bool) -> Outcome {
        let obstacles = self.obstacles(version)?;
        let head = self.git(&["rev-parse", "HEAD"])?;
        let head = head.trim();
        if is_dry || obstacles.is_empty() {
            let changes = self.changes(version, &today()?)?;
            println!("release: {} files get version {version}:", changes.len());
            for change in &changes {
                println!("  {}", change.path.display());
            }
            if let Some(place) = passed::find(&self.root, &self.gh, head) {
                println!("release: the checks passed {place}");
            }
            if obstacles.is_empty() && !is_dry {
                // The tree was clean, so a reset removes the changes of this command only.
                if let Err(failure) = self.commit(version, &changes) {
                    self.git(&["reset", "--quiet", "--hard", head])?;
                    return Err(failure);
                }
                println!("release: v{version} is committed and tagged. To publish it:");
                println!("  git push origin {BRANCH} v{version}");
                return Ok(());
            }
            let changelog = self.read(Path::new(CHANGELOG))?;
            let notes = changelog::entries(&changelog, &version.to_string());
            let notes = notes.unwrap_or("(none)");
            println!("release: notes:\n\n{notes}\n");
        }
        Failure::unless_empty(format!("release: {version} is refused:"), obstacles)
    }

    /// Publishes the release of the tagged commit on GitHub, with the built packages.
    fn publish(&self) -> Outcome {
        let version = self.version()?;
        let tag = format!("v{version}");
        let tags = self.git(&["tag", "--points-at", "HEAD"])?;
        if !tags.lines().any(|it| it == tag) {
            return Err(Failure::new(format!(
                "release: the commit has no tag {tag}: `make release VERSION={version}` makes it"
            )));
        }
        let changelog = self.read(Path::new(CHANGELOG))?;
        let lacks = || Failure::new(format!("release: {CHANGELOG} has no section {version}"));
        let notes = changelog::notes(&changelog, &version.to_string()).ok_or_else(lacks)?;
        let packages = self.packages(version);
        if packages.is_empty() {
            return Err(Failure::new(
                "release: target/package and target/dist have no packages: run `make package dist`",
            ));
        }
        let file = self.root.join("target/release-notes.md");
        std::fs::write(&file, changelog::with_full_links(notes, &tag))
            .map_err(|e| Failure::new(format!("release: cannot write {}: {e}", file.display())))?;
        let mut gh = Command::new(&self.gh);
        gh.current_dir(&self.root);
        gh.args(["release", "create", &tag, "--verify-tag", "--title"]);
        gh.arg(format!("Redpoll {version}"));
        gh.arg("--notes-file").arg(&file).args(packages);
        workspace::run(&mut gh)
    }

    /// Returns the packed crates of this version, and every file of `make dist`.
    fn packages(&self, version: Version) -> Vec<PathBuf> {
        let files = |folder: &str| {
            let entries = std::fs::read_dir(self.root.join(folder));
            let paths = entries.into_iter().flatten().flatten().map(|it| it.path());
            paths.filter(|it| it.is_file())
        };
        let end = format!("-{version}.crate");
        let crates = files("target/package")
            .filter(|it| it.to_str().is_some_and(|name| name.ends_with(&end)));
        let mut found: Vec<_> = crates.chain(files("target/dist")).collect();
        found.sort();
        found
    }
}

/// Returns today's date in UTC.
fn today() -> Result<String, Failure> {
    let date = workspace::output(Command::new("date").args(["-u", "+%F"]))?;
    Ok(date.trim().to_owned())
}

/// Makes the release, or with `is_dry` prints it.
pub fn run(workspace: &Workspace, version: Version, is_dry: bool) -> Outcome {
    Repository::of(workspace).release(version, is_dry)
}

/// Publishes the release of this commit on GitHub.
pub fn publish(workspace: &Workspace) -> Outcome {
    Repository::of(workspace).publish()
}

/// Checks that the version is the same everywhere; returns why the check is skipped.
pub fn check(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let repository = Repository::of(workspace);
    if repository.git(&["rev-parse"]).is_err() {
        return Ok(Some("this is not a clone of the repository".to_owned()));
    }
    Failure::unless_empty(
        "release: these versions differ:",
        repository.other_versions()?,
    )?;
    Ok(None)
}
