//! Sets up the terminal for the view, and restores it.

use std::io::{self, IsTerminal as _, Stdout};
use std::panic;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};

/// A terminal in raw mode with its alternate screen. Dropping this value restores the terminal; a
/// panic restores it before printing its message.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub(super) fn take() -> io::Result<Screen> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
        enable_raw_mode()?;
        let entered = execute!(io::stdout(), EnterAlternateScreen);
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        let terminal = terminal.inspect_err(|_| give_back())?;
        Ok(Screen { terminal })
    }

    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal. Errors are ignored, because they cannot be reported.
fn give_back() {
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Returns an error with the reason if the terminal cannot show a view.
pub(in crate::up) fn refuse_without_terminal() -> Result<(), String> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let what = match (
        io::stdin().is_terminal(),
        io::stdout().is_terminal(),
        is_dumb,
    ) {
        (true, true, false) => return Ok(()),
        (_, false, _) => "standard output is not a terminal",
        (false, ..) => "standard input is not a terminal",
        (.., true) => "TERM names a terminal without cursor movement",
    };
    Err(format!(
        "--tui draws on a terminal, but {what}; allowed: a terminal, or --web for a browser"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use nix::pty::openpty;
    use nix::sys::termios::{LocalFlags, tcgetattr};

    use super::Screen;

    const CHILD: &str = "REDPOLL_TEST_TUI_PANICS";

    /// The child process of the next test: takes its terminal and panics. Otherwise does nothing.
    #[test]
    fn takes_the_terminal_and_panics_if_asked() {
        if std::env::var_os(CHILD).is_some() {
            let _screen = Screen::take().unwrap();
            panic!("on purpose");
        }
    }

    #[test]
    fn a_panic_restores_the_terminal_before_its_message() {
        if !redpoll_testkit::has_terminals("a_panic_restores_the_terminal_before_its_message") {
            return;
        }
        let pty = openpty(None, None).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let this = std::env::current_exe().unwrap();
        let name = "up::tui::screen::tests::takes_the_terminal_and_panics_if_asked";
        let mut child = Command::new(this)
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "yes")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        assert!(!child.wait().unwrap().success());
        let flags = tcgetattr(&pty.slave).unwrap().local_flags;
        assert!(flags.contains(LocalFlags::ICANON | LocalFlags::ECHO));
        drop(pty.slave);
        let mut shown = Vec::new();
        // Ignore the error with which a read ends after the terminal's other side was closed.
        let _ = File::from(pty.master).read_to_end(&mut shown);
        let shown = String::from_utf8_lossy(&shown);
        let taken = shown
            .find("\u{1b}[?1049h")
            .expect("the program has switched to the alternate screen");
        let left = shown
            .find("\u{1b}[?1049l")
            .expect("the program has left the alternate screen");
        let told = shown
            .find("on purpose")
            .expect("the message of the panic is printed");
        assert!(taken < left && left < told, "{shown}");
    }
}
