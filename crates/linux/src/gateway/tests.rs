//! The loop with a mesh that only records the calls.

use std::thread::sleep;

use redpoll_base::StaticMemory;
use redpoll_stack::Node;

use super::*;

/// A mesh with one event whose time it records, and packets for the host.
#[derive(Default)]
struct Diary {
    due: Option<Instant>,
    advanced_to: Vec<Instant>,
    packets: Vec<Vec<u8>>,
}

impl Mesh for Diary {
    type Border = Node<StaticMemory>;

    fn advance(&mut self, now: Instant) {
        self.advanced_to.push(now);
        self.due = self.due.filter(|&due| due > now);
    }

    fn next_at(&self) -> Option<Instant> {
        self.due
    }

    fn input_packet(&mut self, _: &[u8]) {}

    fn poll_packet(&mut self, out: &mut [u8]) -> Option<usize> {
        let packet = self.packets.pop()?;
        out[..packet.len()].copy_from_slice(&packet);
        Some(packet.len())
    }

    fn border<R>(&mut self, _: impl FnOnce(Instant, &mut Node<StaticMemory>) -> R) -> R {
        unreachable!("nothing is forwarded here")
    }
}

fn gateway() -> Gateway {
    Gateway::new(None, Forwarder::new())
}

#[test]
fn lateness_is_that_of_the_most_belated_event() {
    let mut gateway = gateway();
    let mut mesh = Diary::default();
    gateway.turn(&mut mesh).unwrap();
    assert_eq!(gateway.take_lateness(), Duration::ZERO, "nothing was due");

    mesh.due = Some(gateway.clock().now());
    sleep(StdDuration::from_millis(30));
    gateway.turn(&mut mesh).unwrap();
    let lateness = gateway.take_lateness();
    assert!(lateness >= Duration::from_millis(30), "{lateness:?}");
    assert_eq!(gateway.take_lateness(), Duration::ZERO, "it is told once");
}

#[test]
fn a_mesh_that_is_behind_catches_up_in_steps() {
    let mut gateway = gateway();
    let mut mesh = Diary {
        due: Some(Instant::ZERO),
        ..Diary::default()
    };
    sleep(StdDuration::from_millis(120));
    gateway.turn(&mut mesh).unwrap();
    // The mesh first advances by one step from its event, and then to the current time.
    assert_eq!(mesh.advanced_to[0], Instant::ZERO + Gateway::STEP);
    assert!(mesh.advanced_to[1] > Instant::from_millis(120));
}

#[test]
fn without_an_interface_packets_for_the_host_are_counted_and_lost() {
    let mut gateway = gateway();
    let mut mesh = Diary {
        packets: vec![vec![0x60; 40]; 3],
        ..Diary::default()
    };
    gateway.turn(&mut mesh).unwrap();
    assert_eq!(gateway.counters().refused_by_host, 3);
    assert_eq!(gateway.counters().packets_out, 0);
}

#[test]
fn waiting_ends_when_the_mesh_has_something_to_do() {
    let gateway = gateway();
    let soon = gateway.clock().now() + Duration::from_millis(40);
    let mesh = Diary {
        due: Some(soon),
        ..Diary::default()
    };
    gateway.wait(&mesh, &[], None).unwrap();
    let now = gateway.clock().now();
    assert!(
        now >= soon && now < soon + Duration::from_millis(500),
        "{now:?}"
    );
}
