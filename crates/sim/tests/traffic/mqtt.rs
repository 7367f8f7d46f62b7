//! The MQTT sensor, with a broker on the other node.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::BytesMut;
use mqttbytes::v4::{ConnAck, ConnectReturnCode, Packet, PingResp, PubAck, read};
use redpoll_base::{Duration, Instant};
use redpoll_sim::{App, AppKind, AppSpec, Context, Scenario, Target, TargetHost, When, World};
use redpoll_stack::transport::Event;
use redpoll_stack::{ConnId, ListenerId, NodeEvent};

use super::{pair, run};

const PORT: u16 = 1883;

#[derive(Debug, Default)]
struct Seen {
    connects: Vec<Instant>,
    pings: usize,
    /// Topic, payload, and whether it was marked as a duplicate.
    published: Vec<(String, String, bool)>,
}

impl Seen {
    /// Returns the numbers of the readings, in the order of their arrival.
    fn numbers(&self) -> Vec<u64> {
        let number = |payload: &str| payload.split(' ').nth(1).unwrap().parse().unwrap();
        self.published
            .iter()
            .map(|(_, payload, _)| number(payload))
            .collect()
    }
}

/// A broker that acknowledges readings, but resets the connection at every `mute_after`th reading.
struct Broker {
    mute_after: Option<usize>,
    /// Answer to a CONNECT; `None`: no answer.
    answer: Option<ConnectReturnCode>,
    listener: Option<ListenerId>,
    conn: Option<ConnId>,
    inbox: BytesMut,
    seen: Rc<RefCell<Seen>>,
}

impl Broker {
    fn on_packet(&mut self, cx: &mut Context<'_>, conn: ConnId, packet: Packet) {
        let mut answer = BytesMut::new();
        let mut seen = self.seen.borrow_mut();
        match packet {
            Packet::Connect(connect) => {
                assert!(connect.client_id.starts_with("redpoll-node-2"));
                seen.connects.push(cx.now);
                let Some(code) = self.answer else { return };
                ConnAck::new(code, false).write(&mut answer).unwrap();
            }
            Packet::Publish(publish) => {
                let payload = String::from_utf8(publish.payload.to_vec()).unwrap();
                assert_eq!(payload.len(), 82);
                seen.published.push((publish.topic, payload, publish.dup));
                if self
                    .mute_after
                    .is_some_and(|after| seen.published.len().is_multiple_of(after))
                {
                    cx.node.tcp_abort(cx.now, conn);
                    cx.node.tcp_release(cx.now, conn);
                    self.conn = None;
                    self.inbox.clear();
                    return;
                }
                if publish.pkid > 0 {
                    PubAck::new(publish.pkid).write(&mut answer).unwrap();
                }
            }
            Packet::PingReq => {
                seen.pings += 1;
                PingResp.write(&mut answer).unwrap();
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(cx.node.tcp_send(cx.now, conn, &answer), Ok(answer.len()));
    }
}

impl App for Broker {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.listener = cx.node.tcp_listen(PORT).ok();
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        match event {
            NodeEvent::Accepted(listener) if Some(*listener) == self.listener => {
                self.conn = cx.node.tcp_accept(*listener);
                self.inbox.clear();
            }
            NodeEvent::Tcp(id, Event::Failed(_) | Event::Closed) if Some(*id) == self.conn => {
                cx.node.tcp_release(cx.now, *id);
                self.conn = None;
            }
            _ => {}
        }
        let mut chunk = [0; 256];
        while let Some(conn) = self.conn
            && let Ok(len) = cx.node.tcp_recv(cx.now, conn, &mut chunk)
        {
            if len == 0 {
                cx.node.tcp_close(cx.now, conn);
                break;
            }
            self.inbox.extend_from_slice(&chunk[..len]);
            while let Ok(packet) = read(&mut self.inbox, 1_024) {
                self.on_packet(cx, conn, packet);
            }
        }
    }

    fn on_timer(&mut self, _cx: &mut Context<'_>) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }
}

/// Returns a scenario with an MQTT sensor on node 2, changed by `change`. The broker is node 1,
/// which the sensor treats as a host outside.
fn sensor(change: impl FnOnce(&mut AppKind)) -> Scenario {
    let mut scenario = pair("");
    let addr = scenario.address(0).unwrap();
    let mut kind = AppKind::MqttSensor {
        to: Target {
            host: TargetHost::Outside,
            addr,
            port: PORT,
        },
        topic: "office/node-2".to_owned(),
        qos: 1,
        bytes: 82,
        interval: Duration::from_secs(1),
        batch: 8,
        queue: 64,
        keep_alive: Duration::from_secs(60),
        reconnect: Duration::from_secs(3),
    };
    change(&mut kind);
    let name = "mqtt".to_owned();
    let app = AppSpec {
        name,
        start: Duration::ZERO,
        start_spread: Duration::ZERO,
        when: When::Always,
        kind,
    };
    scenario.nodes[1].apps.push(app);
    scenario
}

fn world(
    scenario: &Scenario,
    answer: impl Into<Option<ConnectReturnCode>>,
    mute_after: Option<usize>,
) -> (World, Rc<RefCell<Seen>>) {
    let mut world = World::new(scenario, 1).unwrap();
    let seen = Rc::new(RefCell::new(Seen::default()));
    let broker = Broker {
        mute_after,
        answer: answer.into(),
        listener: None,
        conn: None,
        inbox: BytesMut::new(),
        seen: seen.clone(),
    };
    world.add_app(0, Box::new(broker));
    (world, seen)
}

const YES: ConnectReturnCode = ConnectReturnCode::Success;

#[test]
fn readings_come_in_batches_and_in_order() {
    let (mut world, seen) = world(&sensor(|_| {}), YES, None);
    run(&mut world, 12);
    assert_eq!(seen.borrow().numbers(), (0..8).collect::<Vec<_>>());
    run(&mut world, 100);
    let seen = seen.borrow();
    assert_eq!(seen.numbers(), (0..96).collect::<Vec<_>>());
    assert_eq!(seen.connects.len(), 1);
    assert!(
        seen.published
            .iter()
            .all(|(topic, _, again)| topic == "office/node-2" && !again)
    );
    let flow = &world.report().flows[0];
    assert_eq!((flow.name.as_str(), flow.from.as_str()), ("mqtt", "node-2"));
    assert!(flow.delivered_bytes > 96 * 82);
}

#[test]
fn after_a_lost_connection_nothing_is_missing() {
    let (mut world, seen) = world(&sensor(|_| {}), YES, Some(21));
    run(&mut world, 200);
    let seen = seen.borrow();
    assert!(seen.connects.len() >= 5, "{seen:?}");
    let mut numbers = seen.numbers();
    assert!(numbers.len() > 190);
    assert!(seen.published.iter().any(|(_, _, again)| *again));
    // Each reading arrived at least once: sorted and without repetitions there is no gap.
    numbers.sort_unstable();
    numbers.dedup();
    let last = *numbers.last().unwrap();
    assert_eq!(numbers, (0..=last).collect::<Vec<_>>());
    assert!(last >= 180);
}

#[test]
fn a_refusal_is_followed_by_another_attempt_after_the_pause() {
    let (mut world, seen) = world(&sensor(|_| {}), ConnectReturnCode::NotAuthorized, None);
    run(&mut world, 100);
    let seen = seen.borrow();
    assert!(seen.published.is_empty());
    for pair in seen.connects.windows(2) {
        let pause = pair[1].since(pair[0]).as_millis();
        assert!((3_000..4_000).contains(&pause), "{pause}");
    }
    assert!(seen.connects.len() > 20, "{seen:?}");
    // 64 readings wait, and the others are counted.
    let drops = &world.report().nodes[1].drops;
    assert_eq!(drops["app.readings_queue_full"], 100 - 64, "{drops:?}");
}

#[test]
fn a_broker_that_never_accepts_is_given_up() {
    let (mut world, seen) = world(&sensor(|_| {}), None, None);
    run(&mut world, 200);
    let seen = seen.borrow();
    assert!(seen.connects.len() >= 5, "{seen:?}");
    for pair in seen.connects.windows(2) {
        let pause = pair[1].since(pair[0]).as_millis();
        assert!((33_000..35_000).contains(&pause), "{pause}");
    }
}

#[test]
fn without_readings_to_send_the_connection_is_kept_alive() {
    let slow = sensor(|kind| {
        if let AppKind::MqttSensor {
            interval,
            keep_alive,
            qos,
            ..
        } = kind
        {
            *interval = Duration::from_secs(100);
            *keep_alive = Duration::from_secs(10);
            *qos = 0;
        }
    });
    let (mut world, seen) = world(&slow, YES, None);
    run(&mut world, 300);
    let seen = seen.borrow();
    assert_eq!(seen.connects.len(), 1);
    assert!((30..=45).contains(&seen.pings), "{}", seen.pings);
}
