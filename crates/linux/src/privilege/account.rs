//! The user that a program becomes.

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use nix::unistd::{
    Gid, Uid, User, geteuid, getgrouplist, getgroups, setfsgid, setfsuid, setgroups,
};

#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error(
        "only root can become another user; start the program as root, or as that user without this option"
    )]
    NotRoot,
    #[error(
        "there is no user {0}; allowed: a name or a number that the system knows (`getent passwd` lists them), or UID:GID"
    )]
    Unknown(String),
    #[error(
        "this user namespace has no user {0} (/proc/self/uid_map and gid_map list its users and \
         groups)"
    )]
    Unmapped(String),
    #[error(transparent)]
    System(#[from] io::Error),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub(super) uid: Uid,
    pub(super) gid: Gid,
    pub(super) groups: Vec<Gid>,
    name: String,
    home: PathBuf,
}

impl Account {
    /// Finds a user by its name, its number, or as `UID:GID`, which needs no entry in the system's
    /// list of users. This process must be root.
    pub fn find(text: &str) -> Result<Account, AccountError> {
        if !geteuid().is_root() {
            return Err(AccountError::NotRoot);
        }
        let account = Self::look_up(text)?;
        // An empty `act` shows whether the user namespace contains the user's number.
        match account.act(|| ()) {
            Ok(()) => Ok(account),
            Err(_) => Err(AccountError::Unmapped(text.to_owned())),
        }
    }

    fn look_up(text: &str) -> Result<Account, AccountError> {
        let unknown = || AccountError::Unknown(text.to_owned());
        if let Some((uid, gid)) = text.split_once(':') {
            let number = |text: &str| text.parse::<u32>().ok().filter(|it| *it != u32::MAX);
            let (uid, gid) = number(uid).zip(number(gid)).ok_or_else(unknown)?;
            return Ok(Account {
                uid: Uid::from_raw(uid),
                gid: Gid::from_raw(gid),
                groups: vec![Gid::from_raw(gid)],
                name: uid.to_string(),
                home: PathBuf::from("/"),
            });
        }
        let user = match text.parse() {
            Ok(uid) => User::from_uid(Uid::from_raw(uid)),
            Err(_) => User::from_name(text),
        };
        // Some systems report an unknown name as an error.
        let user = user.ok().flatten().ok_or_else(unknown)?;
        let name = CString::new(user.name.as_bytes()).map_err(|_| unknown())?;
        Ok(Account {
            uid: user.uid,
            gid: user.gid,
            groups: getgrouplist(&name, user.gid).map_err(io::Error::from)?,
            name: user.name,
            home: user.dir,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether this user is root, which owns the system's files.
    pub fn is_root(&self) -> bool {
        self.uid.is_root()
    }

    /// Runs `act` with this user's rights to files (setfsuid(2)): it opens files that the user may
    /// open, and the files that it creates belong to the user. Only for a process of one thread.
    /// Fails if this process is not root, or if its user namespace does not contain the user.
    pub fn act<R>(&self, act: impl FnOnce() -> R) -> io::Result<R> {
        let _as_user = AsUser::enter(self)?;
        Ok(act())
    }

    /// Makes the program of `command` start as this user, if this process is still root. Call it
    /// before [`kill_with_us`](crate::child::kill_with_us): the kernel forgets that request when
    /// the user changes.
    pub fn start_as(&self, command: &mut Command) {
        command.env("HOME", &self.home);
        command.env("USER", &self.name);
        command.env("LOGNAME", &self.name);
        let account = self.clone();
        // SAFETY: between fork and exec only async-signal-safe calls are allowed; these are bare
        // system calls in a process of one thread, and allocate nothing.
        unsafe {
            command.pre_exec(move || {
                if geteuid().is_root() {
                    super::become_account(&account)?;
                    nix::sys::prctl::set_no_new_privs()?;
                }
                Ok(())
            });
        }
    }
}

/// The original file rights of this thread, restored on drop.
struct AsUser {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl AsUser {
    fn enter(account: &Account) -> io::Result<AsUser> {
        let groups = getgroups()?;
        setgroups(&account.groups)?;
        let this = AsUser {
            groups,
            gid: setfsgid(account.gid),
            uid: setfsuid(account.uid),
        };
        // setfsuid(2) and setfsgid(2) report no errors, but return the previous identifier. An
        // invalid identifier changes nothing.
        let nobody = u32::MAX;
        let now = (
            setfsuid(Uid::from_raw(nobody)),
            setfsgid(Gid::from_raw(nobody)),
        );
        if now == (account.uid, account.gid) {
            Ok(this)
        } else {
            Err(io::Error::from(io::ErrorKind::PermissionDenied))
        }
    }
}

impl Drop for AsUser {
    fn drop(&mut self) {
        setfsuid(self.uid);
        setfsgid(self.gid);
        // Restores the groups that this process had before.
        let _ = setgroups(&self.groups);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn is_root() -> bool {
        let is_root = geteuid().is_root();
        if !is_root {
            println!("skipped: it needs root");
        }
        is_root
    }

    #[test]
    fn users_are_found_by_name_number_and_pair() {
        let by_name = Account::look_up("nobody").unwrap();
        assert_eq!(Account::look_up(&by_name.uid.to_string()).unwrap(), by_name);
        let pair = Account::look_up("4321:1234").unwrap();
        assert_eq!((pair.uid.as_raw(), pair.gid.as_raw()), (4_321, 1_234));
        assert_eq!(pair.groups, [Gid::from_raw(1_234)]);
        for bad in [
            "",
            "no-such-user",
            "4294967294",
            "1:",
            ":1",
            "-1:1",
            "1:4294967295",
        ] {
            let error = Account::look_up(bad).unwrap_err();
            assert!(matches!(error, AccountError::Unknown(_)), "{bad}: {error}");
        }
    }

    #[test]
    fn account_find_requires_root() {
        if !geteuid().is_root() {
            let error = Account::find("nobody").unwrap_err();
            assert!(matches!(error, AccountError::NotRoot), "{error}");
        }
    }

    #[test]
    fn files_are_made_as_the_user_and_with_its_rights_only() {
        if !is_root() {
            return;
        }
        let account = Account::find("4321:1234").unwrap();
        let folder = std::env::temp_dir().join(format!("redpoll-act-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let make = |name: &str| std::fs::write(folder.join(name), "").map_err(|it| it.kind());
        let refused = account.act(|| make("refused")).unwrap();
        assert_eq!(refused, Err(io::ErrorKind::PermissionDenied));
        std::os::unix::fs::chown(&folder, Some(4_321), None).unwrap();
        account.act(|| make("made")).unwrap().unwrap();
        let made = std::fs::metadata(folder.join("made")).unwrap();
        assert_eq!((made.uid(), made.gid()), (4_321, 1_234));
        make("of-root").unwrap();
        let of_root = std::fs::metadata(folder.join("of-root")).unwrap();
        assert_eq!((of_root.uid(), of_root.gid()), (0, 0));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
