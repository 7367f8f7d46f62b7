use super::*;
use redpoll_base::Rng;

const HEAD: &str = "{\"node_count\": 3, \"channels\": [11, 26]}\n\
                    datetime,src,dst,channel,mean_rssi,pdr,tx_count\n";

fn read(text: &str) -> Result<K7, FileError> {
    K7::read(text.as_bytes(), 26)
}

fn with_rows(rows: &[&str]) -> Result<K7, FileError> {
    read(&format!("{HEAD}{}\n", rows.join("\n")))
}

fn record(s: u64, rssi_dbm: f64, pdr: f64) -> Record {
    let at = Duration::from_secs(s);
    Record { at, rssi_dbm, pdr }
}

#[test]
fn links_are_directed_and_have_a_record_for_each_measurement_of_their_sender() {
    let k7 = with_rows(&[
        "2018-01-11T16:00:00.0,7,2,11,-50.0,1.0,100",
        "2018-01-11T16:00:10.0,7,2,26,-70.5,0.9,100",
        "2018-01-11T16:00:10.0,2,7,26,-72,0.4,100",
        "2018-01-11T16:00:11.0,7,10,26,-80,1.0,100",
        "2018-01-11T18:00:10.0,7,10,26,-81,0.7,100",
        "2018-01-11T20:00:10.0,7,2,26,-71,0.8,100",
        "2018-01-11T20:00:10.0,7,10,26,-81,0.6,100",
        "2018-01-11T20:00:12.0,7,10,26,-81,0.5,100",
    ])
    .unwrap();
    assert_eq!(k7.nodes, ["2", "7", "10"], "numbers in order");
    let link = |from, to| {
        let of = |link: &&K7Link| (link.from, link.to) == (from, to);
        k7.links.iter().find(of).map(|link| link.records.clone())
    };
    let (hour, silence) = (3_600, SILENCE_DBM);
    let to_2 = [
        record(10, -70.5, 0.9),
        record(10 + 2 * hour, silence, 0.0),
        record(10 + 4 * hour, -71.0, 0.8),
    ];
    assert_eq!(link(1, 0).unwrap(), to_2);
    let to_10 = [
        record(10, -80.0, 1.0),
        record(10 + 2 * hour, -81.0, 0.7),
        record(10 + 4 * hour, -81.0, 0.5),
    ];
    assert_eq!(link(1, 2).unwrap(), to_10, "the later of two rows counts");
    assert_eq!(link(0, 1).unwrap(), [record(10, -72.0, 0.4)]);
    assert_eq!(link(2, 1), None);
}

#[test]
fn a_link_that_comes_or_goes_is_silent_before_and_after() {
    let k7 = with_rows(&[
        "2018-01-11 23:59:59,0,1,26,-60,1.0,",
        "2018-01-12 02:00:00,0,2,26,-60,0.5,100",
        "2018-01-12 04:00:00,0,1,26,-60,0.2,100",
    ])
    .unwrap();
    let records: Vec<Vec<f64>> = k7
        .links
        .iter()
        .map(|link| link.records.iter().map(|record| record.pdr).collect())
        .collect();
    assert_eq!(records, [vec![1.0, 0.0, 0.2], vec![0.0, 0.5, 0.0]]);
}

#[test]
fn a_wrong_node_count_names_the_rarest_node() {
    let rows = [
        "2018-01-11T16:00:00.0,1,2,26,-60,1.0,100",
        "2018-01-11T16:00:00.0,1,2x,26,-60,1.0,100",
        "2018-01-11T16:00:01.0,2,1,26,-60,1.0,100",
        "2018-01-11T16:00:02.0,1,3,26,-60,1.0,100",
    ];
    let problem = with_rows(&rows).expect_err("four nodes").to_string();
    let rarest = "the rarest name so far is \"2x\" (rows: 1, first in line 4)";
    assert!(problem.contains(rarest), "{problem}");
}

#[test]
fn faults_are_reported_with_line_and_column() {
    let row = |row: &str| format!("{HEAD}2018-01-11T16:00:00.0,0,1,26,-60,1.0,100\n{row}\n");
    let head = |head: &str| format!("{head}\n");
    let cases: [(String, usize, usize, &str); 20] = [
        (String::new(), 1, 1, "allowed: one line of JSON"),
        (head("datetime,src"), 1, 1, "got invalid JSON"),
        (head("{\"channels\": [26]}"), 1, 1, "without \"node_count\""),
        (head("{\"node_count\": 3}"), 1, 1, "without \"channels\""),
        (
            head("{\"node_count\": 3, \"channels\": [2600]}"),
            1,
            1,
            "not whole numbers up to 255",
        ),
        (
            head("{\"node_count\": 5000, \"channels\": [26]}"),
            1,
            1,
            "a node_count from 1 to 1000",
        ),
        (
            head("{\"node_count\": 3, \"channels\": [11, 12]}"),
            1,
            1,
            "no channel 26; allowed: 11, 12",
        ),
        (
            "{\"node_count\": 3, \"channels\": [26]}\ndatetime,src,dst,channel,pdr\n".to_owned(),
            2,
            26,
            "got \"pdr\" where the column mean_rssi should be",
        ),
        (
            head("{\"node_count\": 3, \"channels\": [26]}"),
            2,
            1,
            "the column datetime should be",
        ),
        (HEAD.to_owned(), 3, 1, "no row of channel 26"),
        (
            row("2018-01-11T16:00:00.0,0,1,26,-60,1.0"),
            4,
            37,
            "got 6 values, the value of tx_count is missing",
        ),
        (
            row("2018-01-11T16:00:00.0,0,1,26,-60,1.0,100,9"),
            4,
            42,
            "more than 7 values",
        ),
        (
            row("yesterday,0,1,26,-60,1.0,100"),
            4,
            1,
            "datetime: got \"yesterday\"",
        ),
        (
            row("2018-13-11T16:00:00.0,0,1,26,-60,1.0,100"),
            4,
            1,
            "datetime: got",
        ),
        (
            row("2018-01-11T16:00:00.0,0,1,26,-60,1.01,100"),
            4,
            34,
            "pdr: got \"1.01\"; allowed: a number from 0 to 1",
        ),
        (
            row("2018-01-11T16:00:00.0,0,1,26,NaN,1.0,100"),
            4,
            30,
            "mean_rssi: got \"NaN\"",
        ),
        (
            row("2018-01-11T16:00:00.0,0,1,27,-60,1.0,100"),
            4,
            27,
            "channel: got \"27\"; allowed: the header's channels, 11, 26",
        ),
        (
            row("2018-01-11T16:00:00.0,0,a b,26,-60,1.0,100"),
            4,
            25,
            "dst: got \"a b\"",
        ),
        (
            row("2018-01-11T16:00:00.0,2,2,26,-60,1.0,100"),
            4,
            25,
            "a node other than src",
        ),
        (
            row("2018-01-11T16:00:00.0,2,3,26,-60,1.0,100"),
            4,
            25,
            "at most 3 different nodes (the header's node_count); this name is one too many;",
        ),
    ];
    for (text, line, column, part) in cases {
        let error = read(&text).unwrap_err();
        assert_eq!(
            (error.line, error.column),
            (line, column),
            "{error} in {text:?}"
        );
        assert!(error.problem.contains(part), "{error} in {text:?}");
    }
}

#[test]
fn dates_are_counted_in_the_gregorian_calendar() {
    let days = |a: &str, b: &str| {
        let at = |day| microseconds(&format!("{day}T00:00:00")).unwrap();
        (at(b) - at(a)) / 86_400_000_000
    };
    assert_eq!(days("2018-01-31", "2018-02-01"), 1);
    assert_eq!(days("2020-02-28", "2020-03-01"), 2);
    assert_eq!(days("2100-02-28", "2100-03-01"), 1);
    assert_eq!(days("2000-02-28", "2000-03-01"), 2);
    assert_eq!(days("1999-12-31", "2000-01-01"), 1);
    assert_eq!(days("2000-12-31", "2001-01-01"), 1);
    assert_eq!(days("1970-01-01", "2026-11-22"), 20_779);
    let at = |time| microseconds(&format!("2018-01-01T{time}"));
    assert_eq!(
        at("00:00:01.5").unwrap() - at("00:00:00").unwrap(),
        1_500_000
    );
    assert_eq!(at("00:00:00.1234567"), at("00:00:00.123456Z"));
    for wrong in [
        "24:00:00",
        "1:00:00",
        "00:60:00",
        "00:00:00:00",
        "00:00",
        "-1:00:00",
    ] {
        assert_eq!(at(wrong), None, "{wrong}");
    }
}

/// Checks files with random bytes changed, removed or duplicated: they are refused, or read with
/// valid links, without a panic.
#[test]
fn damaged_k7_files_are_read_or_refused() {
    let whole = format!(
        "{HEAD}2018-01-11T16:00:00.0,0,1,26,-60,1.0,100\n\
         2018-01-11T16:00:00.0,1,0,26,-61.5,0.25,100\n\
         2018-01-11T19:00:00.0,0,2,11,-60,0.5,100\n"
    );
    let mut rng = Rng::new(26);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut bytes = whole.clone().into_bytes();
        for _ in 0..=rng.below(2) {
            let at = rng.below(bytes.len() as u32) as usize;
            match rng.below(4) {
                0 => bytes[at] = rng.next_u32() as u8,
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, b",\n0-.:T"[rng.below(7) as usize]),
                _ => {
                    bytes.remove(at);
                    bytes.push(b'\n');
                }
            }
        }
        let Ok(k7) = K7::read(bytes.as_slice(), 26) else {
            continue;
        };
        read += 1;
        assert!(k7.is_consistent());
    }
    assert!(read > 500, "{read} of the damaged files can still be read");
}
