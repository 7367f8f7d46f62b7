//! Responses of servers that comply with HTTP, and of servers that do not.

use proptest::prelude::*;
use redpoll_ota::{ETag, Fetch, HEAD_MAX, Have, Refused, TooLong};

fn half() -> Have {
    Have {
        bytes: 512,
        size: Some(1_000),
        etag: ETag::new("\"v1\""),
    }
}

fn begins(have: Have, answer: &str) -> Result<(u64, bool), Refused> {
    let mut fetch = Fetch::new(have);
    let taken = fetch.head(answer.as_bytes())?.expect("the head is whole");
    let body = vec![0; 2_000];
    let taken = fetch.body(&answer.as_bytes()[taken..]).len();
    let len = taken + fetch.body(&body).len();
    let is_whole = fetch.is_whole();
    assert_eq!(fetch.body(&body), b"", "beyond the end of {len} bytes");
    Ok((fetch.offset(), is_whole))
}

fn part(fields: &str) -> String {
    format!("HTTP/1.1 206 Partial Content\r\n{fields}\r\n\r\n")
}

#[test]
fn written_bytes_are_not_requested_again() {
    let mut out = [0; 256];
    let mut request = |have| {
        let len = Fetch::new(have).request("s", "/i", &mut out).unwrap();
        String::from_utf8(out[..len].to_vec()).unwrap()
    };
    let first = "GET /i HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n";
    assert_eq!(request(Have::default()), first);
    let rest = "GET /i HTTP/1.1\r\nHost: s\r\nRange: bytes=512-\r\nIf-Range: \"v1\"\r\n\
                Connection: close\r\n\r\n";
    assert_eq!(request(half()), rest);
    // Without a validator, request the whole image: the two parts could belong to different images.
    let etag = None;
    assert_eq!(request(Have { etag, ..half() }), first);
    for room in 0..rest.len() {
        let result = Fetch::new(half()).request("s", "/i", &mut out[..room]);
        assert_eq!(result, Err(TooLong));
    }
}

#[test]
fn a_response_is_the_whole_image_or_the_requested_part() {
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"v2\"\r\n\r\n";
    assert_eq!(begins(Have::default(), whole), Ok((0, true)));
    // The server now has another version, and sends the whole image.
    assert_eq!(begins(half(), whole), Ok((0, true)));
    let rest = part("Content-Range: bytes 512-999/1000\r\nETag: \"v1\"");
    assert_eq!(begins(half(), &rest), Ok((512, true)));
    // The server sends a shorter part than requested.
    let some = part("Content-Range: bytes 512-599/1000\r\nETag: \"v1\"\r\nContent-Length: 88");
    assert_eq!(begins(half(), &some), Ok((512, false)));
    let interim = format!("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{rest}");
    assert_eq!(begins(half(), &interim), Ok((512, true)));
}

#[test]
fn a_part_of_another_image_is_refused() {
    for fields in [
        "Content-Range: bytes 512-999/1000",
        "Content-Range: bytes 512-999/1000\r\nETag: \"v2\"",
        "Content-Range: bytes 512-999/1000\r\nETag: W/\"v1\"",
        "Content-Range: bytes 511-999/1000\r\nETag: \"v1\"",
        "Content-Range: bytes 512-999/1001\r\nETag: \"v1\"",
        "Content-Range: bytes 512-999/*\r\nETag: \"v1\"",
        "Content-Range: bytes */1000\r\nETag: \"v1\"",
        "Content-Range: bytes 512-999/1000\r\nETag: \"v1\"\r\nContent-Length: 487",
        "Content-Type: multipart/byteranges; boundary=x\r\nETag: \"v1\"",
    ] {
        assert_eq!(
            begins(half(), &part(fields)),
            Err(Refused::OtherPart),
            "{fields}"
        );
    }
    let rest = part("Content-Range: bytes 0-999/1000\r\nETag: \"v1\"");
    assert_eq!(begins(Have::default(), &rest), Err(Refused::OtherPart));
    let behind = "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */400\r\n\r\n";
    assert_eq!(begins(half(), behind), Err(Refused::OtherPart));
}

#[test]
fn unusable_answers_are_refused() {
    let refused = |answer: &str, why| assert_eq!(begins(half(), answer), Err(why), "{answer}");
    refused("HTTP/1.1 503 Later\r\n\r\n", Refused::Status(503));
    refused(
        "HTTP/1.1 301 There\r\nLocation: /\r\n\r\n",
        Refused::Status(301),
    );
    refused("HTTP/1.1 200 OK\r\n\r\n", Refused::NoLength);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    refused(chunked, Refused::Coded);
    refused("ICY 200 OK\r\n\r\n", Refused::Malformed);
    let long = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD_MAX));
    refused(&long, Refused::HeadTooLong);
    // Interim responses need no memory, so only the end of the connection limits their number.
    let mut fetch = Fetch::new(half());
    for _ in 0..1_000 {
        assert_eq!(fetch.head(b"HTTP/1.1 100 Continue\r\n\r\n"), Ok(None));
    }
}

#[test]
fn a_head_may_come_in_any_pieces() {
    let answer = part("Content-Range: bytes 512-999/1000\r\nETag: \"v1\"") + "body";
    for piece in 1..answer.len() {
        let mut fetch = Fetch::new(half());
        let mut body = Vec::new();
        let mut begun = false;
        for bytes in answer.as_bytes().chunks(piece) {
            let taken = match begun {
                true => Some(0),
                false => fetch.head(bytes).unwrap(),
            };
            begun = taken.is_some();
            if let Some(taken) = taken {
                body.extend_from_slice(fetch.body(&bytes[taken..]));
            }
        }
        assert_eq!(body, b"body", "{piece}");
        assert_eq!(fetch.have(516).bytes, 516);
    }
}

proptest! {
    /// An arbitrary response causes no panic, and the body is not longer than announced.
    #[test]
    fn random_answers_cause_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), piece in 1..64_usize) {
        let mut fetch = Fetch::new(half());
        for chunk in bytes.chunks(piece) {
            match fetch.head(chunk) {
                Ok(Some(taken)) => prop_assert!(fetch.body(&chunk[taken..]).len() <= chunk.len()),
                Ok(None) => prop_assert!(!fetch.is_whole()),
                Err(_) => break,
            }
        }
    }

    #[test]
    fn random_responses_are_accepted_only_if_consistent(
        status in "HTTP/1\\.[01] (1|2|4)[0-9]{2}( OK)?",
        first in any::<u64>(),
        last in any::<u64>(),
        whole in any::<u64>(),
        length in any::<u64>(),
    ) {
        let answer = format!(
            "{status}\r\nETag: \"v1\"\r\nContent-Range: bytes {first}-{last}/{whole}\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        let have = Have { bytes: first, size: Some(whole), etag: ETag::new("\"v1\"") };
        let mut fetch = Fetch::new(have);
        if let Ok(Some(_)) = fetch.head(answer.as_bytes()) {
            let _ = (fetch.body(&[0; 64]), fetch.is_whole(), fetch.have(first));
        }
    }
}
