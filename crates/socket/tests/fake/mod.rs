//! Nodes over fake IP devices, with a small executor and virtual time. The executor polls a task
//! only after its waker was used.
#![allow(dead_code, reason = "each test uses its own part of this module")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use redpoll_base::Instant;
use redpoll_socket::nal::{Clock, Net, Watch};

use crate::common::{HeapMemory, MTU, node};

/// Packets in one direction, at most [`ROOM`], and the tasks that wait for packets or room.
#[derive(Default)]
pub struct Way {
    pub packets: RefCell<VecDeque<Vec<u8>>>,
    pub reader: RefCell<Option<Waker>>,
    pub writer: RefCell<Option<Waker>>,
    pub lost: Cell<u32>,
    pub longest: Cell<usize>,
    /// The link loses every packet whose number is a multiple of this; 0 for no losses.
    pub loses: Cell<u32>,
}

pub const ROOM: usize = 2;

pub struct Device {
    pub input: Rc<Way>,
    pub output: Rc<Way>,
    pub mtu: usize,
    pub address: HardwareAddress,
}

pub struct Taken(Vec<u8>, Rc<Way>);
pub struct Place(pub Rc<Way>);

impl RxToken for Taken {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, f: F) -> R {
        if let Some(waker) = self.1.writer.take() {
            waker.wake();
        }
        f(&mut self.0)
    }
}

impl TxToken for Place {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        let way = self.0;
        way.longest.set(way.longest.get().max(len));
        way.lost.set(way.lost.get() + 1);
        if way.loses.get() > 0 && way.lost.get().is_multiple_of(way.loses.get()) {
            return result;
        }
        way.packets.borrow_mut().push_back(packet);
        if let Some(waker) = way.reader.take() {
            waker.wake();
        }
        result
    }
}

impl Driver for Device {
    type RxToken<'a> = Taken;
    type TxToken<'a> = Place;

    fn receive(&mut self, cx: &mut Context<'_>) -> Option<(Taken, Place)> {
        let packet = self.input.packets.borrow_mut().pop_front();
        if packet.is_none() {
            self.input.reader.replace(Some(cx.waker().clone()));
        }
        Some((
            Taken(packet?, self.input.clone()),
            Place(self.output.clone()),
        ))
    }

    fn transmit(&mut self, cx: &mut Context<'_>) -> Option<Place> {
        if self.output.packets.borrow().len() >= ROOM {
            self.output.writer.replace(Some(cx.waker().clone()));
            return None;
        }
        Some(Place(self.output.clone()))
    }

    fn link_state(&mut self, _: &mut Context<'_>) -> LinkState {
        LinkState::Up
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        self.address
    }
}

pub fn devices(loses: u32) -> [Device; 2] {
    let (a, b) = (Rc::new(Way::default()), Rc::new(Way::default()));
    a.loses.set(loses);
    b.loses.set(loses);
    let device = |input: &Rc<Way>, output: &Rc<Way>| Device {
        input: input.clone(),
        output: output.clone(),
        mtu: MTU,
        address: HardwareAddress::Ip,
    };
    [device(&a, &b), device(&b, &a)]
}

/// The time, and the tasks with the times at which they wake.
#[derive(Default)]
pub struct World {
    pub now: Cell<u64>,
    pub sleepers: RefCell<Vec<(u64, Waker)>>,
}

pub struct Time<'w>(pub &'w World);

impl Clock for Time<'_> {
    fn now(&self) -> Instant {
        Instant::from_micros(self.0.now.get())
    }
}

impl World {
    pub async fn sleep(&self, until: Instant) {
        std::future::poll_fn(|cx| {
            if until.as_micros() <= self.now.get() {
                return Poll::Ready(());
            }
            let sleeper = (until.as_micros(), cx.waker().clone());
            self.sleepers.borrow_mut().push(sleeper);
            Poll::Pending
        })
        .await;
    }

    /// Advances the time to the next wake-up.
    pub fn pass(&self) {
        let mut sleepers = self.sleepers.borrow_mut();
        let next = sleepers.iter().map(|(at, _)| *at).min();
        self.now
            .set(next.expect("an event is pending that wakes a task"));
        for (_, waker) in sleepers.drain(..) {
            waker.wake();
        }
    }
}

pub struct Flag(pub AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub type Task<'t> = Pin<Box<dyn Future<Output = ()> + 't>>;

/// Runs all tasks until the last one in the list has ended; the others never end.
pub fn run(world: &World, tasks: Vec<Task<'_>>) {
    run_with(tasks, || world.pass());
}

/// As [`run`]; `pass` advances the time when no task can go on.
pub fn run_with(mut tasks: Vec<Task<'_>>, pass: impl Fn()) {
    let flags: Vec<_> = tasks
        .iter()
        .map(|_| Arc::new(Flag(AtomicBool::new(true))))
        .collect();
    for _ in 0..200_000 {
        let mut any = false;
        let last = tasks.len() - 1;
        for (index, (task, flag)) in tasks.iter_mut().zip(&flags).enumerate() {
            if !flag.0.swap(false, Ordering::SeqCst) {
                continue;
            }
            any = true;
            let waker = Waker::from(flag.clone());
            let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
            if index == last && polled.is_ready() {
                return;
            }
        }
        if !any {
            pass();
        }
    }
    panic!("the tasks go on for ever");
}

pub type Nodes<'w> = Net<HeapMemory, Time<'w>, [Watch; 4]>;

pub fn net(number: u8, world: &World) -> Nodes<'_> {
    Net::new(node(number), Time(world), [const { Watch::FREE }; 4])
}

pub async fn drive<D: Driver>(net: &Nodes<'_>, device: &mut D, world: &World) {
    let mut packet = [0; MTU];
    let ended = net
        .run_over(device, &mut packet, |at| world.sleep(at))
        .await;
    panic!("{ended:?}");
}
