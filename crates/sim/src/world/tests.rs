use redpoll_stack::NodeEvent;

use super::*;
use crate::traffic::Context;

/// An app that always requests to be called at the present time.
struct Stuck;

impl App for Stuck {
    fn start(&mut self, _: &mut Context<'_>) {}
    fn on_event(&mut self, _: &mut Context<'_>, _: &NodeEvent) {}
    fn on_timer(&mut self, _: &mut Context<'_>) {}
    fn next_timer(&self) -> Option<Instant> {
        Some(Instant::from_millis(5))
    }
}

#[test]
fn a_run_ends_at_an_application_that_stops_time() {
    let mut scenario = Scenario::load("line-1", &[]).unwrap();
    for node in scenario.nodes.iter_mut().chain(&mut scenario.host) {
        node.apps.clear();
    }
    let mut world = World::new(&scenario, 1).unwrap();
    world.add_app(1, Box::new(Stuck));
    world.run_until(Instant::from_millis(10));
    let why = "0.005000 s: node-2 has an application that requested its timer 10000 times \
               at this instant, so the run ends here";
    assert_eq!(world.stall(), Some(why));
    assert_eq!(world.oracle().violations(), [why]);
    assert_eq!(world.next_event_at(), None);
    let events = world.events;
    world.run_until(Instant::from_millis(3_600_000));
    assert_eq!(world.events, events);
    assert_eq!(world.report().simulated_s, 0.005);
}

#[test]
fn a_fault_that_names_no_node_is_refused() {
    use crate::fault::{Rule, Spec};
    let mut scenario = Scenario::load("line-1", &[]).unwrap();
    scenario.faults.push(Spec {
        from: Instant::ZERO,
        until: Instant::FAR_FUTURE,
        rule: Rule::NodeOff { node: 2 },
    });
    let error = World::new(&scenario, 1).unwrap_err();
    assert_eq!(error.to_string(), "fault 0: there is no node number 2");
    scenario.nodes.clear();
    assert_eq!(World::new(&scenario, 1).unwrap_err(), BuildError::Empty);
}

/// Checks that a frame without an outcome, or with two outcomes, is a violation.
#[test]
fn frames_that_do_not_add_up_are_violations() {
    use crate::air::{FrameClass, Ledger, Outcome};
    let spoil: [fn(&mut Ledger); 3] = [
        |_| {},
        |ledger| ledger.open(FrameClass::Unicast),
        |ledger| ledger.close(FrameClass::Ack, Outcome::Delivered, 0, 1),
    ];
    let scenario = Scenario::load("line-1", &[]).unwrap();
    for (case, spoil) in spoil.into_iter().enumerate() {
        let mut world = World::new(&scenario, 1).unwrap();
        world.run_until(Instant::from_millis(2_000));
        spoil(world.env.air.ledger_mut());
        let verdict = world.report().oracle;
        assert_eq!(verdict.ok, case == 0, "{:?}", verdict.violations);
        if case > 0 {
            let text = &verdict.violations[0];
            assert!(text.starts_with("frames of the kind"), "{text}");
        }
    }
}
