//! The program with `CAP_NET_ADMIN` as its only capability, as root and as another user, in its
//! sandbox: it holds and releases packets, stops and continues, writes and answers.

use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::daemon::{Daemon, figure};
use crate::net::Network;
use crate::rights::{GROUP, NET_ADMIN, USER, USER_OPTION, check, check_sandbox, settled};
use crate::rules;
use crate::sudden::{is_taken, until};
use crate::support::Folder;

/// Returns why the test cannot run here: a user's namespace does not contain the other user.
pub fn no_users() -> Option<String> {
    let is_of_a_user = redpoll_linux::namespace::is_of_a_user();
    is_of_a_user.then(|| "it needs root".to_owned())
}

pub fn shapes_as_another_user() {
    shapes(13, "24", USER_OPTION);
}

pub fn shapes_as_root() {
    shapes(14, "25", "root");
}

/// Returns how many bytes the two flows together deliver in 3 s.
fn bytes(network: &Network) -> u64 {
    network.upload(Duration::from_secs(3), 1).iter().sum()
}

fn shapes(n: u16, queue: &str, user: &str) {
    let is_user = user == USER_OPTION;
    let folder = Folder::new(&format!("taim-{n}"));
    let owner = is_user.then_some([USER, GROUP]);
    let [uid, gid] = owner.map_or([None; 2], |ids| ids.map(Some));
    std::os::unix::fs::chown(&folder.0, uid, gid).expect("root may change the owner");
    let readable = folder.write("readable", "anybody may read this");
    let json = folder.file("flows.json");

    let network = Network::new(n, [1, 1]);
    rules(queue);
    let free = bytes(&network);
    // In each second 50 packets leave, counted over both flows and both directions.
    let daemon = Daemon::start(&[
        "--queue",
        queue,
        "--user",
        user,
        "--delay",
        "20",
        "--min-delay",
        "20",
        "--metrics",
        "127.0.0.1:0",
        "--json",
        &json,
        "--every",
        "1",
    ]);
    let threads = settled(daemon.child.id(), 2);
    check(&threads, NET_ADMIN, is_user);
    let limited = bytes(&network);
    println!("{free} B without it, {limited} B with it");
    assert!(limited > 0 && limited < free / 5, "{free} -> {limited}");
    let released = || figure(&daemon.metrics(), "redpoll_taim_released_total ");
    assert!(released() > 50.0, "{}", released());
    check_sandbox(&threads, &readable, true);

    // The program opens the queue again, which requires the capability and a new socket.
    daemon.signal(Signal::SIGTSTP);
    until("it is not stopped", || {
        daemon.status("State:").starts_with('T')
    });
    daemon.signal(Signal::SIGCONT);
    until("it does not go on", || is_taken(queue));
    let again = bytes(&network);
    assert!(again > 0 && again < free / 5, "{free} -> {again}");
    check(&settled(daemon.child.id(), 2), NET_ADMIN, is_user);
    let (code, _) = daemon.end(Signal::SIGINT);
    assert_eq!(code, Some(0));
    let text = std::fs::read_to_string(&json).unwrap();
    assert!(text.lines().count() > 3, "{text}");
    let owner = std::fs::metadata(&json).unwrap().uid();
    assert_eq!(owner, if is_user { USER } else { 0 });
}
