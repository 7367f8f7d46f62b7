//! External nodes that the simulator reaches through a channel in memory. They run the program of
//! `firmware/`'s images.

#[path = "support/same.rs"]
mod same;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use redpoll_base::Rng;
use redpoll_leaf::{Device, Services, Status, Storage};
use redpoll_sim::external::{Arrival, Line};
use redpoll_sim::{BuildError, NodeSpec};
use redpoll_stack::mac::Radio;
use redpoll_uart::{LineRadio, Port};

use same::{Played, assert_same, play, with_a_simulated_leaf, with_an_external_leaf};

#[derive(Default)]
struct Trouble {
    /// Average number of messages per damaged one, in both directions.
    damage: Option<u32>,
    /// An event, and the number of requests after which it happens.
    after: Option<(u32, Event)>,
    begun: u32,
}

#[derive(Clone, Copy)]
enum Event {
    Reset,
    /// The line is closed, and reopened a little later.
    Gone,
    /// The leaf ignores this number of requests.
    Silence(u32),
}

/// A leaf at the other end of a line.
struct Inside {
    radio: LineRadio<Wire>,
    leaf: Option<(Device, Services)>,
    arrivals: VecDeque<Arrival>,
    requests: u32,
    silent: u32,
    trouble: Arc<Mutex<Trouble>>,
    rng: Rng,
}

/// The leaf's end of the line.
#[derive(Default)]
struct Wire {
    comes: VecDeque<u8>,
    said: Vec<u8>,
    begins_anew: bool,
}

impl Port for Wire {
    fn read(&mut self) -> Option<u8> {
        self.comes.pop_front()
    }

    fn write(&mut self, byte: u8) {
        self.said.push(byte);
    }

    fn restart(&mut self) {
        self.begins_anew = true;
    }
}

impl Inside {
    fn new(trouble: Arc<Mutex<Trouble>>) -> Inside {
        Inside {
            radio: LineRadio::new(Wire::default()),
            leaf: None,
            arrivals: [Arrival::Peer].into(),
            requests: 0,
            silent: 0,
            trouble,
            rng: Rng::new(1),
        }
    }

    fn switch_on(&mut self) {
        self.leaf = None;
        let said = std::mem::take(&mut self.radio.port_mut().said);
        self.radio = LineRadio::new(Wire::default());
        self.radio.port_mut().said.splice(0..0, said);
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        let share = self.trouble.lock().unwrap().damage;
        if share.is_none_or(|share| self.rng.below(share) != 0) || bytes.is_empty() {
            return;
        }
        let at = self.rng.below(bytes.len() as u32) as usize;
        match self.rng.below(3) {
            0 => bytes[at] ^= 1 << self.rng.below(8),
            1 => drop(bytes.remove(at)),
            _ => {
                let garbage: Vec<u8> = (0..40).map(|_| self.rng.next_u32() as u8).collect();
                bytes.splice(at..at, garbage);
            }
        }
    }

    fn input(&mut self, bytes: Vec<u8>) {
        self.radio.port_mut().comes.extend(bytes);
        if self.leaf.is_none() {
            let Some(begin) = self.radio.poll_begin() else {
                return;
            };
            self.requests += 1;
            self.trouble.lock().unwrap().begun += 1;
            let storage = Box::leak(Box::new(Storage::NEW));
            let mut node = redpoll_leaf::node(&begin, storage.memory());
            let services = Services::start(&mut node, &begin);
            self.leaf = Some((node, services));
        }
        let (node, services) = self.leaf.as_mut().expect("the node has begun");
        let mut cx = Context::from_waker(Waker::noop());
        while (node.drive(&mut self.radio, &mut cx, services.wakes_at())).is_ready() {
            self.requests += 1;
            services.serve(self.radio.now(), node, Status::default());
        }
        if self.radio.port_mut().begins_anew {
            self.switch_on();
        }
    }
}

impl Line for Inside {
    fn send(&mut self, bytes: &[u8]) {
        let due = self.trouble.lock().unwrap().after;
        if let Some((after, event)) = due
            && self.requests >= after
        {
            self.trouble.lock().unwrap().after = None;
            match event {
                Event::Reset => self.switch_on(),
                Event::Gone => {
                    self.switch_on();
                    self.arrivals = [Arrival::Gone, Arrival::Nothing, Arrival::Peer].into();
                }
                Event::Silence(times) => self.silent = times,
            }
        }
        if self.silent > 0 {
            self.silent -= 1;
            return;
        }
        let mut bytes = bytes.to_vec();
        self.damage(&mut bytes);
        self.input(bytes);
    }

    fn receive(&mut self, wait: Duration, bytes: &mut Vec<u8>) -> Arrival {
        if let Some(arrival) = self.arrivals.pop_front() {
            return arrival;
        }
        let mut said = std::mem::take(&mut self.radio.port_mut().said);
        if said.is_empty() {
            std::thread::sleep(wait);
            return Arrival::Nothing;
        }
        self.damage(&mut said);
        bytes.extend(said);
        Arrival::Bytes
    }
}

/// Opens one line, to a leaf with `trouble`.
struct One(RefCell<Option<Arc<Mutex<Trouble>>>>);

impl One {
    fn open(&self, _: &NodeSpec, line: &str) -> Result<Box<dyn Line>, String> {
        assert_eq!(line, "memory");
        let trouble = self.0.borrow_mut().take().ok_or("there is one")?;
        Ok(Box::new(Inside::new(trouble)))
    }
}

fn one(trouble: Trouble) -> (Arc<Mutex<Trouble>>, One) {
    let trouble = Arc::new(Mutex::new(trouble));
    let lines = One(RefCell::new(Some(trouble.clone())));
    (trouble, lines)
}

fn played(trouble: Trouble, more: &[(&str, &str)]) -> (Trouble, Played) {
    let (trouble, lines) = one(trouble);
    let played = play(
        &with_an_external_leaf("memory", more),
        Some(&|node, line| lines.open(node, line)),
    );
    let trouble = std::mem::take(&mut *trouble.lock().unwrap());
    (trouble, played)
}

fn told(played: &mut Played) -> Vec<String> {
    let notices = played.world.take_notices();
    notices.into_iter().map(|notice| notice.text).collect()
}

#[test]
fn a_leaf_elsewhere_sends_the_frames_of_a_simulated_leaf() {
    let here = play(&with_a_simulated_leaf(), None);
    let (_, there) = played(Trouble::default(), &[]);
    assert_same(&here, &there);
    let figures = there.world.external_figures(3).unwrap();
    assert_eq!((figures.begun, figures.gone, figures.damaged), (1, 0, 0));
    assert_eq!(figures.impossible, 0);
    // The hello of the external leaf may cause a repeated request at the start.
    assert!(figures.repeated <= 1, "{figures:?}");
    assert!(figures.asked > 400, "{figures:?}");
    assert!(there.world.oracle().violations().is_empty());
}

#[test]
fn garbage_on_the_line_has_no_effect() {
    let (_, clean) = played(Trouble::default(), &[]);
    let trouble = Trouble {
        damage: Some(150),
        ..Trouble::default()
    };
    let (_, mut spoilt) = played(trouble, &[]);
    assert_same(&clean, &spoilt);
    let figures = spoilt.world.external_figures(3).unwrap();
    assert!(figures.repeated >= 3 && figures.damaged > 0, "{figures:?}");
    let told = told(&mut spoilt);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("damaged"));
}

#[test]
fn a_leaf_that_resets_or_disconnects_starts_again() {
    for (event, word) in [(Event::Reset, "reset"), (Event::Gone, "disconnected")] {
        let trouble = Trouble {
            after: Some((20, event)),
            ..Trouble::default()
        };
        let (trouble, mut played) = played(trouble, &[]);
        assert_eq!(trouble.begun, 2);
        let figures = played.world.external_figures(3).unwrap();
        assert_eq!(figures.begun, 2);
        let told = told(&mut played);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(word), "{told:?}");
        // The event happened before the connection was opened, so all its bytes are echoed.
        assert_eq!(played.echoed, 6_000);
    }
}

#[test]
fn a_silent_leaf_is_reported_and_readmitted() {
    let trouble = Trouble {
        after: Some((20, Event::Silence(3))),
        ..Trouble::default()
    };
    let more = [("external.patience", "500 ms")];
    let (trouble, mut played) = played(trouble, &more);
    assert_eq!(trouble.begun, 1);
    // The run waited for `external.patience`, 0.5 s, and no longer.
    assert_eq!(told(&mut played), ["has not answered for 0.5 s"]);
    assert_eq!(played.echoed, 0);
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(20));
        played.world.run_until(played.world.now());
        match told(&mut played).as_slice() {
            [] => {}
            told => return assert_eq!(told, ["answers again"]),
        }
    }
    panic!("it was not asked again");
}

#[test]
fn a_line_without_a_node_ends_the_run_with_a_message() {
    struct Nobody;
    impl Line for Nobody {
        fn send(&mut self, _: &[u8]) {}
        fn receive(&mut self, wait: Duration, _: &mut Vec<u8>) -> Arrival {
            std::thread::sleep(wait);
            Arrival::Nothing
        }
    }
    let scenario = with_an_external_leaf("unix:x", &[("external.patience", "300 ms")]);
    let error = same::world(&scenario, Some(&|_, _| Ok(Box::new(Nobody)))).unwrap_err();
    assert!(matches!(error, BuildError::Line { .. }));
    let text = error.to_string();
    assert!(text.starts_with("nodes.node-4.line: nothing answered at unix:x within 0.3 s"));
    let error = same::world(&scenario, None).unwrap_err();
    assert!(error.to_string().contains("allowed: redpoll up"));
}
