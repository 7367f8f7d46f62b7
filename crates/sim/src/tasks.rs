//! Applications made of futures on a simulated node: they use `redpoll_socket::nal`, as on a
//! microcontroller, with the simulation as their executor and clock.
//!
//! ```
//! use embedded_io_async::{Read, Write};
//! use redpoll_base::Instant;
//! use redpoll_sim::tasks::Tasks;
//! use redpoll_sim::{Scenario, World};
//!
//! let scenario = Scenario::load("office", &[])?;
//! let mut world = World::new(&scenario, 1)?;
//! let leaf = scenario.node("leaf-12").unwrap();
//! world.add_app(leaf, Tasks::start(2, |net, _time| async move {
//!     let listener = net.tcp_listen(7).unwrap();
//!     while let Ok(mut stream) = listener.accept().await {
//!         let mut byte = [0];
//!         while let Ok(1) = stream.read(&mut byte).await {
//!             stream.write_all(&byte).await.ok();
//!         }
//!     }
//! }));
//! world.run_until(Instant::from_millis(1_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as Waiting, Poll, Wake, Waker};

use redpoll_base::{Duration, Instant};
use redpoll_socket::nal::{Clock, Net, Watch};
use redpoll_stack::NodeEvent;

use crate::node::{SimNode, SimProfile, nobody};
use crate::traffic::{App, Context};

pub type SimNet = Net<SimProfile, Time, Box<[Watch]>>;

/// The time on a simulated node, by its own clock.
#[derive(Clone, Default)]
pub struct Time(Rc<Sleepers>);

#[derive(Default)]
struct Sleepers {
    now: Cell<Instant>,
    waiting: RefCell<Vec<(Instant, Waker)>>,
}

impl Clock for Time {
    fn now(&self) -> Instant {
        self.0.now.get()
    }
}

impl Time {
    pub async fn sleep(&self, duration: Duration) {
        let at = self.now() + duration;
        poll_fn(|cx| {
            if self.now() >= at {
                return Poll::Ready(());
            }
            let sleeper = (at, cx.waker().clone());
            self.0.waiting.borrow_mut().push(sleeper);
            Poll::Pending
        })
        .await;
    }

    fn next(&self) -> Option<Instant> {
        let waiting = self.0.waiting.borrow();
        waiting.iter().map(|(at, _)| *at).min()
    }

    fn wake(&self) {
        let now = self.now();
        self.0.waiting.borrow_mut().retain(|(at, waker)| {
            if *at <= now {
                waker.wake_by_ref();
            }
            *at > now
        });
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An application made from a future. Other applications may run on the same node.
pub struct Tasks {
    net: Rc<SimNet>,
    time: Time,
    /// The future; `None` after its end.
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    woken: Arc<Flag>,
}

impl Tasks {
    /// Creates an application that uses at most `sockets` sockets at the same time. `make` builds
    /// its future from the node's sockets and clock. The application starts when it is added to a
    /// node ([`World::add_app`](crate::world::World::add_app)).
    pub fn start<F: Future<Output = ()> + 'static>(
        sockets: usize,
        make: impl FnOnce(Rc<SimNet>, Time) -> F,
    ) -> Box<dyn App> {
        let time = Time::default();
        let watches = (0..sockets).map(|_| Watch::FREE).collect();
        let net = Rc::new(Net::lent(nobody(), time.clone(), watches));
        let future = make(net.clone(), time.clone());
        Box::new(Tasks {
            net,
            time,
            future: Some(Box::pin(future)),
            woken: Arc::new(Flag(AtomicBool::new(true))),
        })
    }

    /// Polls the future until it makes no more progress.
    fn run(&mut self, now: Instant, node: &mut SimNode) {
        self.time.0.now.set(now);
        self.time.wake();
        self.net.swap(node);
        // Access to the sockets wakes a task that waits for an acknowledgment of all its data.
        self.net.with(|_, _| ());
        let waker = Waker::from(self.woken.clone());
        while let Some(future) = &mut self.future
            && self.woken.0.swap(false, Ordering::Relaxed)
        {
            if future
                .as_mut()
                .poll(&mut Waiting::from_waker(&waker))
                .is_ready()
            {
                // Dropping the future closes its sockets, which needs the node.
                self.future = None;
            }
        }
        self.net.swap(node);
    }
}

impl App for Tasks {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.run(cx.now, cx.node);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        self.net.on_event(*event);
        self.run(cx.now, cx.node);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.run(cx.now, cx.node);
    }

    fn wants_acks(&self) -> bool {
        self.net.is_flushing()
    }

    fn on_acks(&mut self, cx: &mut Context<'_>) {
        self.run(cx.now, cx.node);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.future.as_ref().and_then(|_| self.time.next())
    }
}
