use redpoll_base::Duration;
use redpoll_tcp::Config;
use redpoll_testkit::{Link, Outcome, Pair, Plan};

#[test]
fn smoke() {
    for loss in [0, 20, 100] {
        let plan = Plan {
            send: 20_000,
            ..Plan::default()
        };
        let link = Link {
            loss,
            ..Link::default()
        };
        let mut pair = Pair::new(
            1,
            &Config {
                mss: 474,
                ..Config::default()
            },
            [link.clone(), link],
            [plan, Plan::default()],
        );
        let report = pair.run(Duration::from_secs(600));
        eprintln!("{report:#?}");
        assert_eq!(report.outcome, Outcome::Done);
        assert_eq!(report.read, [0, 20_000]);
    }
}
