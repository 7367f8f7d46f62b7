use std::cell::Cell;
use std::io::ErrorKind;
use std::rc::Rc;

use redpoll_stack::mac::security::{
    Key, SecurityConfig, SecurityLevel, SecurityMemory, SoftwareAes,
};

use super::*;

enum Heap {}

impl Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

fn security() -> Security<Heap> {
    let config = SecurityConfig::new(
        SecurityLevel::EncMic32,
        Key::new(1, [0x2b; 16]),
        &SoftwareAes,
        [2; 8],
    );
    let memory = SecurityMemory {
        replay: vec![None; 4].into(),
        names: Box::default(),
    };
    Security::new(config, memory)
}

/// Returns a disk that is full while the cell is true, and the last value to store.
fn disk() -> (Store, Rc<Cell<bool>>, Rc<Cell<u32>>) {
    let (is_full, held) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
    let (full, hold) = (Rc::clone(&is_full), Rc::clone(&held));
    let store = move |counter| {
        if full.get() {
            return Err(ErrorKind::StorageFull.into());
        }
        hold.set(counter);
        Ok(())
    };
    (Box::new(store), is_full, held)
}

/// Runs the keeper for a while, turn by turn, as the gateway's loop does. Returns all its lines.
fn run(
    keeper: &mut Keeper,
    security: &mut Security<Heap>,
    seconds: std::ops::Range<u64>,
) -> String {
    let mut said = String::new();
    let turns = seconds.start * 10..seconds.end * 10;
    for now in turns.map(|turn| Instant::from_millis(turn * 100)) {
        if let Some(line) = keeper.turn(now, security) {
            said += &format!("{line}\n");
        }
        assert!(keeper.retry_at().is_none_or(|at| at > now));
    }
    said
}

#[test]
fn a_node_sends_again_once_a_full_disk_has_room() {
    let (store, is_full, held) = disk();
    let (mut keeper, mut security) = (Keeper::new(store), security());
    is_full.set(true);
    let said = run(&mut keeper, &mut security, 0..600);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains("cannot be stored"), "{said}");
    assert!(said.contains("no frame is sent until"), "{said}");
    assert!(security.waits());
    let failed = keeper.counters().failed;
    assert!((20..40).contains(&failed), "{failed} attempts in 10 min");
    is_full.set(false);
    let said = run(&mut keeper, &mut security, 600..631);
    assert!(said.contains("stored again, after"), "{said}");
    assert_eq!((said.lines().count(), held.get()), (1, 1_000));
    assert!(!security.waits());
    assert_eq!(keeper.retry_at(), None);
}

#[test]
fn counters_that_were_not_stored_are_not_used() {
    let (store, is_full, _) = disk();
    let (mut keeper, mut security) = (Keeper::new(store), security());
    is_full.set(true);
    run(&mut keeper, &mut security, 0..100);
    assert!(security.waits());
    assert_eq!(keeper.counters().stored, 0);
}

#[test]
fn without_failures_the_keeper_prints_no_message() {
    let (store, _, held) = disk();
    let (mut keeper, mut security) = (Keeper::new(store), security());
    assert_eq!(run(&mut keeper, &mut security, 0..10), "");
    let counters = keeper.counters();
    assert_eq!(
        (counters.stored, counters.failed, held.get()),
        (1, 0, 1_000)
    );
}
