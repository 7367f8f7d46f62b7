//! Releases of temporary clones of this repository, with the changes of its working tree.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// An entry of the changelog in the clone.
const ENTRY: &str = "- An entry of this test.";

/// A clone on a clean `main` that the checks have passed, with its own `origin`.
struct Clone {
    repository: Repository,
    folder: PathBuf,
    /// The first commit of the tests.
    base: String,
}

impl Drop for Clone {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Clone {
    /// Makes the clone; `None` if this folder is not a clone, such as an unpacked archive.
    fn new(name: &str) -> Option<Self> {
        let here = Repository::of(&Workspace::here());
        if here.git(&["rev-parse"]).is_err() {
            println!("skipped: this is not a clone of the repository");
            return None;
        }
        let folder =
            std::env::temp_dir().join(format!("redpoll-release-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let root = folder.join("clone");
        let source = here.root.display().to_string();
        let target = root.display().to_string();
        here.git(&["clone", "--quiet", "--shared", &source, &target])
            .unwrap();
        let gh = folder.join("gh");
        let mut clone = Clone {
            repository: Repository { root, gh },
            folder,
            base: String::new(),
        };
        clone.git(&["config", "user.name", "Tester"]);
        clone.git(&["config", "user.email", "tester@example.org"]);
        clone.git(&["checkout", "--quiet", "-B", BRANCH]);
        // Copies changed files, because the tests judge the working tree.
        let changed = here.git(&["ls-files", "-z", "-m", "-o", "--exclude-standard"]);
        for path in changed.unwrap().split_terminator('\0') {
            let target = clone.repository.root.join(path);
            if here.root.join(path).is_file() {
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                fs::copy(here.root.join(path), target).unwrap();
            }
        }
        let written = clone.written();
        fs::create_dir_all(&written).unwrap();
        fs::write(written.join("scenario.toml"), "").unwrap();
        let heading = format!("{}\n", changelog::UNRELEASED);
        clone.edit(CHANGELOG, |text| {
            text.replacen(&heading, &format!("{heading}\n{ENTRY}\n"), 1)
        });
        clone.git(&["add", "--all"]);
        clone.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            "Working tree",
        ]);
        clone.base = clone.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let origin = clone.folder.join("origin");
        let origin = origin.display().to_string();
        clone.git(&["clone", "--quiet", "--bare", "--shared", ".", &origin]);
        clone.git(&["remote", "set-url", "origin", &origin]);
        fs::create_dir_all(clone.repository.root.join("target")).unwrap();
        clone.reset();
        Some(clone)
    }

    /// Restores the first state, without tags, in the clone and at its origin.
    fn reset(&self) {
        self.git(&["reset", "--quiet", "--hard", &self.base]);
        self.git(&["clean", "--quiet", "--force", "-d"]);
        self.git(&["checkout", "--quiet", "-B", BRANCH]);
        for tag in self.git(&["tag", "--list"]).lines() {
            self.git(&["tag", "--delete", tag]);
        }
        self.git(&[
            "push",
            "--quiet",
            "--force",
            "--prune",
            "origin",
            "refs/tags/*:refs/tags/*",
        ]);
        self.git(&["push", "--quiet", "--force", "origin", BRANCH]);
        let _ = fs::remove_file(&self.repository.gh);
        self.pass();
    }

    fn git(&self, args: &[&str]) -> String {
        self.repository.git(args).unwrap()
    }

    /// Records that the checks passed for the present commit.
    fn pass(&self) {
        let root = &self.repository.root;
        let commit = passed::clean_commit(root).unwrap();
        passed::note(root, Some(&commit), &["web: no browser".to_owned()]);
    }

    fn edit(&self, path: &str, change: impl Fn(&str) -> String) {
        let path = self.repository.root.join(path);
        fs::write(&path, change(&fs::read_to_string(&path).unwrap())).unwrap();
    }

    fn commit_all(&self) {
        self.git(&["commit", "--quiet", "--all", "--message", "Change"]);
        self.pass();
    }

    /// Returns the next minor version.
    fn next(&self) -> Version {
        let Version([major, minor, _]) = self.repository.version().unwrap();
        Version([major, minor + 1, 0])
    }

    /// Returns the folder of files that the next version wrote.
    fn written(&self) -> PathBuf {
        let folder = self.repository.root.join(WRITTEN);
        folder.join(self.next().to_string())
    }

    /// Returns the commit, the tags and the changes.
    fn state(&self) -> [String; 3] {
        let git = |args: &[&str]| self.git(args);
        [
            git(&["rev-parse", "HEAD"]),
            git(&["tag", "--list"]),
            git(&["status", "--porcelain"]),
        ]
    }
}

#[test]
fn versions_are_three_numbers() {
    let parse = |text: &str| text.parse::<Version>();
    assert_eq!(parse("0.12.3").unwrap().to_string(), "0.12.3");
    assert!(parse("0.9.0").unwrap() < parse("0.10.0").unwrap());
    for wrong in [
        "1.2", "1.2.3.4", "v1.2.3", "1.2.x", "1.02.3", "1.2.3-rc", "",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn this_repository_has_one_version() {
    check(&Workspace::here()).unwrap();
}

#[test]
fn a_release_sets_the_version_everywhere_and_is_tagged_with_its_notes() {
    let Some(clone) = Clone::new("made") else {
        return;
    };
    is_made(&clone);
    clone.reset();
    github_is_asked_and_gets_the_packages(&clone);
}

fn is_made(clone: &Clone) {
    let repository = &clone.repository;
    let entries = repository.read(Path::new(CHANGELOG)).unwrap();
    let version = clone.next();
    let entries = changelog::entries(&entries, &version.to_string());
    let entries = entries.unwrap().to_owned();

    let before = clone.state();
    repository.release(version, true).unwrap();
    assert_eq!(clone.state(), before, "a dry run changes nothing");

    repository.release(version, false).unwrap();
    assert_eq!(repository.version().unwrap(), version);
    assert_eq!(repository.other_versions().unwrap(), Vec::<String>::new());
    let [_, tags, changes] = clone.state();
    assert_eq!((tags, changes), (format!("v{version}\n"), String::new()));
    let message = clone.git(&[
        "tag",
        "--list",
        "--format=%(contents)",
        &format!("v{version}"),
    ]);
    assert!(message.starts_with(&format!("Redpoll {version}\n\n{entries}\n")));
    let subject = clone.git(&["log", "-1", "--format=%s"]);
    assert_eq!(subject, format!("Release {version}\n"));
    let citation = repository.read(Path::new("CITATION.cff")).unwrap();
    let date = format!(
        "version: {version}\ndate-released: \"{}\"\n",
        today().unwrap()
    );
    assert!(citation.contains(&date), "{citation}");
    // The release changes the version in files of several kinds.
    let changed = clone.git(&["show", "--name-only", "--format="]);
    for file in ["Cargo.toml", "Cargo.lock", "web/package-lock.json"] {
        assert!(changed.lines().any(|it| it == file), "{file}: {changed}");
    }

    // A version that exists, and a changelog without new entries, are refused.
    clone.pass();
    let again = repository.release(version, false).unwrap_err().to_string();
    assert!(
        again.contains("exists") && again.contains("no entry"),
        "{again}"
    );
}

type Prepare = fn(&Clone);

/// Each obstacle, its preparation and words of its line.
const OBSTACLES: [(&str, Prepare, &str); 10] = [
    (
        "changed",
        |it| it.edit("README.md", |text| format!("{text}x\n")),
        "the working tree has changes",
    ),
    (
        "new-file",
        |it| fs::write(it.repository.root.join("new"), "").unwrap(),
        "the working tree has changes",
    ),
    (
        "branch",
        |it| _ = it.git(&["checkout", "--quiet", "-b", "other"]),
        "the branch is `other`",
    ),
    (
        "unchecked",
        |it| {
            it.git(&["commit", "--quiet", "--allow-empty", "--message", "Later"]);
        },
        "the checks have not passed for commit",
    ),
    (
        "tagged",
        |it| _ = it.git(&["tag", &format!("v{}", it.next())]),
        "exists: choose a higher version",
    ),
    (
        "tagged-there",
        |it| {
            let tag = format!("v{}", it.next());
            it.git(&[
                "push",
                "--quiet",
                "origin",
                &format!("HEAD:refs/tags/{tag}"),
            ]);
        },
        "exists: choose a higher version",
    ),
    (
        "lower",
        |it| _ = it.git(&["tag", "v99.0.0"]),
        "is lower than the released 99.0.0",
    ),
    (
        "no-entries",
        |it| {
            it.edit(CHANGELOG, |text| {
                let (before, after) = text.split_once(changelog::UNRELEASED).unwrap();
                let later = after.find("\n## ").map_or("", |at| &after[at..]);
                format!("{before}{}\n{later}", changelog::UNRELEASED)
            });
            it.commit_all();
        },
        "has no entry under `## Unreleased`",
    ),
    (
        "no-files",
        |it| {
            fs::remove_dir_all(it.written()).unwrap();
            it.commit_all();
        },
        "has no files of",
    ),
    (
        "behind",
        |it| {
            it.git(&["commit", "--quiet", "--allow-empty", "--message", "Theirs"]);
            it.git(&["push", "--quiet", "origin", BRANCH]);
            it.git(&["reset", "--quiet", "--hard", "HEAD^"]);
        },
        "origin has commits that main lacks",
    ),
];

#[test]
fn an_unclean_state_is_refused_and_stays() {
    let Some(clone) = Clone::new("refused") else {
        return;
    };
    for (name, prepare, words) in OBSTACLES {
        clone.reset();
        prepare(&clone);
        let before = clone.state();
        for is_dry in [true, false] {
            let refused = clone.repository.release(clone.next(), is_dry);
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(words), "{name}: {refused}");
            assert_eq!(refused.lines().count(), 2, "{name}: {refused}");
            assert_eq!(clone.state(), before, "{name}");
        }
    }
    clone.reset();
    other_versions_and_faults_leave_nothing(&clone);
}

fn other_versions_and_faults_leave_nothing(clone: &Clone) {
    clone.edit("CITATION.cff", |text| {
        text.replace("\nversion: ", "\nversion: 9.")
    });
    clone.commit_all();
    let refused = clone.repository.release(clone.next(), false);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("CITATION.cff:10: 9."), "{refused}");
    clone.git(&["reset", "--quiet", "--hard", "HEAD^"]);

    // A hook refuses the commit.
    let hook = clone.repository.root.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    script(&hook, "exit 1");
    clone.pass();
    let before = clone.state();
    clone.repository.release(clone.next(), false).unwrap_err();
    assert_eq!(clone.state(), before);
}

/// Writes a program for the shell.
fn script(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn github_is_asked_and_gets_the_packages(clone: &Clone) {
    let repository = &clone.repository;
    fs::remove_file(repository.root.join("target/ci-passed")).unwrap();
    let version = clone.next();
    for (runs, passes) in [("[]", false), (r#"[{"conclusion":"failure"}]"#, false)] {
        script(&repository.gh, &format!("echo '{runs}'"));
        assert_eq!(repository.release(version, true).is_ok(), passes, "{runs}");
    }
    script(
        &repository.gh,
        r#"echo '[{"conclusion":""},{"conclusion":"success"}]'"#,
    );
    let unpublished = repository.publish().unwrap_err().to_string();
    assert!(unpublished.contains("has no tag"), "{unpublished}");
    repository.release(version, false).unwrap();

    let missing = repository.publish().unwrap_err().to_string();
    assert!(missing.contains("run `make package dist`"), "{missing}");
    for name in [format!("a-{version}.crate"), "a-0.0.1.crate".to_owned()] {
        let folder = repository.root.join("target/package");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), "").unwrap();
    }
    let log = clone.folder.join("log");
    script(&repository.gh, &format!("echo \"$@\" >{}", log.display()));
    repository.publish().unwrap();
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.starts_with(&format!("release create v{version} --verify-tag")),
        "{log}"
    );
    assert!(
        log.contains(&format!("/a-{version}.crate")) && !log.contains("0.0.1"),
        "{log}"
    );
}
