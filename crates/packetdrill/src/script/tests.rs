use super::run;

/// A script that passes; each test changes one of its lines.
const GOOD: &str = "\
--so_flags=ts=1,rcvbuf=4000
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3   // line 2
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+.1  < S 0:0(0) win 8000 <mss 1000,sackOK,nop,nop,TS val 7 ecr 0>
+0   > S. 0:0(0) ack 1 win 4000 <mss 1220,...>
+.1  < . 1:1(0) ack 1 win 8000 <nop,nop,TS val 8 ecr 0>
+0   accept(3, ..., ...) = 4
+0   write(4, ..., 100) = 100
+0   > [noecn] P. 1:101(100) ack 1 <nop,nop,TS val 1 ecr 8>
+.3~+1.5 > P. 1:101(100) ack 1 <nop,nop,TS val 2 ecr *>
*    > P. 1:101(100) ack 1 <...>
+.1  < P. 1:51(50) ack 101 win 8000 <nop,nop,TS val 9 ecr 2>
+.1...+.1 read(4, ..., 100) = 50
+.1  > . 101:101(0) ack 51 win 3950 <nop,nop,TS val * ecr 9>
";

#[test]
fn the_valid_script_passes() {
    assert_eq!(run(GOOD), Ok(()));
}

/// Replaces the only occurrence of `from` in the script, and expects a failure in `line`.
fn spoiled(from: &str, to: &str, line: usize, message: &str) {
    assert_eq!(GOOD.matches(from).count(), 1, "`{from}` once");
    let failure = run(&GOOD.replace(from, to)).expect_err(from);
    assert!(failure.message.contains(message), "{from}: {failure}");
    assert_eq!(failure.line, line, "{failure}");
}

#[test]
fn every_difference_is_found() {
    spoiled("win 4000 <", "win 4001 <", 6, "unexpected window");
    spoiled(
        "<mss 1220,...>",
        "<mss 1220>",
        6,
        "the number of options differs",
    );
    spoiled(
        "<mss 1220,...>",
        "<mss 1221,...>",
        6,
        "an option differs: expected mss 1221",
    );
    spoiled(
        "+0   > S. 0:0(0)",
        "+.1  > S. 0:0(0)",
        6,
        "expected at 0.200000",
    );
    spoiled("[noecn] P.", "[noecn] .", 10, "unexpected flags");
    spoiled("[noecn]", "[ect0]", 10, "unexpected ECN");
    spoiled(
        "ecr 8>",
        "ecr 9>",
        10,
        "an option differs: expected TS val 1 ecr 9",
    );
    spoiled(
        "TS val 2 ecr *",
        "TS val 1 ecr *",
        11,
        "an option differs: expected TS val 1 ecr *",
    );
    spoiled("+.3~+1.5", "+.3~+.35", 11, "no packet was sent until");
    spoiled("= 100", "= 99", 9, "write returned 100; expected: 99");
    spoiled("= 4\n", "= -1 EAGAIN\n", 8, "accept returned");
    spoiled(
        "101:101(0) ack 51",
        "101:101(0) ack 52",
        15,
        "unexpected acknowledgment number",
    );
    spoiled(
        "101:101(0) ack 51",
        "100:100(0) ack 51",
        15,
        "unexpected sequence number",
    );
}

#[test]
fn unexpected_packets_at_the_end_are_an_error() {
    let (without, _) = GOOD.split_once("*    >").unwrap();
    let late = format!("{without}+9 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0\n");
    let failure = run(&late).unwrap_err();
    assert!(
        failure.message.starts_with("not expected: sent at 1.6"),
        "{failure}"
    );
    let waits = format!("{GOOD}+0...+1 read(4, ..., 1) = 1\n");
    assert!(run(&waits).unwrap_err().message.contains("still waits"));
}

#[test]
fn blocking_calls_need_a_range_and_return_within_it() {
    let read = "+.1...+.1 read(4, ..., 100) = 50";
    spoiled(read, "+.1...+.2 read(4, ..., 100) = 50", 14, "returns at");
    spoiled(
        read,
        "+.1 read(4, ..., 49) = 49\n+0 read(4, ..., 9) = 1\n+0 read(4, ..., 9) = 1",
        16,
        "would block",
    );
    spoiled(
        read,
        "+.1 read(4, ..., 50) = 50\n+0...+.1 read(4, ..., 1) = 1\n+.3 close(4) = 0",
        16,
        "waits too long",
    );
}

#[test]
fn unreadable_lines_are_named() {
    for (line, message) in [
        ("0 < S 0:1(0)", "0:1 is not 0 bytes long"),
        ("0 < . 0:0(0)", "used together"),
        ("0 < S 0:0(0) <mss>", "a number"),
        ("0 < S 0:0(0) <mss 5", "`>` is missing"),
        ("0 < S 0:0(0) <tfo>", "unknown option tfo"),
        (
            "0 close(3) = -1",
            "a call that returns -1 needs the name of its error",
        ),
        ("0 close(3) = -1 EWHAT", "unknown error EWHAT"),
        ("0 close(3)", "`=` is missing"),
        ("0 close(3) = 0 0", "unexpected `0`"),
        ("0 dup(3) = 4", "unknown call: dup"),
        ("close(3) = 0", "a time is missing"),
        ("* close(3) = 0", "not possible"),
        ("0~1 < S 0:0(0)", "not possible"),
        ("--what=1", "--what"),
        (
            "0 < S 0:0(0) <...>",
            "`...` is allowed only in packets that the library sends",
        ),
    ] {
        let failure = run(&format!("/* a\ncomment */ # and another\n{line}\n")).unwrap_err();
        assert_eq!(failure.line, 3, "{line}: {failure}");
        assert!(failure.message.contains(message), "{line}: {failure}");
    }
}

#[test]
fn a_segment_with_every_option_survives_the_wire() {
    use super::segment::{Ends, Opt, Options, Segment, Value, build, decode};
    use redpoll_base::{Addr, Ecn};
    let all = [
        vec![
            Opt::Mss(1220),
            Opt::SackPermitted,
            Opt::Nop,
            Opt::WindowScale(7),
        ],
        vec![Opt::Nop, Opt::Nop, Opt::Sack(vec![(1, 2), (u32::MAX, 3)])],
        vec![
            Opt::Timestamps(Value::Is(5), Value::Is(6)),
            Opt::Other(254, vec![1, 2, 3, 4]),
        ],
    ];
    let ends = Ends {
        local: Addr([1; 16]),
        remote: Addr([2; 16]),
        local_port: 80,
        remote_port: 81,
    };
    for options in all {
        let segment = Segment {
            ecn: Some(Ecn::Ce),
            flags: 0xd8,
            seq: 7,
            len: 3,
            ack: Some(8),
            win: Some(9),
            options: Options::Exactly(options),
        };
        let packet = build(&segment, &[1, 2, 3], &ends).unwrap();
        let seen = decode(&packet).unwrap();
        let text = (segment.to_string(), seen.segment.to_string());
        // The decoder also lists the padding of the last word as options.
        assert!(text.1.starts_with(text.0.trim_end_matches('>')), "{text:?}");
        assert_eq!((seen.payload, seen.ends.local_port), (vec![1, 2, 3], 81));
        for at in 40..packet.len() {
            let mut broken = packet.clone();
            broken[at] ^= 0x10;
            assert!(decode(&broken).is_err(), "byte {at}");
        }
    }
}
