//! The tutorials: `cargo xtask tutorials` performs the steps of the pages as a reader does.
//!
//! A tutorial is a page that `docs/SUMMARY.md` lists under Tutorials. [`page`] reads its steps,
//! [`terminal`] runs them in an empty folder next to the repository, and [`output`] compares their
//! output with the output that the page shows. CONTRIBUTING.md describes the form of a page.

mod output;
mod page;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::docs::runs;
use crate::options::Selection;
use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};
use page::{Page, Step};
use terminal::Terminals;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Pages to follow, and the program to run.
    selection: Selection,
    /// Whether this process was started in its own namespaces, to follow a single page.
    is_inside: bool,
}

impl Options {
    /// Reads the command line; unknown words are the error.
    pub fn parse(args: &[&str]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut rest = args;
        loop {
            if let Some(left) = options.selection.take(rest) {
                rest = left;
                continue;
            }
            rest = match rest {
                [] => return Ok(options),
                ["--inside", rest @ ..] => {
                    options.is_inside = true;
                    rest
                }
                unknown => return Err(unknown.join(" ")),
            };
        }
    }
}

/// Runs the tutorials; names the skipped ones.
pub fn run(workspace: &Workspace, options: &Options) -> Result<Option<String>, Failure> {
    let pages = pages(workspace)?;
    let is_wanted = |page: &Page| {
        options.selection.only.is_empty()
            || options
                .selection
                .only
                .iter()
                .any(|it| page.name.contains(it))
    };
    let wanted: Vec<&Page> = pages.iter().filter(|page| is_wanted(page)).collect();
    if wanted.is_empty() {
        let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
        return Err(Failure::new(format!(
            "tutorials: no page has this name; allowed: {}",
            names.join(", ")
        )));
    }
    let program = match &options.selection.program {
        Some(program) => program.clone(),
        None => runs::build(workspace, false)?,
    };
    let program = std::path::absolute(program)
        .map_err(|e| Failure::new(format!("tutorials: cannot find the program's path: {e}")))?;
    if options.is_inside {
        let page = wanted[0];
        prepare_namespace(page)?;
        return follow(workspace, page, &program).map(|()| None);
    }
    let (mut failed, mut skipped) = (Vec::new(), Vec::new());
    for page in wanted {
        let begun = Instant::now();
        let outcome = match missing(page) {
            Some(what) => {
                println!("tutorials: {}: skipped, {what}", page.name);
                skipped.push(format!("{}: {what}", page.name));
                continue;
            }
            None if page.needs.is_empty() => follow(workspace, page, &program),
            None => follow_apart(page, &program),
        };
        match outcome {
            Ok(()) => println!(
                "tutorials: {}: {} steps, {:.1} s",
                page.name,
                page.steps.len(),
                begun.elapsed().as_secs_f64()
            ),
            Err(failure) => failed.push(failure.to_string()),
        }
    }
    Failure::unless_empty("tutorials: these pages do not work as printed:", failed)?;
    Ok((!skipped.is_empty()).then(|| skipped.join("; ")))
}

/// Returns the pages under Tutorials in the summary.
fn pages(workspace: &Workspace) -> Result<Vec<Page>, Failure> {
    let docs = workspace.root.join("docs");
    let summary = source::read(&docs.join("SUMMARY.md"))?;
    let listed = page::listed(&summary);
    if listed.is_empty() {
        return Err(Failure::new("tutorials: docs/SUMMARY.md lists no tutorial"));
    }
    let read = |target: &String| {
        let text = source::read(&docs.join(target))?;
        Page::parse(&format!("docs/{target}"), &text).map_err(Failure::new)
    };
    listed.iter().map(read).collect()
}

/// Command that makes an interface of the kind that the pages use.
const TUN: &str = "ip tuntap add dev probe mode tun";
/// A firewall rule that works only if the kernel supports NFQUEUE.
const QUEUE_RULE: &str = "ip6tables -t mangle -A FORWARD -p tcp -j NFQUEUE --queue-num 0";

/// Returns the first need of a page that this machine does not meet.
fn missing(page: &Page) -> Option<String> {
    let works = |command: &str| {
        let mut apart_from_host = Command::new("unshare");
        apart_from_host.args(apart()).args(["sh", "-c", command]);
        workspace::output(&mut apart_from_host).is_ok()
    };
    let lacks = |need: &str| match need {
        "root" if !is_root() => Some("it needs root".to_owned()),
        "root" | "network" if works(TUN) => None,
        "root" | "network" => Some(
            "it needs a TUN interface in a network namespace (root, or user namespaces; iproute2)"
                .to_owned(),
        ),
        "nfqueue" if works(QUEUE_RULE) => None,
        "nfqueue" => Some("it needs ip6tables, and NFQUEUE in the kernel".to_owned()),
        tool if has(tool) => None,
        tool => Some(format!("it needs the program `{tool}`")),
    };
    page.needs.iter().find_map(|need| lacks(need))
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn has(tool: &str) -> bool {
    let find = format!("command -v {tool}");
    workspace::output(Command::new("bash").args(["-c", &find])).is_ok()
}

/// Returns the options of `unshare` for namespaces in which a page may change the network. All
/// processes in these namespaces end with `unshare`.
fn apart() -> Vec<&'static str> {
    let mut options = vec![
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];
    if !is_root() {
        options.insert(0, "--map-root-user");
    }
    options
}

/// Follows a page in separate namespaces.
fn follow_apart(page: &Page, program: &Path) -> Outcome {
    let this = std::env::current_exe().map_err(|e| {
        Failure::new(format!(
            "tutorials: cannot find the path of this program: \
            {e}"
        ))
    })?;
    let mut command = Command::new("unshare");
    command.args(apart()).arg(this).arg("tutorials");
    command
        .args(["--inside", "--only", &page.name, "--program"])
        .arg(program);
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(Failure::new(said.trim().trim_start_matches("xtask: ")))
        }
        Err(e) => Err(Failure::new(format!(
            "{}: cannot run unshare: {e}",
            page.name
        ))),
    }
}

/// Sets up the loopback interface, and hides the host's named namespaces.
fn prepare_namespace(page: &Page) -> Outcome {
    let mut set_up = "ip link set lo up".to_owned();
    // Only root may name namespaces.
    if page.needs.iter().any(|need| need == "root") {
        set_up += " && mkdir -p /run/netns && mount -t tmpfs none /run/netns";
    }
    workspace::run(Command::new("sh").args(["-c", &set_up]))
}

/// Follows a page, in an empty folder next to a link to the repository.
fn follow(workspace: &Workspace, page: &Page, program: &Path) -> Outcome {
    let place = Place::new(workspace, page)
        .map_err(|e| Failure::new(format!("{}: cannot make its folder: {e}", page.name)))?;
    let mut terminals = Terminals::new(&place.root, &place.page, program);
    let outcome = page.steps.iter().try_for_each(|step| match step {
        Step::File(file) => place.write(file),
        Step::Run(block) => terminals.run(block),
        Step::Interrupt { line } => terminals.interrupt(*line),
    });
    // Ends all programs, also after a failure.
    let ended = terminals.end();
    outcome
        .and(ended)
        .map_err(|wrong| Failure::new(format!("{}:{wrong}", page.name)))
}

/// The folders of a page: `redpoll` is a link to the repository.
struct Place {
    root: PathBuf,
    page: PathBuf,
}

impl Place {
    fn new(workspace: &Workspace, page: &Page) -> std::io::Result<Place> {
        let stem = Path::new(&page.name).file_stem().unwrap_or_default();
        let root = std::env::temp_dir().join(format!(
            "redpoll-tutorial-{}-{}",
            stem.to_string_lossy(),
            std::process::id()
        ));
        let place = Place {
            page: root.join("work"),
            root,
        };
        // A process with the same number in another namespace may have left the folder.
        let _ = std::fs::remove_dir_all(&place.root);
        std::fs::create_dir_all(&place.page)?;
        std::os::unix::fs::symlink(&workspace.root, place.root.join("redpoll"))?;
        // The page compiles into the target folder, so that the next run compiles only changes.
        let target = workspace.root.join("target/tutorials");
        std::fs::create_dir_all(place.root.join(".cargo"))?;
        std::fs::write(
            place.root.join(".cargo/config.toml"),
            format!("[build]\ntarget-dir = {:?}\n", target.display().to_string()),
        )?;
        Ok(place)
    }

    fn write(&self, file: &page::File) -> Result<(), String> {
        let path = self.page.join(&file.name);
        let written = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, &file.text));
        written.map_err(|e| format!("{}: cannot write {}: {e}", file.line, file.name))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a page that consists of `text`; the program `redpoll` is `true`.
    fn follows(text: &str) -> Result<(), String> {
        let workspace = Workspace::here();
        let name = format!("docs/{:x}.md", text.len() * 31 + text.matches('e').count());
        let page = Page::parse(&name, text)?;
        follow(&workspace, &page, Path::new("/bin/true")).map_err(|failure| {
            let said = failure.to_string();
            said.strip_prefix(&name).unwrap_or(&said).to_owned()
        })
    }

    #[test]
    fn a_right_page_passes() {
        let text = "The file `a/b.txt`:\n\n```toml\nx = 1\n```\n\n```sh\ncat a/b.txt\ncd a; y=2\n```\n\n\
            ```text\nx = 1\n```\n\n```sh\necho $y >&2\ncat b.txt && ls ../../redpoll/Cargo.toml\n```\n\n\
            ```text\n2\n…\n../../redpoll/Cargo.toml\n```\n";
        follows(text).unwrap();
    }

    #[test]
    fn a_wrong_output_fails_with_its_place() {
        let text = "```sh\necho one\necho 12.5 kb/s\n```\n\n```text\none\n12.6 kb/s\n```\n";
        let said = follows(text).unwrap_err();
        assert!(said.starts_with(":8: "), "{said}");
        for part in ["echo 12.5 kb/s", "expected", "12.6 kb/s", "got"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        // Additional output is wrong, and so is missing output.
        assert!(follows("```sh\necho one; echo two\n```\n\n```text\none\n```\n").is_err());
        assert!(follows("```sh\necho one\n```\n\n```text\none\ntwo\n```\n").is_err());
    }

    #[test]
    fn numbers_may_differ_where_a_page_says_so_and_nowhere_else() {
        let page = |hint: &str, shown: &str| {
            format!("```sh\necho 110 ms of a\n```\n\n{hint}```text\n{shown}\n```\n")
        };
        let within = "<!-- tutorial: numbers within 20 % -->\n\n";
        let any = "<!-- tutorial: numbers differ -->\n\n";
        assert!(follows(&page("", "100 ms of a")).is_err());
        follows(&page(within, "100 ms of a")).unwrap();
        assert!(follows(&page(within, "90 ms of a")).is_err());
        follows(&page(any, "7 ms of a")).unwrap();
        assert!(follows(&page(any, "7 ms of b")).is_err());
    }

    #[test]
    fn a_failing_command_is_named_with_its_line() {
        let text =
            "Words.\n\n```sh\ntrue\n\nls \\\n  no-such-file\necho on\n```\n\n```text\non\n```\n";
        let said = follows(text).unwrap_err();
        assert!(said.starts_with(":6: "), "{said}");
        assert!(said.contains("no-such-file"), "{said}");
        // In a pipe, the failure of the first command counts, too.
        assert!(follows("```sh\nls no-such-file | cat\n```\n\n```text\n…\n```\n").is_err());
    }

    #[test]
    fn a_program_runs_while_a_second_terminal_is_used() {
        let page = |shown: &str| {
            format!(
                "```sh\ntrap 'echo bye; exit 0' INT; echo ready > up; cat up; while sleep 0.1; do :; done\n```\n\n\
                ```text\n{shown}\n```\n\nIn a second terminal:\n\n```sh\ncat up\n```\n\n```text\nready\n```\n\n\
                Press Ctrl-C in the first terminal.\n\n```sh\necho after\n```\n\n```text\nafter\n```\n"
            )
        };
        follows(&page("ready")).unwrap();
        let said = follows(&page("steady")).unwrap_err();
        assert!(said.contains("steady"), "{said}");
    }

    #[test]
    fn a_program_that_ends_before_ctrl_c_fails_the_page() {
        let text = "```sh\necho up\n```\n\n```text\nup\n```\n\nEnd it with Ctrl-C.\n";
        assert!(follows(text).is_err());
    }

    #[test]
    fn lines_typed_into_a_shell_are_run_by_it() {
        let text = "```console\n$ sh\n$ echo inner; cd /\n$ pwd\ninner\n/\n```\n";
        follows(text).unwrap();
        assert!(follows(&text.replace("inner\n/", "inner\n/tmp")).is_err());
    }

    #[test]
    fn the_pages_of_the_book_are_read() {
        let pages = pages(&Workspace::here()).unwrap();
        assert!(pages.iter().any(|page| page.name.contains("first-mesh")));
    }
}
