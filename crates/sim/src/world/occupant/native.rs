//! A node with Redpoll's stack, and the applications that run on it.

use redpoll_base::{Duration, Instant};
use redpoll_rivals::Rival;
use redpoll_stack::Streams;

use super::Resident;
use crate::air::AirResult;
use crate::energy::Labour;
use crate::node::{self, SimNode};
use crate::oracle::Watch;
use crate::traffic::{App, Context};
use crate::world::Event;
use crate::world::environment::{Environment, Seat};
use crate::world::stall::Loop;

/// A node with Redpoll's stack. The simulated host is a node of this kind, without a radio.
pub(crate) struct Native {
    pub(crate) node: SimNode,
    has_radio: bool,
    apps: Vec<Box<dyn App>>,
    wants_acks: bool,
    /// The watched connections, whose statistics belong to flows.
    pub(crate) watches: Vec<Watch>,
    /// Time of the next call that the node requested, by the node's clock.
    wants_at: Option<Instant>,
    /// Time of the next call that an application requested.
    apps_wake_at: Instant,
    pub(crate) labour: Labour,
    /// The frame counter in the node's flash, which survives a restart.
    pub(crate) counter_stored: u32,
    /// The frame counter of the latest encrypted frame, which a restart does not change.
    sealed_with: Option<u32>,
}

impl Native {
    pub(in crate::world) fn new(node: SimNode, has_radio: bool, labour: Labour) -> Native {
        Native {
            node,
            has_radio,
            apps: Vec::new(),
            wants_acks: false,
            watches: Vec::new(),
            wants_at: None,
            apps_wake_at: Instant::FAR_FUTURE,
            labour,
            counter_stored: 0,
            sealed_with: None,
        }
    }

    pub(in crate::world) fn add_app(&mut self, seat: &mut Seat<'_>, app: Box<dyn App>) {
        self.apps.push(app);
        self.with_apps(seat, |apps, cx| {
            if let Some(app) = apps.last_mut() {
                app.start(cx);
            }
        });
    }

    /// Ends all applications, and closes and releases their connections. Also closes the listeners
    /// of Redpoll's TCP: otherwise a handshake that completes later would leave a connection that
    /// no application closes.
    pub(in crate::world) fn stop_apps(&mut self, seat: &mut Seat<'_>) {
        self.apps.clear();
        let now = seat.local_now();
        if !matches!(self.node.streams(), Rival::None(_)) {
            for watch in self.watches.drain(..) {
                self.node.close(now, watch.conn);
                self.node.release(now, watch.conn);
            }
            return;
        }
        let listeners: Vec<_> = self.node.tcp_listeners().collect();
        for listener in listeners {
            self.node.tcp_unlisten(now, listener);
        }
        let open = self.node.tcp_connections();
        let open: Vec<_> = open.map(|(conn, _)| conn).collect();
        for conn in open {
            self.node.tcp_close(now, conn);
            self.node.tcp_release(now, conn);
        }
    }

    /// Replaces the node by a restarted one. Applications without state in flash are removed.
    pub(in crate::world) fn restart(&mut self, seat: &mut Seat<'_>, node: SimNode) {
        self.node = node;
        seat.timing.wakes_at = Instant::FAR_FUTURE;
        self.watches.clear();
        self.with_apps(seat, |apps, cx| apps.retain_mut(|app| app.restart(cx)));
    }

    /// Schedules the timers of the applications again after a step of the clock.
    pub(in crate::world) fn on_clock_step(&mut self, seat: &mut Seat<'_>) {
        self.with_apps(seat, |_, _| {});
    }

    pub(in crate::world) fn losses(&self) -> Vec<(&'static str, u64)> {
        self.apps.iter().flat_map(|app| app.losses()).collect()
    }

    /// Calls the applications whose timers have expired. Returns false if the scheduled call
    /// is out of date, because another call has replaced it.
    pub(in crate::world) fn on_app_timer(&mut self, seat: &mut Seat<'_>) -> bool {
        if self.apps_wake_at > seat.env.now {
            return false;
        }
        self.apps_wake_at = Instant::FAR_FUTURE;
        self.with_apps(seat, |apps, cx| {
            for app in apps {
                if app.next_timer().is_some_and(|at| at <= cx.now) {
                    app.on_timer(cx);
                }
            }
        });
        true
    }

    /// Reports the node's events to its applications and starts its radio work until it has
    /// neither.
    pub(in crate::world) fn work(&mut self, seat: &mut Seat<'_>) {
        loop {
            if self.wants_acks {
                self.with_apps(seat, |apps, cx| {
                    for app in apps {
                        app.on_acks(cx);
                    }
                });
            }
            while let Some(event) = self.node.poll_event() {
                if !seat.count_call(Loop::Work) {
                    break;
                }
                self.with_apps(seat, |apps, cx| {
                    for app in apps {
                        app.on_event(cx, &event);
                    }
                });
            }
            if !self.has_radio {
                return;
            }
            if let Some(counter) = node::store_counter(&mut self.node) {
                self.counter_stored = counter;
            }
            let work = self.node.poll_radio(seat.local_now());
            if let Some(sealed) = node::take_sealed(&self.node) {
                let latest = self.sealed_with.replace(sealed.counter);
                if let Some(latest) = latest.filter(|it| *it >= sealed.counter) {
                    seat.on_repeated_counter(latest, sealed.counter);
                }
                seat.on_sealed(self.node.frame(), &sealed.payload);
            }
            let Some(work) = work else {
                return;
            };
            if !seat.count_call(Loop::Work) {
                return;
            }
            self.labour.work(&self.node, work, self.node.frame());
            if let Some(busy) = self.take_time(seat.env) {
                seat.env.air.hold(seat.index, seat.env.now + busy);
            }
            seat.start_work(work, self.node.frame());
        }
    }

    /// Ends a call: the processor rests, the oracle sees the statistics of watched
    /// connections, and the node's next call is scheduled.
    pub(in crate::world) fn settle(&mut self, seat: &mut Seat<'_>) {
        self.labour.rest();
        self.take_time(seat.env);
        let Environment { now, oracle, .. } = &mut *seat.env;
        let node = &self.node;
        self.watches
            .retain_mut(|watch| match node.stats(watch.conn) {
                Some(stats) => {
                    if *stats != watch.seen {
                        watch.seen = *stats;
                        oracle.observe(&watch.source, *now, stats);
                    }
                    true
                }
                // After a connection has ended, another one may get its handle.
                None => node.stream(watch.conn).is_some(),
            });
        self.wants_at = self.node.poll_at().map(|wake| wake.at);
        if let Some(at) = self.wants_at {
            seat.wake_at(at);
        }
    }

    /// Accounts for the processor time of the latest steps, if the scenario enables it. Returns the
    /// time until the processor is idle.
    fn take_time(&mut self, env: &Environment) -> Option<Duration> {
        let energy = &env.scenario.energy;
        let each = energy.us_per_instruction();
        energy
            .takes_time
            .then(|| self.labour.take_time(env.now, each))
    }

    fn with_apps(
        &mut self,
        seat: &mut Seat<'_>,
        act: impl FnOnce(&mut Vec<Box<dyn App>>, &mut Context<'_>),
    ) {
        let now = seat.local_now();
        let mut context = Context {
            now,
            world_time: seat.env.now,
            node: &mut self.node,
            oracle: &mut seat.env.oracle,
            labour: &mut self.labour,
        };
        act(&mut self.apps, &mut context);
        for watch in seat.env.oracle.take_watches() {
            self.watches.retain(|old| {
                let (old, new) = (old.source, watch.source);
                (old.flow, old.end) != (new.flow, new.end)
            });
            self.watches.push(watch);
        }
        self.wants_acks = self.apps.iter().any(|app| app.wants_acks());
        let next = self.apps.iter().filter_map(|app| app.next_timer()).min();
        if let Some(at) = next.map(|next| seat.timing.clock.global(next))
            && at < self.apps_wake_at
        {
            let at = seat.no_earlier(at, Loop::Application);
            self.apps_wake_at = at;
            let node = seat.index as u32;
            seat.env.queue.schedule(at, Event::App { node });
        }
    }
}

impl Resident for Native {
    fn on_wake(&mut self, seat: &mut Seat<'_>) {
        let now = seat.local_now();
        if self.wants_at.is_some_and(|at| at <= now) {
            seat.env.digest.add(seat.index as u64);
            self.node.on_timeout(now);
            self.labour.timer();
        }
    }

    fn on_frame(&mut self, seat: &mut Seat<'_>) {
        let now = seat.local_now();
        let received = seat.env.air.received(seat.index);
        let copies = if received.twice { 2 } else { 1 };
        for _ in 0..copies {
            let (node, frame) = (&mut self.node, &received.frame);
            self.labour.input(node, frame, |node, frame| {
                node.input_frame(now, frame, received.info);
            });
        }
    }

    fn on_radio_done(&mut self, seat: &mut Seat<'_>, result: AirResult) {
        self.node.on_radio_done(seat.local_now(), result);
        self.labour.done(result);
    }

    fn on_overheard(&mut self, seat: &mut Seat<'_>, intact: bool) {
        let now = seat.local_now();
        let frame = intact.then(|| seat.env.air.overheard(seat.index));
        self.node.on_heard(now, frame);
    }
}
