//! The resolver with a name server in the test, which loses, changes and forges messages.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::net::{Ipv6Addr, SocketAddr};
use std::str::FromStr;

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder, Name, Rtype, Ttl};
use domain::rdata::{Aaaa, Cname};
use edge_nal::{UdpReceive, UdpSend};
use embassy_futures::block_on;
use embedded_io_async::ErrorType;
use redpoll_apps::dns::{Failure, Found, resolve};

const ID: u16 = 0x1234;
const ADDRESS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);

fn server() -> SocketAddr {
    "[2001:db8::53]:53".parse().unwrap()
}

/// A socket to a name server that answers each question with some datagrams.
struct Line<F> {
    answers: F,
    waiting: Vec<(Vec<u8>, SocketAddr)>,
    questions: usize,
}

impl<F> ErrorType for Line<F> {
    type Error = Infallible;
}

impl<F: FnMut(usize, &[u8]) -> Vec<(Vec<u8>, SocketAddr)>> UdpSend for Line<F> {
    async fn send(&mut self, remote: SocketAddr, data: &[u8]) -> Result<(), Infallible> {
        assert_eq!(remote, server());
        self.waiting = (self.answers)(self.questions, data);
        self.waiting.reverse();
        self.questions += 1;
        Ok(())
    }
}

impl<F> UdpReceive for Line<F> {
    async fn receive(&mut self, buffer: &mut [u8]) -> Result<(usize, SocketAddr), Infallible> {
        match self.waiting.pop() {
            Some((bytes, from)) => {
                let len = bytes.len().min(buffer.len());
                buffer[..len].copy_from_slice(&bytes[..len]);
                Ok((len, from))
            }
            None => pending().await,
        }
    }
}

/// Returns the result, and the number of questions.
fn ask_for(
    name: &str,
    answers: impl FnMut(usize, &[u8]) -> Vec<(Vec<u8>, SocketAddr)>,
) -> (Result<Found, Failure<Infallible>>, usize) {
    let waiting = Vec::new();
    let mut line = Line {
        answers,
        waiting,
        questions: 0,
    };
    let slept = Cell::new(0);
    // A pause only adds its time to `slept` and ends immediately.
    let pause = async |ms| {
        slept.set(slept.get() + ms);
        ready(()).await
    };
    let found = block_on(resolve(&mut line, server(), name, ID, pause));
    (found, line.questions)
}

/// Returns an answer to `question`: aliases, then an address for the last name.
fn answer(question: &[u8], aliases: &[&str], address: Option<Ipv6Addr>) -> Vec<u8> {
    let question = Message::from_octets(question).unwrap();
    assert!(question.header().rd() && question.header().id() == ID);
    let asked = question.sole_question().unwrap();
    assert_eq!(asked.qtype(), Rtype::AAAA);
    let mut name: Name<Vec<u8>> = asked.qname().to_string().parse().unwrap();
    let builder = MessageBuilder::from_target(Vec::new()).unwrap();
    let mut builder = builder.start_answer(&question, Rcode::NOERROR).unwrap();
    for alias in aliases {
        let alias = Name::<Vec<u8>>::from_str(alias).unwrap();
        builder
            .push((&name, Ttl::from_secs(60), Cname::new(&alias)))
            .unwrap();
        name = alias;
    }
    if let Some(address) = address {
        builder
            .push((&name, Ttl::from_secs(300), Aaaa::new(address)))
            .unwrap();
    }
    builder.finish()
}

fn found() -> Result<Found, Failure<Infallible>> {
    Ok(Found {
        address: ADDRESS,
        ttl_s: 300,
    })
}

#[test]
fn a_name_has_an_address() {
    for aliases in [&[][..], &["a.example"], &["a.example", "b.example"]] {
        let (result, questions) = ask_for("Broker.example", |_, question| {
            vec![(answer(question, aliases, Some(ADDRESS)), server())]
        });
        assert_eq!((result, questions), (found(), 1), "{aliases:?}");
    }
}

#[test]
fn a_lost_question_is_repeated_twice() {
    for lost in 0..4 {
        let (result, questions) = ask_for("broker.example", |number, question| {
            let comes = number >= lost;
            comes
                .then(|| (answer(question, &[], Some(ADDRESS)), server()))
                .into_iter()
                .collect()
        });
        let expected = if lost < 3 {
            found()
        } else {
            Err(Failure::TimedOut)
        };
        assert_eq!((result, questions), (expected, (lost + 1).min(3)));
    }
}

#[test]
fn forged_answers_are_ignored() {
    let elsewhere: SocketAddr = "[2001:db8::54]:53".parse().unwrap();
    let forged = Ipv6Addr::LOCALHOST;
    let (result, questions) = ask_for("broker.example", |_, question| {
        let bad = answer(question, &[], Some(forged));
        let mut other_id = bad.clone();
        other_id[1] ^= 1;
        // Changes a letter of the question's name.
        let mut other_name = bad.clone();
        other_name[13] ^= 1;
        let mut a_question = bad.clone();
        a_question[2] &= 0x7f;
        vec![
            (bad, elsewhere),
            (other_id, server()),
            (other_name, server()),
            (a_question, server()),
            (answer(question, &[], Some(ADDRESS)), server()),
        ]
    });
    assert_eq!((result, questions), (found(), 1));
}

#[test]
fn a_missing_name_and_a_missing_address_are_reported() {
    let with_code = |code: Rcode| {
        ask_for("broker.example", |_, question| {
            let mut message = answer(question, &[], None);
            message[3] |= code.to_int();
            vec![(message, server())]
        })
        .0
    };
    assert_eq!(with_code(Rcode::NOERROR), Err(Failure::NoAddress));
    assert_eq!(with_code(Rcode::NXDOMAIN), Err(Failure::NoSuchName));
    assert_eq!(with_code(Rcode::REFUSED), Err(Failure::Refused(5)));
    let (result, _) = ask_for("broker.example", |_, question| {
        vec![(answer(question, &["a.example"], None), server())]
    });
    assert_eq!(result, Err(Failure::NoAddress));
    let truncated = |address| {
        let answers = move |_, question: &[u8]| {
            let mut message = answer(question, &[], address);
            message[2] |= 0x02;
            vec![(message, server())]
        };
        ask_for("broker.example", answers).0
    };
    assert_eq!(truncated(None), Err(Failure::Truncated));
    assert!(truncated(Some(ADDRESS)).is_ok());
    for name in ["", "a..b", &"a".repeat(64), &"a.".repeat(200)] {
        let (result, questions) = ask_for(name, |_, _| Vec::new());
        assert_eq!((result, questions), (Err(Failure::Name), 0), "{name:?}");
    }
}

#[test]
fn an_address_of_another_name_does_not_count() {
    let (result, _) = ask_for("broker.example", |_, question| {
        let mut message = answer(question, &["a.example"], Some(ADDRESS));
        // The alias points to a name without records.
        let at = message.windows(10).position(|it| it == b"\x01a\x07example");
        message[at.expect("the alias is there") + 1] = b'c';
        vec![(message, server())]
    });
    assert_eq!(result, Err(Failure::NoAddress));
}

/// An answer that is truncated, or has one changed byte, gives a result within three questions.
#[test]
fn damaged_answers_do_no_harm() {
    let (mut whole, at) = (Vec::new(), ["a.example"]);
    let _ = ask_for("broker.example", |_, question| {
        whole = answer(question, &at, Some(ADDRESS));
        Vec::new()
    });
    for len in 0..whole.len() {
        let damaged = whole[..len].to_vec();
        let (result, _) = ask_for("broker.example", |_, _| vec![(damaged.clone(), server())]);
        assert!(result.is_err(), "{len}: {result:?}");
    }
    for at in 0..whole.len() {
        for change in 1..=255 {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            let (_, questions) =
                ask_for("broker.example", |_, _| vec![(damaged.clone(), server())]);
            assert!(questions <= 3);
        }
    }
}
