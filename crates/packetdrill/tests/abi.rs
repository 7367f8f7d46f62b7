//! Tests the shared library as packetdrill uses it: with slot numbers, raw pointers, real file
//! descriptors and two threads.

mod tool;

use std::thread;
use std::time::{Duration, Instant};

use libc::{EAGAIN, ECONNRESET, EINPROGRESS, ENOSYS, ENOTCONN, EOPNOTSUPP};
use tool::{ACK, FIN, Net, PSH, RST, SYN, Seg, Tool};

const NONBLOCK: i32 = libc::O_RDWR | libc::O_NONBLOCK;

fn established(tool: &Tool) -> (i32, i32) {
    let listener = tool.socket();
    assert_eq!(tool.bind(listener), Ok(0));
    assert_eq!(tool.listen(listener), Ok(0));
    tool.usleep(100_000);
    tool.inject(Seg::peer(SYN, 0).win(8000).mss(1000));
    let (_, synack) = tool.receive().unwrap();
    assert_eq!((synack.flags, synack.ack), (SYN | ACK, 1));
    tool.learn(&synack);
    tool.usleep(100_000);
    tool.inject(Seg::peer(ACK, 1).ack(1).win(8000));
    let fd = tool.accept(listener).unwrap();
    (listener, fd)
}

#[test]
fn every_slot_is_filled_and_the_rare_ones_say_enosys() {
    let tool = Tool::load(Net::V6, "");
    assert_eq!(tool.empty_slots(), Vec::<usize>::new());
    for slot in [28, 29, 30, 31, 32] {
        assert_eq!(
            tool.call_without_arguments(slot),
            Err(ENOSYS),
            "slot {slot}"
        );
    }
}

#[test]
fn an_active_open_from_the_address_of_the_flags() {
    let tool = Tool::load(Net::V6, "rcvbuf=1,rcvbuf=4096,what=ever,mtu=600,ts=0");
    let fd = tool.socket();
    assert_eq!(tool.fcntl(fd, libc::F_SETFL, NONBLOCK), Ok(0));
    assert_eq!(tool.fcntl(fd, libc::F_GETFL, 0), Ok(NONBLOCK));
    let before = tool.time();
    assert_eq!(tool.connect(fd), Err(EINPROGRESS));
    let (at, syn) = tool.receive().unwrap();
    assert_eq!(at, before, "calls take no time");
    assert_eq!((syn.flags, syn.window, syn.mss), (SYN, 4096, Some(540)));
    tool.learn(&syn);
    tool.usleep(50_000);
    tool.inject(Seg::peer(SYN | ACK, 0).ack(1).win(8000).mss(1000));
    let (at, ack) = tool.receive().unwrap();
    assert_eq!((at, ack.flags, ack.ack), (before + 50_000, ACK, 1));
    assert_eq!(tool.so_error(fd), Ok(0));

    assert_eq!(tool.write(fd, 700), Ok(700));
    let (_, first) = tool.receive().unwrap();
    let (_, second) = tool.receive().unwrap();
    assert_eq!(first.payload, vec![0; 540]);
    assert_eq!(second.payload, vec![0; 160]);
    // Without an acknowledgment, the retransmission timer expires.
    let (at, again) = tool.receive().unwrap();
    // The time is rounded up to the engine's tick of one millisecond.
    let due = (before + 50_000 + 1_000_000 + 999) / 1_000 * 1_000;
    assert_eq!((at, again.seq), (due, first.seq));

    tool.inject(Seg::peer(RST | ACK, 1).ack(1));
    assert_eq!(tool.read(fd, 10), Err(ECONNRESET));
    assert_eq!(tool.read(fd, 10), Ok(0));
    assert_eq!(tool.close(fd), Ok(0));
    assert_eq!(tool.read(fd, 10), Err(libc::EBADF));
}

#[test]
fn a_passive_open_tells_the_peer_and_data_goes_both_ways() {
    let tool = Tool::load(Net::V6, "");
    let (listener, fd) = established(&tool);
    tool.inject(Seg::peer(ACK | PSH, 1).ack(1).win(8000).data(300));
    assert_eq!(tool.recv(fd, 100, libc::MSG_PEEK), Ok(100));
    assert_eq!(tool.read(fd, 1000), Ok(300));
    assert_eq!(tool.recv(fd, 1000, libc::MSG_DONTWAIT), Err(EAGAIN));
    assert_eq!(tool.write(fd, 200), Ok(200));
    let (_, data) = tool.receive().unwrap();
    assert_eq!((data.ack, data.payload.len()), (301, 200));
    tool.inject(Seg::peer(ACK | FIN, 301).ack(201).win(8000));
    assert_eq!(tool.receive().unwrap().1.ack, 302);
    assert_eq!(tool.read(fd, 10), Ok(0));
    assert_eq!(tool.read(listener, 10), Err(ENOTCONN));
    // packetdrill closes open descriptors with the C library's `close`.
    assert!(tool::close_real(fd) && tool::close_real(listener));
    tool.free();
}

#[test]
fn a_call_in_the_second_thread_sleeps_and_returns_at_the_right_time() {
    let tool = Tool::load(Net::V6, "");
    let (_, fd) = established(&tool);
    let begin = tool.time();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let task = tool::task_id();
            tool.send_task(task);
            let answer = tool.read(fd, 1000);
            (answer, tool.time())
        });
        let task = tool.wait_for_task();
        tool::wait_until_asleep(task);
        tool.usleep(300_000);
        let inject = tool.time();
        tool.inject(Seg::peer(ACK | PSH, 1).ack(1).win(8000).data(10));
        // The time must not advance before the reader's call has returned.
        tool.usleep(500_000);
        let (answer, at) = reader.join().unwrap();
        assert_eq!(answer, Ok(10));
        assert_eq!(at, inject);
        assert!(inject >= begin + 300_000 && inject < begin + 300_010);
        assert!(tool.time() >= inject + 500_000);
    });
}

#[test]
fn poll_in_the_second_thread_gives_up_at_its_time() {
    let tool = Tool::load(Net::V6, "");
    let (_, fd) = established(&tool);
    assert_eq!(
        tool.poll(fd, libc::POLLIN | libc::POLLOUT, 0),
        Ok(libc::POLLOUT)
    );
    assert_eq!(tool.poll(fd, libc::POLLIN, 0), Ok(0));
    thread::scope(|scope| {
        let begin = tool.time();
        let poller = scope.spawn(|| {
            tool.send_task(tool::task_id());
            let answer = tool.poll(fd, libc::POLLIN, 250);
            (answer, tool.time())
        });
        tool::wait_until_asleep(tool.wait_for_task());
        tool.usleep(1_000_000);
        let (answer, at) = poller.join().unwrap();
        assert_eq!((answer, at), (Ok(0), begin + 250_000));
    });
}

#[test]
fn a_call_of_the_first_thread_does_not_wait_for_ever() {
    let tool = Tool::load(Net::V6, "");
    let (_, fd) = established(&tool);
    let begin = tool.time();
    assert_eq!(tool.read(fd, 10), Err(EAGAIN));
    assert_eq!(tool.time(), begin + 20_000_001);
    // No further packet follows.
    assert_eq!(tool.receive(), None);
}

#[test]
fn two_hours_of_silence_take_no_time() {
    let real = Instant::now();
    let tool = Tool::load(Net::V6, "");
    let listener = tool.socket();
    assert_eq!(
        tool.setsockopt(listener, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        Ok(0)
    );
    assert_eq!(tool.close(listener), Ok(0));
    let (_, fd) = established(&tool);
    // Keep-alive was set on the closed listener, so the connection sends no probe.
    assert_eq!(tool.receive(), None);
    let on = tool.setsockopt(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
    assert_eq!(on, Ok(0));
    let (begin, (at, probe)) = (tool.time(), tool.receive().unwrap());
    assert_eq!((probe.flags, probe.payload.len()), (ACK, 0));
    assert_eq!(
        at,
        begin + 7200 * 1_000_000 - 1,
        "one look at the clock later"
    );
    let off = tool.setsockopt(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 0);
    assert_eq!(off, Ok(0));
    assert_eq!(tool.receive(), None);
    let size = tool.setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, 100);
    assert_eq!(size, Err(EOPNOTSUPP), "too late for the engine");
    assert!(real.elapsed() < Duration::from_secs(5));
}

#[test]
fn vectors_and_messages() {
    let tool = Tool::load(Net::V6, "");
    let (_, fd) = established(&tool);
    assert_eq!(tool.writev(fd, &[100, 0, 50]), Ok(150));
    assert_eq!(tool.receive().unwrap().1.payload, vec![0; 150]);
    assert_eq!(tool.sendmsg(fd, &[10, 20]), Ok(30));
    tool.inject(Seg::peer(ACK, 1).ack(151).win(8000).data(60));
    assert_eq!(tool.inq(fd), Ok(60));
    assert_eq!(tool.recvmsg(fd, &[20, 20]), Ok(40));
    assert_eq!(tool.readv(fd, &[5, 100]), Ok(20));
}

#[test]
fn addresses_open_connections_with_data() {
    let tool = Tool::load(Net::V6, "ts=0");
    let fd = tool.socket();
    assert_eq!(tool.fcntl(fd, libc::F_SETFL, NONBLOCK), Ok(0));
    // Without a cookie the socket accepts no data.
    let opened = tool.sendto(fd, 100, libc::MSG_FASTOPEN);
    assert_eq!(opened, Err(EINPROGRESS));
    let (_, syn) = tool.receive().unwrap();
    assert_eq!((syn.flags, syn.payload.len()), (SYN, 0));

    let fd = tool.socket();
    let on = tool.setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, 1);
    assert_eq!(on, Ok(0));
    assert_eq!(tool.sendto(fd, 100, 0), Ok(100));
    let (_, syn) = tool.receive().unwrap();
    assert_eq!((syn.flags, syn.payload.len()), (SYN, 0));
    tool.learn(&syn);
    tool.inject(Seg::peer(SYN | ACK, 0).ack(1).win(8000).mss(1000));
    let (_, data) = tool.receive().unwrap();
    assert_eq!((data.flags, data.payload.len()), (ACK | PSH, 100));
    // On an established connection the address has no effect.
    assert_eq!(tool.sendmsg_to(fd, &[10, 20], 0), Ok(30));
    assert_eq!(tool.sendto(fd, 5, 0), Ok(5));
}

#[test]
fn ipv4_from_end_to_end() {
    let tool = Tool::load(Net::V4, "");
    // No socket listens yet.
    tool.inject(Seg::peer(SYN, 0).win(8000));
    let (_, reset) = tool.receive().unwrap();
    assert_eq!((reset.flags, reset.ack), (RST | ACK, 1));
    let (_, fd) = established(&tool);
    assert_eq!(tool.write(fd, 1000), Ok(1000));
    let (_, data) = tool.receive().unwrap();
    assert_eq!(data.payload, vec![0; 1000]);
}
