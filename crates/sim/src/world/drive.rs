//! How a world goes on: one event after the other, and after each whatever the
//! nodes want because of it.

use redpoll_base::Instant;
use redpoll_stack::Streams;

use super::stall::Loop;
use super::{Event, Inhabitant, World};
use crate::air::Indication;
use crate::traffic::{App, Context};

impl World {
    pub(super) fn on_event(&mut self, event: Event) {
        self.oracle.at(self.now);
        self.digest.add(self.now.as_micros());
        match event {
            Event::Air(event) => self.air.on_event(self.now, event, &mut self.queue),
            Event::Wake { node } => self.on_wake(node as usize),
            Event::App { node } => self.on_app_timer(node as usize),
            Event::Restart { node } => self.on_restart(node as usize),
            Event::Wire => self.on_wire(),
            Event::Taim => self.on_taim(),
            Event::Serial { into_mesh } => self.on_serial(into_mesh),
        }
        self.drain();
        if !self.from_host.is_empty()
            && let Some(border) = self.border
        {
            self.admit_waiting(border);
        }
    }

    fn on_wake(&mut self, index: usize) {
        if self.on_outlaw_wake(index) || self.on_guest_wake(index) || self.on_external_wake(index) {
            return;
        }
        let inhabitant = &mut self.inhabitants[index];
        if inhabitant.wakes_at > self.now {
            // An earlier wake-up has taken this one's place.
            return;
        }
        inhabitant.wakes_at = Instant::FAR_FUTURE;
        let now = inhabitant.clock.local(self.now);
        if inhabitant.wants_at.is_some_and(|at| at <= now) {
            self.digest.add(index as u64);
            inhabitant.node.on_timeout(now);
            inhabitant.labour.timer();
        }
        self.serve(index);
    }

    fn on_app_timer(&mut self, index: usize) {
        if self.inhabitants[index].apps_wake_at > self.now {
            return;
        }
        self.inhabitants[index].apps_wake_at = Instant::FAR_FUTURE;
        self.with_apps(index, |apps, cx| {
            for app in apps {
                if app.next_timer().is_some_and(|at| at <= cx.now) {
                    app.on_timer(cx);
                }
            }
        });
        self.serve(index);
    }

    /// Tells nodes what their radios have to say, until none has anything.
    pub(super) fn drain(&mut self) {
        while let Some(indication) = self.air.poll_indication() {
            let index = match indication {
                Indication::Frame { node } if self.is_outlaw(node as usize) => node,
                Indication::Frame { node } if self.is_external(node as usize) => {
                    self.on_external_frame(node as usize);
                    continue;
                }
                Indication::Done { node, result } if self.is_external(node as usize) => {
                    self.on_external_done(node as usize, result);
                    continue;
                }
                Indication::Frame { node } => {
                    let received = self.air.received(node as usize);
                    let inhabitant = &mut self.inhabitants[node as usize];
                    let copies = if received.twice { 2 } else { 1 };
                    for _ in 0..copies {
                        let Inhabitant {
                            node,
                            labour,
                            clock,
                            ..
                        } = inhabitant;
                        let now = clock.local(self.now);
                        labour.input(node, received.frame.as_slice(), |node, frame| {
                            node.input_frame(now, frame, received.info);
                        });
                    }
                    node
                }
                Indication::Done { node, result } if self.on_outlaw_done(node as usize, result) => {
                    node
                }
                Indication::Done { .. } | Indication::Follows { .. } | Indication::Heard { .. }
                    if self.on_guest_indication(indication) =>
                {
                    continue;
                }
                Indication::Follows { node } | Indication::Heard { node, .. } => node,
                Indication::Overheard { node, intact } => {
                    let frame = intact.then(|| self.air.overheard(node as usize));
                    let inhabitant = &mut self.inhabitants[node as usize];
                    let now = inhabitant.clock.local(self.now);
                    inhabitant.node.on_heard(now, frame);
                    continue;
                }
                Indication::Done { node, result } => {
                    let inhabitant = &mut self.inhabitants[node as usize];
                    let now = inhabitant.clock.local(self.now);
                    inhabitant.node.on_radio_done(now, result);
                    inhabitant.labour.done(result);
                    node
                }
            };
            self.serve(index as usize);
        }
    }

    /// Does everything that a node wants, and notes when it wants to be called
    /// again.
    pub(super) fn serve(&mut self, index: usize) {
        if self.is_outlaw(index) || self.is_guest(index) || self.is_external(index) {
            return;
        }
        loop {
            if self.inhabitants[index].wants_acks {
                self.with_apps(index, |apps, cx| {
                    for app in apps {
                        app.on_acks(cx);
                    }
                });
            }
            while let Some(event) = self.inhabitants[index].node.poll_event() {
                if !self.count_call(index, Loop::Work) {
                    break;
                }
                self.with_apps(index, |apps, cx| {
                    for app in apps {
                        app.on_event(cx, &event);
                    }
                });
            }
            if self.host == Some(index) {
                break;
            }
            let inhabitant = &mut self.inhabitants[index];
            if let Some(counter) = crate::node::store_counter(&mut inhabitant.node) {
                inhabitant.counter_stored = counter;
            }
            let now = inhabitant.clock.local(self.now);
            let Some(work) = inhabitant.node.poll_radio(now) else {
                break;
            };
            if !self.count_call(index, Loop::Work) {
                break;
            }
            let inhabitant = &mut self.inhabitants[index];
            let frame = inhabitant.node.frame();
            inhabitant.labour.work(&inhabitant.node, work, frame);
            if self.scenario.energy.takes_time {
                let each = self.scenario.energy.us_per_instruction();
                let busy = inhabitant.labour.take_time(self.now, each);
                self.air.hold(index, self.now + busy);
            }
            self.air.start_work(
                self.now,
                index,
                work,
                inhabitant.node.frame(),
                &mut self.queue,
            );
        }
        if self.border == Some(index) {
            self.collect_packets(index);
        } else if self.host == Some(index) {
            self.collect_from_host(index);
        }
        let inhabitant = &mut self.inhabitants[index];
        inhabitant.labour.rest();
        if self.scenario.energy.takes_time {
            let each = self.scenario.energy.us_per_instruction();
            inhabitant.labour.take_time(self.now, each);
        }
        for watch in &mut inhabitant.watches {
            if let Some(stats) = inhabitant.node.stats(watch.conn)
                && *stats != watch.seen
            {
                watch.seen = *stats;
                self.oracle.observe(&watch.source, self.now, stats);
            }
        }
        inhabitant.wants_at = inhabitant.node.poll_at().map(|wake| wake.at);
        if let Some(at) = inhabitant.wants_at.map(|at| inhabitant.clock.global(at))
            && at < inhabitant.wakes_at
        {
            // A node that asks for the past is called once more now.
            let at = self.no_earlier(index, at, Loop::Node);
            self.inhabitants[index].wakes_at = at;
            let node = index as u32;
            self.queue.schedule(at, Event::Wake { node });
        }
    }

    /// Has `act` work with the applications of a node.
    pub(super) fn with_apps(
        &mut self,
        index: usize,
        act: impl FnOnce(&mut [Box<dyn App>], &mut Context<'_>),
    ) {
        let inhabitant = &mut self.inhabitants[index];
        self.oracle.set_node(index as u32);
        let mut context = Context {
            now: inhabitant.clock.local(self.now),
            world_time: self.now,
            node: &mut inhabitant.node,
            oracle: &mut self.oracle,
            labour: &mut inhabitant.labour,
        };
        act(&mut inhabitant.apps, &mut context);
        if self.oracle.has_new_watches() {
            for watch in self.oracle.take_watches() {
                let watches = &mut self.inhabitants[watch.node as usize].watches;
                watches.retain(|old| {
                    let (old, new) = (old.source, watch.source);
                    (old.flow, old.end) != (new.flow, new.end)
                });
                watches.push(watch);
            }
        }
        let inhabitant = &mut self.inhabitants[index];
        inhabitant.wants_acks = inhabitant.apps.iter().any(|app| app.wants_acks());
        let next = inhabitant
            .apps
            .iter()
            .filter_map(|app| app.next_timer())
            .min();
        if let Some(at) = next.map(|next| inhabitant.clock.global(next))
            && at < inhabitant.apps_wake_at
        {
            let at = self.no_earlier(index, at, Loop::Application);
            self.inhabitants[index].apps_wake_at = at;
            let node = index as u32;
            self.queue.schedule(at, Event::App { node });
        }
    }
}
