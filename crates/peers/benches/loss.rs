//! Runs benches: `cargo bench -p redpoll-peers --features smoltcp` runs the full bench `loss`; `--
//! matrix` and `-- ota-ack` run the other benches.

use redpoll_peers::{Subject, loss, matrix, ota_ack};

fn main() {
    for subject in Subject::ALL {
        if let Some(reason) = subject.missing() {
            eprintln!("{subject} is left out of the benches: {reason}");
        }
    }
    let is_wanted = |name: &str| std::env::args().any(|arg| arg == name);
    // `cargo test` also runs benches, only to check that they work.
    let is_test = !is_wanted("--bench");
    if is_wanted(matrix::NAME) {
        let plan = matrix::Plan::default();
        print!("{}", matrix::table(&plan, &plan.run(|_, _| ())));
        return;
    }
    if is_wanted(ota_ack::NAME) {
        let plan = ota_ack::Plan::default();
        print!("{}", ota_ack::table(&plan, &plan.run(|_, _| ())));
        return;
    }
    let plan = if is_test {
        loss::Plan {
            losses: vec![5],
            seeds: 1,
            bytes: 20_000,
            ..loss::Plan::default()
        }
    } else {
        loss::Plan::default()
    };
    print!("{}", loss::rules(&plan));
    let figures = plan.run(|_, _| ());
    print!("{}", loss::table(&figures));
}
