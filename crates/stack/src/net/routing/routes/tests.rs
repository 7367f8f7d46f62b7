use super::*;
use redpoll_base::Duration;

const NOW: Instant = Instant::ZERO;

fn some(last: u8) -> Addr {
    let mut a = [0; 16];
    a[0] = 0xfd;
    a[15] = last;
    Addr(a)
}

fn route(prefix: Addr, len: u8, hop: u16) -> Route {
    Route {
        prefix,
        len,
        via: Via::Neighbour(Address::Short(hop)),
    }
}

#[test]
fn the_longest_prefix_wins_whatever_the_order() {
    let entries = [
        route(some(0), 0, 1),
        route(some(7), 128, 2),
        route(some(0), 64, 3),
        route(some(9), 128, 4),
    ];
    for rotation in 0..entries.len() {
        let mut routes = RouteTable::new([None; 4]);
        for i in 0..entries.len() {
            routes.add(entries[(i + rotation) % 4]).unwrap();
        }
        let hop = |dst| match routes.lookup(NOW, &dst) {
            Some(Via::Neighbour(Address::Short(hop))) => hop,
            other => panic!("{other:?}"),
        };
        assert_eq!(hop(some(7)), 2);
        assert_eq!(hop(some(9)), 4);
        assert_eq!(hop(some(8)), 3);
        assert_eq!(hop(Addr([0x20; 16])), 1);
    }
}

#[test]
fn a_known_prefix_is_replaced_and_a_full_table_says_so() {
    let mut routes = RouteTable::new([None; 2]);
    routes.add(route(some(1), 128, 1)).unwrap();
    routes.add(route(some(1), 128, 5)).unwrap();
    routes.add(route(some(2), 128, 2)).unwrap();
    assert_eq!(routes.add(route(some(3), 128, 3)), Err(Error::NoSlot));
    assert_eq!(
        routes.lookup(NOW, &some(1)),
        Some(Via::Neighbour(Address::Short(5)))
    );
    assert_eq!(routes.lookup(NOW, &some(3)), None);
    routes.remove(&route(some(1), 128, 5));
    assert_eq!(routes.lookup(NOW, &some(1)), None);
    assert!(routes.lookup(NOW, &some(2)).is_some());
    routes.remove(&route(some(2), 128, 9));
    assert!(
        routes.lookup(NOW, &some(2)).is_some(),
        "that one went elsewhere"
    );
    routes.clear();
    assert_eq!(routes.lookup(NOW, &some(2)), None);
}

fn registered(eui: u8, tid: u8, minutes: u16) -> Registration {
    let report = DuplicateAddress {
        status: 0,
        tid: Some(Tid(tid)),
        lifetime_min: minutes,
        eui64: [eui; 8],
        address: some(1),
    };
    Registration::new(NOW, &report)
}

#[test]
fn a_route_keeps_its_registration_until_it_is_replaced() {
    let mut routes = RouteTable::new([None; 2]);
    let via = Via::Neighbour(Address::Short(3));
    assert_eq!(routes.registration(NOW, &some(1)), None);
    for number in [240, 255, 0] {
        let registration = registered(7, number, 5);
        routes.add_registered(some(1), 3, registration).unwrap();
        let known = routes.registration(NOW, &some(1));
        assert_eq!((known, routes.used), (Some(registration), 1));
        assert_eq!(routes.lookup(NOW, &some(1)), Some(via));
    }
    routes.add(route(some(1), 128, 9)).unwrap();
    assert_eq!((routes.registration(NOW, &some(1)), routes.used), (None, 1));
}

#[test]
fn a_registered_route_ends_with_its_registration_and_a_given_one_never() {
    let mut routes = RouteTable::new([None; 3]);
    let via = Via::Neighbour(Address::Short(3));
    routes.add(route(some(2), 128, 9)).unwrap();
    routes
        .add_registered(some(1), 3, registered(7, 1, 5))
        .unwrap();
    routes
        .add_registered(some(3), 3, registered(7, 1, 9))
        .unwrap();
    let at = |s| NOW + Duration::from_secs(s);
    assert_eq!(routes.lookup(at(299), &some(1)), Some(via));
    assert_eq!(routes.lookup(at(360), &some(1)), None);
    assert_eq!(routes.registration(at(360), &some(1)), None);
    routes.expire(at(360));
    assert_eq!((routes.used, routes.hosts), (2, 2));
    assert_eq!(routes.lookup(at(360), &some(3)), Some(via));
    assert!(routes.lookup(at(9_000_000), &some(2)).is_some());
}

#[test]
fn bits_behind_the_prefix_do_not_count() {
    let mut routes = RouteTable::new([None; 1]);
    routes.add(route(some(1), 64, 1)).unwrap();
    routes.add(route(some(2), 64, 2)).unwrap();
    assert_eq!(
        routes.lookup(NOW, &some(9)),
        Some(Via::Neighbour(Address::Short(2)))
    );
}

/// A table of a thousand routes is most of a border router's memory.
#[test]
fn a_registration_makes_no_route_larger() {
    // A downward route has one more address, which may be an extended one.
    let more = if cfg!(feature = "rpl-eui64") { 4 } else { 0 };
    assert_eq!(size_of::<Option<Route>>(), 28);
    assert_eq!(size_of::<Option<RouteSlot>>(), 28 + more);
}
