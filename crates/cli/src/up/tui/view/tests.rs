use ratatui::Terminal;
use ratatui::backend::TestBackend;
use redpoll_base::Duration;
use redpoll_sim::{Scenario, World};

use super::super::draw;
use super::*;

/// Returns a world with a bulk flow over three hops.
fn world() -> World {
    let scenario = Scenario::load("line-3", &[]).unwrap();
    World::new(&scenario, 1).unwrap()
}

fn seen(world: &mut World, view: &mut View, seconds: u64) {
    for _ in 0..4 * seconds {
        world.run_until(world.now() + Duration::from_millis(250));
        view.see(&world.live_sample());
    }
}

/// Returns the text of a screen of this size.
fn screen(view: &View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(frame, view)).unwrap();
    terminal.backend().to_string()
}

fn press(view: &mut View, world: &mut World, key: Key) {
    for command in view.press(key) {
        world.command(&command).unwrap();
    }
}

#[test]
fn nodes_hang_below_their_parents_and_connections_have_their_figures() {
    let (mut world, mut view) = (world(), View::of(&world()));
    seen(&mut world, &mut view, 20);
    let depths: Vec<_> = view
        .nodes
        .iter()
        .map(|it| (it.name.as_str(), it.depth, it.hops))
        .collect();
    let expected = [
        ("node-1", 0, Some(0)),
        ("node-2", 1, Some(1)),
        ("node-3", 2, Some(2)),
        ("node-4", 3, Some(3)),
    ];
    assert_eq!(depths, expected);
    assert_eq!(view.flows.len(), 1);
    // The goodput of two seconds differs from the mean that `redpoll run line-3` reports.
    let kbps = view.flows[0].goodput_kbps;
    assert!((5.0..60.0).contains(&kbps), "{kbps}");
    for (width, height) in [(160, 40), (80, 24)] {
        let text = screen(&view, width, height);
        for word in [
            "line-3",
            " > node-1:5001 ",
            "node-4",
            "node-3",
            "kb/s",
            "cwnd",
            "TCP connections",
            "log",
        ] {
            assert!(text.contains(word), "{width} x {height}, {word}:\n{text}");
        }
    }
}

#[test]
fn the_view_is_drawn_at_every_screen_size() {
    let (mut world, mut view) = (world(), View::of(&world()));
    seen(&mut world, &mut view, 2);
    for width in [1, 2, 10, 40, 155, 156, 300] {
        for height in [1, 2, 3, 5, 9, 60] {
            screen(&view, width, height);
        }
    }
}

#[test]
fn a_node_is_switched_off_and_on_and_the_log_tells() {
    let (mut world, mut view) = (world(), View::of(&world()));
    seen(&mut world, &mut view, 5);
    press(&mut view, &mut world, Key::Down);
    assert_eq!(view.chosen, 1);
    press(&mut view, &mut world, Key::Power);
    seen(&mut world, &mut view, 10);
    assert!(view.nodes[1].is_off);
    assert!(screen(&view, 160, 40).contains("node-2 off"));
    assert!(
        view.log
            .iter()
            .any(|line| line.ends_with("node-2 is switched off")),
        "{:?}",
        view.log
    );
    // No more data arrive, and TCP's retransmission timer expires.
    assert_eq!(view.flows[0].goodput_kbps, 0.0);
    assert!(
        view.log
            .iter()
            .any(|line| line.contains("a retransmission timer expired")),
        "{:?}",
        view.log
    );
    press(&mut view, &mut world, Key::Power);
    seen(&mut world, &mut view, 60);
    assert!(!view.nodes[1].is_off);
    assert!(view.flows[0].goodput_kbps > 1.0);
}

#[test]
fn loss_is_added_and_taken_away() {
    let (mut world, mut view) = (world(), View::of(&world()));
    seen(&mut world, &mut view, 2);
    press(&mut view, &mut world, Key::Down);
    for share in [0.1, 0.3, 0.6, 0.0] {
        press(&mut view, &mut world, Key::Lose);
        seen(&mut world, &mut view, 1);
        assert_eq!(view.nodes[1].loss, share);
    }
    press(&mut view, &mut world, Key::Lose);
    seen(&mut world, &mut view, 1);
    assert!(screen(&view, 80, 24).contains("node-2 loss 10%"));
}

#[test]
fn a_view_that_stands_still_shows_the_moment_and_the_mesh_goes_on() {
    let (mut world, mut view) = (world(), View::of(&world()));
    seen(&mut world, &mut view, 5);
    press(&mut view, &mut world, Key::Pause);
    let (at, nodes) = (view.at, view.nodes.clone());
    seen(&mut world, &mut view, 5);
    assert_eq!((view.at, &view.nodes), (at, &nodes));
    assert!(screen(&view, 100, 30).contains("the view is paused"));
    press(&mut view, &mut world, Key::Pause);
    seen(&mut world, &mut view, 1);
    assert!(view.at > at && view.nodes != nodes);
}

#[test]
fn a_transfer_goes_from_the_chosen_node_to_the_border_router() {
    let (mut world, mut view) = (world(), View::of(&world()));
    seen(&mut world, &mut view, 1);
    assert!(view.press(Key::Transfer).is_empty());
    for _ in 0..9 {
        press(&mut view, &mut world, Key::Down);
    }
    assert_eq!(view.chosen, 3);
    let expected = Command::Transfer {
        from: 3,
        to: 0,
        bytes: TRANSFER,
    };
    assert_eq!(view.press(Key::Transfer), [expected]);
}

#[test]
fn the_log_has_a_bound_and_no_control_characters() {
    let mut view = View::of(&world());
    for at in 0..2 * LOG {
        view.log(&format!("line {at}\u{1b}[2J"));
    }
    assert_eq!(view.log.len(), LOG);
    assert_eq!(view.log[0], format!("line {LOG}[2J"));
}
