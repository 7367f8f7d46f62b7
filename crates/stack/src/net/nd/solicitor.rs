//! A host's side of neighbour discovery (RFC 6775 §5, RFC 8505 §5): solicit routers
//! until one advertises itself, then register the address with it, and again before
//! that expires.
//!
//! A [`Solicitor`] sends nothing: it says what is due.

use redpoll_base::{Duration, Instant, Wake};
use redpoll_wire::icmpv6::nd::{AddressRegistration, Tid};
use redpoll_wire::ieee802154::Address;

use super::status;

/// For how long a host registers, in minutes. RFC 6775 leaves the value open;
/// an hour keeps a sleepy host's upkeep far below its data.
pub(crate) const REGISTRATION_LIFETIME_MIN: u16 = 60;
/// RFC 6775 §9.
const RTR_SOLICITATION_INTERVAL: Duration = Duration::from_secs(10);
const MAX_RTR_SOLICITATIONS: u8 = 3;
const MAX_RTR_SOLICITATION_INTERVAL: Duration = Duration::from_secs(60);
/// RFC 4861 §10; each time twice as long (RFC 7048 §3).
const RETRANS_TIMER: Duration = Duration::from_secs(1);
/// RFC 4861 §10 has three, for an answer from the next hop. That to a registration
/// comes from the border router, over hops that others load: 31 s in all.
const MAX_UNICAST_SOLICIT: u8 = 5;

/// After a router in vain another one is looked for at once. Who fails with that as well
/// has no router to blame, but what is beyond them: it waits, each time twice as long,
/// up to the ceiling (an assumption: an hour of a sleepy host's time after an outage),
/// and then asks [`LATER_SOLICIT`] times only.
const HOLD: Duration = Duration::from_secs(30);
const HOLD_CEILING: Duration = Duration::from_secs(3_600);
const LATER_SOLICIT: u8 = 2;

/// What a host should send now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// A router solicitation to all routers.
    Solicit,
    /// A neighbour solicitation with registration to this router.
    Register(Address),
}

/// The host's side.
#[derive(Debug)]
pub(crate) struct Solicitor {
    state: HostState,
    /// The number of the last registration, or of the one under way.
    tid: Tid,
    /// Registrations in a row that nobody answered.
    failures: u8,
    /// A router has said that the address is somebody else's, and nobody knows yet.
    is_duplicate: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostState {
    Off,
    Soliciting {
        at: Instant,
        tries: u8,
    },
    Registering {
        router: Address,
        at: Instant,
        tries: u8,
    },
    Registered {
        router: Address,
        until: Instant,
    },
}

impl Solicitor {
    /// A solicitor that first speaks at `start`, or never.
    pub(crate) fn new(start: Option<Instant>) -> Self {
        Solicitor {
            state: match start {
                Some(at) => HostState::Soliciting { at, tries: 0 },
                None => HostState::Off,
            },
            tid: Tid::FIRST,
            failures: 0,
            is_duplicate: false,
        }
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        match self.state {
            HostState::Off => None,
            HostState::Soliciting { at, .. } | HostState::Registering { at, .. } => {
                Some(Wake::within(at, Duration::from_millis(500)))
            }
            HostState::Registered { until, .. } => {
                Some(Wake::within(until, Duration::from_secs(30)))
            }
        }
    }

    /// What is due at `now`, if anything; it counts as sent.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> Option<Due> {
        match self.state {
            HostState::Soliciting { at, tries } if at <= now => {
                // RFC 6775 §5.3: some attempts, then binary exponential backoff.
                let sent = tries.saturating_add(1);
                let shift = sent.saturating_sub(MAX_RTR_SOLICITATIONS.saturating_sub(1));
                let wait = RTR_SOLICITATION_INTERVAL
                    .times(1 << shift.min(8))
                    .min(MAX_RTR_SOLICITATION_INTERVAL);
                self.state = HostState::Soliciting {
                    at: now + wait,
                    tries: sent,
                };
                Some(Due::Solicit)
            }
            HostState::Registering { at, tries, .. } if at <= now && tries >= self.most_tries() => {
                // RFC 6775 §5.5.3: this router is gone; look for another.
                let hold = self.hold();
                self.failures = self.failures.saturating_add(1);
                self.state = HostState::Soliciting {
                    at: now + hold,
                    tries: 0,
                };
                self.on_timeout(now)
            }
            HostState::Registering { router, at, tries } if at <= now => {
                self.state = HostState::Registering {
                    router,
                    at: now + RETRANS_TIMER.times(1 << tries.min(8)),
                    tries: tries.saturating_add(1),
                };
                Some(Due::Register(router))
            }
            HostState::Registered { router, until } if until <= now => {
                self.begin_registration(router, now);
                self.on_timeout(now)
            }
            _ => None,
        }
    }

    /// How often a registration is asked for.
    fn most_tries(&self) -> u8 {
        match self.failures {
            0 | 1 => MAX_UNICAST_SOLICIT,
            _ => LATER_SOLICIT,
        }
    }

    /// How long it waits after one more registration in vain.
    fn hold(&self) -> Duration {
        match self.failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => HOLD.times(1 << doublings.min(7)).min(HOLD_CEILING),
        }
    }

    /// A router with a lifetime has advertised itself. `true` if the host
    /// takes it for its default router.
    pub(crate) fn on_advertisement(&mut self, router: Address, now: Instant) -> bool {
        match self.state {
            HostState::Soliciting { .. } => {
                self.begin_registration(router, now);
                true
            }
            HostState::Off => false,
            HostState::Registering { router: mine, .. }
            | HostState::Registered { router: mine, .. } => mine == router,
        }
    }

    /// A router says that it is none any more. `true` if it was the host's: the
    /// search begins anew (RFC 4861 §6.3.4).
    pub(crate) fn on_router_gone(&mut self, router: Address, now: Instant) -> bool {
        let mine = match self.state {
            HostState::Registering { router, .. } | HostState::Registered { router, .. } => router,
            HostState::Off | HostState::Soliciting { .. } => return false,
        };
        if mine == router {
            self.state = HostState::Soliciting { at: now, tries: 0 };
        }
        mine == router
    }

    /// A host that was told its router registers with it at `at`.
    pub(crate) fn registering(router: Address, at: Instant) -> Self {
        Solicitor {
            state: HostState::Registering {
                router,
                at,
                tries: 0,
            },
            tid: Tid::FIRST,
            failures: 0,
            is_duplicate: false,
        }
    }

    /// The number of the registration under way (RFC 8505 §5.2).
    pub(crate) fn tid(&self) -> Tid {
        self.tid
    }

    /// Whether the router's answer to a registration is due.
    pub(crate) fn is_registering(&self) -> bool {
        matches!(self.state, HostState::Registering { tries, .. } if tries > 0)
    }

    /// RFC 8505 §5.2: each registration has the next number; its repetitions have
    /// the same.
    #[inline(never)] // size
    pub(crate) fn begin_registration(&mut self, router: Address, now: Instant) {
        self.tid = self.tid.next();
        self.state = HostState::Registering {
            router,
            at: now,
            tries: 0,
        };
    }

    /// Registers anew with the router that the address is registered with.
    pub(crate) fn renew(&mut self, now: Instant) {
        if let HostState::Registered { router, .. } = self.state {
            self.begin_registration(router, now);
        }
    }

    /// Whether a router has said since the last call that the address is somebody
    /// else's.
    pub(crate) fn take_duplicate(&mut self) -> bool {
        core::mem::take(&mut self.is_duplicate)
    }

    /// The router's answer to a registration, with its status (RFC 6775 §4.1, RFC
    /// 8505 §4.1).
    pub(crate) fn on_registration(
        &mut self,
        from: Address,
        answer: AddressRegistration,
        now: Instant,
    ) {
        let (router, tries) = match self.state {
            HostState::Registering { router, tries, .. } => (router, tries),
            HostState::Registered { router, .. } if answer.status == status::MOVED => (router, 0),
            _ => return,
        };
        // An answer to another registration says nothing about this one.
        if router != from || answer.tid.is_some_and(|tid| tid != self.tid) {
            return;
        }
        self.state = if answer.status == status::MOVED {
            // This node has forgotten how far it was: its numbers go on from there.
            self.tid = self.tid.skip();
            HostState::Registering {
                router,
                at: now + RETRANS_TIMER,
                tries,
            }
        } else if answer.status == status::SUCCESS {
            self.failures = 0;
            let lifetime = Duration::from_secs(60).times(REGISTRATION_LIFETIME_MIN.into());
            HostState::Registered {
                router,
                until: now + lifetime.divided_by(2),
            }
        } else {
            self.is_duplicate |= answer.status == status::DUPLICATE;
            // Duplicate, or no room there: look for another router, later.
            HostState::Soliciting {
                at: now + MAX_RTR_SOLICITATION_INTERVAL,
                tries: MAX_RTR_SOLICITATIONS,
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::routing::Neighbours;
    use redpoll_base::Addr;

    const ROUTER: Address = Address::Short(1);

    fn run(solicitor: &mut Solicitor, from: u64, to: u64) -> std::vec::Vec<(u64, Due)> {
        (from..to)
            .filter_map(|s| Some((s, solicitor.on_timeout(Instant::from_millis(s * 1000))?)))
            .collect()
    }

    fn answered(solicitor: &Solicitor, status: u8) -> AddressRegistration {
        AddressRegistration {
            status,
            tid: Some(solicitor.tid()),
            ..AddressRegistration::default()
        }
    }

    /// RFC 8505 §5.2.
    #[test]
    fn repetitions_have_the_same_number_and_the_next_registration_the_next() {
        let mut solicitor = Solicitor::registering(ROUTER, Instant::ZERO);
        let now = Instant::from_millis(1);
        for _ in 0..MAX_UNICAST_SOLICIT {
            solicitor.on_timeout(now);
            assert_eq!(solicitor.tid(), Tid(240));
        }
        // Another router's answer, and one to a registration before this.
        let other = Address::Short(9);
        solicitor.on_registration(other, answered(&solicitor, 0), now);
        let before = AddressRegistration {
            tid: Some(Tid(239)),
            ..AddressRegistration::default()
        };
        solicitor.on_registration(ROUTER, before, now);
        assert!(solicitor.is_registering());
        solicitor.on_registration(ROUTER, answered(&solicitor, 0), now);
        assert!(!solicitor.is_registering());
        solicitor.renew(now);
        assert_eq!(solicitor.tid(), Tid(241));
        // A router that knows RFC 6775 alone answers without a number.
        solicitor.on_timeout(now);
        solicitor.on_registration(ROUTER, AddressRegistration::default(), now);
        assert!(!solicitor.is_registering());
    }

    /// A node that has begun anew while the network remembers it.
    #[test]
    fn who_is_told_that_it_is_stale_goes_on_with_a_greater_number() {
        let mut cache = Neighbours::new([None; 1]);
        let mut solicitor = Solicitor::registering(ROUTER, Instant::ZERO);
        let (addr, eui64) = (Addr([1; 16]), [7; 8]);
        let mut register = |solicitor: &Solicitor| {
            let asked = AddressRegistration {
                tid: Some(solicitor.tid()),
                lifetime_min: 60,
                eui64,
                ..AddressRegistration::default()
            };
            cache.register(Instant::ZERO, addr, Address::Short(5), &asked)
        };
        for _ in 0..9 {
            assert_eq!(register(&solicitor), status::SUCCESS);
            solicitor.renew(Instant::ZERO);
            solicitor.begin_registration(ROUTER, Instant::ZERO);
        }
        let mut reset = Solicitor::registering(ROUTER, Instant::ZERO);
        assert_eq!(reset.on_timeout(Instant::ZERO), Some(Due::Register(ROUTER)));
        assert_eq!(register(&reset), status::MOVED);
        reset.on_registration(ROUTER, answered(&reset, status::MOVED), Instant::ZERO);
        let later = Instant::ZERO + RETRANS_TIMER;
        assert_eq!(reset.on_timeout(later), Some(Due::Register(ROUTER)));
        assert_eq!(register(&reset), status::SUCCESS);
        reset.on_registration(ROUTER, answered(&reset, status::SUCCESS), later);
        assert!(!reset.is_registering());
        // Told so afterwards, it registers again at once.
        reset.on_registration(ROUTER, answered(&reset, status::MOVED), later);
        let due = reset.on_timeout(later + RETRANS_TIMER);
        assert_eq!(due, Some(Due::Register(ROUTER)));
    }

    #[test]
    fn a_host_alone_solicits_ever_more_slowly() {
        let mut solicitor = Solicitor::new(Some(Instant::ZERO));
        let times: std::vec::Vec<u64> = run(&mut solicitor, 0, 300)
            .into_iter()
            .map(|(s, _)| s)
            .collect();
        assert_eq!(times, [0, 10, 20, 40, 80, 140, 200, 260]);
    }

    /// RFC 7048: a border router that is away for a day is asked for ever less often.
    #[test]
    fn an_outage_is_met_ever_more_slowly() {
        let mut solicitor = Solicitor::registering(ROUTER, Instant::ZERO);
        let (mut asked, mut last) = (0, 0);
        let mut longest = 0;
        for s in 0..86_400 {
            match solicitor.on_timeout(Instant::from_millis(s * 1_000)) {
                // The router itself is there, and answers at once.
                Some(Due::Solicit) => {
                    solicitor.on_advertisement(ROUTER, Instant::from_millis(s * 1_000 + 1));
                }
                Some(Due::Register(_)) => {
                    asked += 1;
                    longest = longest.max(s - last);
                    last = s;
                }
                None => {}
            }
        }
        assert!((60..100).contains(&asked), "{asked}");
        assert!((3_600..3_700).contains(&longest), "{longest}");
        let answer = answered(&solicitor, status::SUCCESS);
        solicitor.begin_registration(ROUTER, Instant::from_millis(86_400_000));
        let answer = AddressRegistration {
            tid: Some(solicitor.tid()),
            ..answer
        };
        solicitor.on_timeout(Instant::from_millis(86_400_000));
        solicitor.on_registration(ROUTER, answer, Instant::from_millis(86_400_100));
        assert_eq!(solicitor.failures, 0);
    }

    #[test]
    fn a_silent_router_is_given_up_and_a_good_one_kept() {
        let mut solicitor = Solicitor::new(Some(Instant::ZERO));
        run(&mut solicitor, 0, 1);
        assert!(solicitor.on_advertisement(ROUTER, Instant::from_millis(1_000)));
        let due = run(&mut solicitor, 1, 33);
        let register = |s| (s, Due::Register(ROUTER));
        assert_eq!(
            due,
            [
                register(1),
                register(2),
                register(4),
                register(8),
                register(16),
                (32, Due::Solicit)
            ]
        );

        assert!(solicitor.on_advertisement(ROUTER, Instant::from_millis(36_000)));
        assert_eq!(run(&mut solicitor, 36, 37), [register(36)]);
        let answer = answered(&solicitor, status::SUCCESS);
        solicitor.on_registration(ROUTER, answer, Instant::from_millis(36_500));
        assert_eq!(run(&mut solicitor, 37, 1_800), []);
        let (again, _) = run(&mut solicitor, 1_800, 1_900)[0];
        assert_eq!(again, 1_837, "half of an hour later");
    }
}
