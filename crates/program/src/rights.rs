//! Drops the privileges of a long-running program after its interfaces, sockets and radio are open:
//! its user, its capabilities, and access to files and system calls that it does not need.

use std::path::Path;
use std::process::Command;

use clap::Args;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat, geteuid};
use redpoll_linux::namespace;
use redpoll_linux::privilege::account::AccountError;
use redpoll_linux::privilege::sandbox::Sandbox;
use redpoll_linux::privilege::{Account, Keep, give_up};

use crate::{FAILED, Failure, USAGE};

/// The options that control the program's privileges.
#[derive(Clone, Debug, Default, Args)]
pub struct RightsArgs {
    /// Become this user (a name, a number or UID:GID) as soon as all files, sockets and devices are
    /// open; needs root. Files that the program writes are created by and belong to that user
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,

    /// Do not restrict the program to the files and system calls that it needs
    #[arg(long)]
    pub no_sandbox: bool,
}

#[derive(Debug)]
pub struct Rights {
    /// The user that the program becomes; `None` if the user does not change.
    account: Option<Account>,
    is_sandboxed: bool,
    /// Whether the program stays root although no option asks for this. [`Rights::give_up`] then
    /// returns a warning.
    stays_root: bool,
}

impl Rights {
    pub fn of(args: &RightsArgs) -> Result<Rights, Failure> {
        let account = args.user.as_deref().map(Account::find).transpose();
        let account = account.map_err(|error| {
            let code = match error {
                AccountError::System(_) => FAILED,
                _ => USAGE,
            };
            (code, format!("--user: {error}"))
        })?;
        Ok(Rights {
            stays_root: account.is_none() && geteuid().is_root() && !namespace::is_of_a_user(),
            account: account.filter(|account| !account.is_root()),
            is_sandboxed: !args.no_sandbox,
        })
    }

    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Calls `make` with the file access rights of the user that the program will become.
    pub fn files<R>(&self, make: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        let Some(account) = &self.account else {
            return make();
        };
        let made = account.act(make);
        let made = made.map_err(|error| (FAILED, format!("--user: {error}")))?;
        made.map_err(|(code, line)| {
            if line.contains("os error 13") {
                let line = format!(
                    "{line}; the user of --user {} needs this permission, because the program \
                     writes its files as that user",
                    account.name()
                );
                (code, line)
            } else {
                (code, line)
            }
        })
    }

    /// Makes `command` run as the user of `--user`, if the option is set.
    pub fn start(&self, command: &mut Command) {
        if let Some(account) = &self.account {
            account.start_as(command);
        }
    }

    /// Returns a warning if the user of `--user` will not be able to reopen `device`.
    pub fn doubt(&self, device: &Path) -> Option<String> {
        let account = self.account.as_ref()?;
        let modes = AccessFlags::R_OK | AccessFlags::W_OK;
        let may = account.act(|| faccessat(AT_FDCWD, device, modes, AtFlags::AT_EACCESS));
        matches!(may, Ok(Err(_))).then(|| {
            format!(
                "warning: the user {} cannot open {} again after the device was unplugged; add this \
                 user to the group that owns the device (`ls -lL` shows the group)",
                account.name(),
                device.display()
            )
        })
    }

    /// Drops all privileges except `keeps` and what `sandbox` allows. Returns warnings to print.
    pub fn give_up(&self, keeps: &[Keep], sandbox: &Sandbox) -> Result<Vec<String>, Failure> {
        let failed =
            |what: &str, error: std::io::Error| (FAILED, format!("cannot {what}: {error}"));
        give_up(self.account.as_ref(), keeps).map_err(|error| failed("drop privileges", error))?;
        let mut lines = Vec::new();
        // No warning with `Keep::Kill`: this program has also started another program as root, and
        // `--user` would change the user of both.
        if self.stays_root && !keeps.contains(&Keep::Kill) {
            lines.push("warning: the program keeps running as root, which can write all system files; to run it as another user: --user NAME; to confirm root: --user root".to_owned());
        }
        if self.is_sandboxed {
            let missing = sandbox.enter();
            let missing = missing.map_err(|error| {
                failed("enter the sandbox (to run without it: --no-sandbox)", error)
            })?;
            lines.extend(missing.into_iter().map(|line| format!("warning: {line}")));
        }
        Ok(lines)
    }
}
