//! `cargo bench -p redpoll-peers --features smoltcp`: the bench `loss`, in full.

use redpoll_peers::Subject;
use redpoll_peers::loss::{self, Plan};

fn main() {
    for subject in Subject::ALL {
        if let Some(reason) = subject.missing() {
            eprintln!("left out: {subject}: {reason}");
        }
    }
    // `cargo test` runs benches too, to see that they work.
    let is_test = !std::env::args().any(|arg| arg == "--bench");
    let plan = if is_test {
        Plan {
            losses: vec![5],
            seeds: 1,
            bytes: 20_000,
            ..Plan::default()
        }
    } else {
        Plan::default()
    };
    print!("{}", loss::rules(&plan));
    let figures = plan.run(|_, _| ());
    print!("{}", loss::table(&figures));
}
