//! The host's part of neighbour discovery (RFC 6775 §5, RFC 8505 §5). A host solicits routers until
//! one advertises itself, registers its address with the router, and renews the registration before
//! it expires.
//!
//! A [`Solicitor`] sends nothing: it returns the message that is due.

use redpoll_base::{Duration, Instant, Wake};
use redpoll_wire::icmpv6::nd::{AddressRegistration, Tid};
use redpoll_wire::ieee802154::Address;

use super::status;

/// Lifetime of a registration in minutes. RFC 6775 leaves the value open. With one hour, a sleepy
/// host sends far fewer registrations than data.
pub(crate) const REGISTRATION_LIFETIME_MIN: u16 = 60;
/// Constants of RFC 6775 §9.
const RTR_SOLICITATION_INTERVAL: Duration = Duration::from_secs(10);
const MAX_RTR_SOLICITATIONS: u8 = 3;
const MAX_RTR_SOLICITATION_INTERVAL: Duration = Duration::from_secs(60);
/// RetransTimer (RFC 4861 §10). It doubles with each repetition (RFC 7048 §3).
const RETRANS_TIMER: Duration = Duration::from_secs(1);
/// RFC 4861 §10 has three attempts, for an answer of the next hop. The answer to a registration
/// comes from the border router over several loaded hops. Five attempts take 31 s.
const MAX_UNICAST_SOLICIT: u8 = 5;

/// After a router that does not answer, a host solicits another one at once. If the next router
/// does not answer either, the fault is probably beyond the routers. Then the host waits, each time
/// twice as long up to the ceiling, and sends each registration only [`LATER_SOLICIT`] times. The
/// ceiling assumes that after an outage a sleepy host may stay unregistered for another hour.
const HOLD: Duration = Duration::from_secs(30);
const HOLD_CEILING: Duration = Duration::from_secs(3_600);
const LATER_SOLICIT: u8 = 2;

/// The message that a host sends now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// A router solicitation to all routers.
    Solicit,
    /// A neighbour solicitation with a registration, to this router.
    Register(Address),
}

#[derive(Debug)]
pub(crate) struct Solicitor {
    state: HostState,
    /// The TID of the last registration, or of the present one.
    tid: Tid,
    /// Consecutive registrations without an answer.
    failures: u8,
    /// A router has reported that another host has the address, and the program has not polled this
    /// report.
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
    /// Returns a solicitor whose first solicitation is due at `start`; `None`: never.
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

    /// Returns the message that is due at `now`. It counts as sent.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> Option<Due> {
        match self.state {
            HostState::Soliciting { at, tries } if at <= now => {
                // RFC 6775 §5.3: the interval doubles after the first attempts.
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
                // RFC 6775 §5.5.3: this router does not answer; solicit another one.
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

    /// Returns the largest number of transmissions of a registration.
    fn most_tries(&self) -> u8 {
        match self.failures {
            0 | 1 => MAX_UNICAST_SOLICIT,
            _ => LATER_SOLICIT,
        }
    }

    /// Returns the pause after one more registration without an answer.
    fn hold(&self) -> Duration {
        match self.failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => HOLD.times(1 << doublings.min(7)).min(HOLD_CEILING),
        }
    }

    /// Processes a router advertisement with a lifetime above zero. Returns whether `router` is the
    /// host's default router.
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

    /// Processes the advertisement of a router that stops being one. Returns whether `router` was
    /// the host's default router, in which case the host solicits again (RFC 4861 §6.3.4).
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

    /// Returns the TID of the present registration (RFC 8505 §5.2).
    pub(crate) fn tid(&self) -> Tid {
        self.tid
    }

    pub(crate) fn is_registering(&self) -> bool {
        matches!(self.state, HostState::Registering { tries, .. } if tries > 0)
    }

    /// Begins a registration. It and its repetitions have the next TID (RFC 8505 §5.2).
    #[inline(never)] // size
    pub(crate) fn begin_registration(&mut self, router: Address, now: Instant) {
        self.tid = self.tid.next();
        self.state = HostState::Registering {
            router,
            at: now,
            tries: 0,
        };
    }

    pub(crate) fn renew(&mut self, now: Instant) {
        if let HostState::Registered { router, .. } = self.state {
            self.begin_registration(router, now);
        }
    }

    /// Returns whether a router has reported since the last call that another host has the address.
    pub(crate) fn take_duplicate(&mut self) -> bool {
        core::mem::take(&mut self.is_duplicate)
    }

    /// Processes a router's answer to a registration (RFC 6775 §4.1, RFC 8505 §4.1).
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
        // Ignores an answer to another registration.
        if router != from || answer.tid.is_some_and(|tid| tid != self.tid) {
            return;
        }
        self.state = if answer.status == status::MOVED {
            // "Moved": the router has a newer TID, from before this node's restart, so the node
            // tries a later one.
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
            // The address is a duplicate, or the router has no room: solicit another router later.
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
        // Answers of another router, and to a previous registration.
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
        // A router that knows only RFC 6775 answers without a TID.
        solicitor.on_timeout(now);
        solicitor.on_registration(ROUTER, AddressRegistration::default(), now);
        assert!(!solicitor.is_registering());
    }

    /// A restarted node begins with a TID that is older than its previous one, which a router has.
    #[test]
    fn after_a_stale_status_the_node_registers_with_a_greater_number() {
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
        // If a router later reports the registration as stale, the host registers again at once.
        reset.on_registration(ROUTER, answered(&reset, status::MOVED), later);
        let due = reset.on_timeout(later + RETRANS_TIMER);
        assert_eq!(due, Some(Due::Register(ROUTER)));
    }

    #[test]
    fn a_host_without_a_router_solicits_at_growing_intervals() {
        let mut solicitor = Solicitor::new(Some(Instant::ZERO));
        let times: std::vec::Vec<u64> = run(&mut solicitor, 0, 300)
            .into_iter()
            .map(|(s, _)| s)
            .collect();
        assert_eq!(times, [0, 10, 20, 40, 80, 140, 200, 260]);
    }

    /// RFC 7048: during an outage of one day, the pauses between registrations grow to one hour.
    #[test]
    fn registrations_become_rarer_during_an_outage() {
        let mut solicitor = Solicitor::registering(ROUTER, Instant::ZERO);
        let (mut asked, mut last) = (0, 0);
        let mut longest = 0;
        for s in 0..86_400 {
            match solicitor.on_timeout(Instant::from_millis(s * 1_000)) {
                // The router answers solicitations at once. Only registrations get no answer.
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
    fn a_silent_router_is_given_up_and_a_responding_one_kept() {
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
