//! A subscriber to every topic of an MQTT broker (OASIS MQTT 3.1.1).

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddrV6, TcpStream};
use std::time::Duration;

use bytes::BytesMut;
use mqttbytes::QoS;
use mqttbytes::v4::{Connect, Packet, Publish, Subscribe, read};

const MAX_PACKET: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Subscriber {
    stream: TcpStream,
    inbox: BytesMut,
}

impl Subscriber {
    pub(super) fn connect(broker: SocketAddrV6) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&broker.into(), Duration::from_secs(5))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let mut subscriber = Subscriber {
            stream,
            inbox: BytesMut::new(),
        };
        let mut outbox = BytesMut::new();
        let mut connect = Connect::new("redpoll-demo");
        // The client never sends: with a keep-alive, the broker would close the connection after
        // one and a half times the keep-alive interval.
        connect.keep_alive = 0;
        connect.write(&mut outbox).map_err(wrong)?;
        let mut subscribe = Subscribe::new("#", QoS::AtMostOnce);
        subscribe.pkid = 1;
        subscribe.write(&mut outbox).map_err(wrong)?;
        subscriber.stream.write_all(&outbox)?;
        while !matches!(subscriber.packet()?, Some(Packet::SubAck(_))) {}
        subscriber
            .stream
            .set_read_timeout(Some(Duration::from_millis(250)))?;
        Ok(subscriber)
    }

    /// Returns the next message, if one arrives within a quarter of a second.
    pub(super) fn next(&mut self) -> io::Result<Option<Publish>> {
        loop {
            match self.packet() {
                Ok(Some(Packet::Publish(message))) => return Ok(Some(message)),
                Ok(Some(_)) => {}
                Ok(None) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(None);
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Returns the next packet; `None` when the broker has closed the connection.
    fn packet(&mut self) -> io::Result<Option<Packet>> {
        loop {
            match read(&mut self.inbox, MAX_PACKET) {
                Ok(packet) => return Ok(Some(packet)),
                Err(mqttbytes::Error::InsufficientBytes(_)) => {}
                Err(e) => return Err(wrong(e)),
            }
            let mut block = [0; 4096];
            match self.stream.read(&mut block)? {
                0 => return Ok(None),
                len => self.inbox.extend_from_slice(&block[..len]),
            }
        }
    }
}

fn wrong(error: mqttbytes::Error) -> io::Error {
    io::Error::other(format!("the broker does not speak MQTT 3.1.1: {error}"))
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};
    use std::thread;

    use super::*;

    /// Checks that a broker does not disconnect a silent subscriber (OASIS MQTT 3.1.1, section
    /// 3.1.2.10).
    #[test]
    fn the_subscriber_connects_without_keep_alive() {
        let listener = TcpListener::bind("[::1]:0").unwrap();
        let SocketAddr::V6(address) = listener.local_addr().unwrap() else {
            panic!("it listens on an address of IPv6");
        };
        let broker = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut inbox = BytesMut::new();
            loop {
                match read(&mut inbox, MAX_PACKET) {
                    Ok(Packet::Connect(connect)) => {
                        stream.write_all(&[0x90, 3, 0, 1, 0]).unwrap();
                        return connect.keep_alive;
                    }
                    Ok(other) => panic!("{other:?} came first"),
                    Err(_) => {
                        let mut block = [0; 256];
                        let len = stream.read(&mut block).unwrap();
                        assert!(len > 0, "it has gone");
                        inbox.extend_from_slice(&block[..len]);
                    }
                }
            }
        });
        Subscriber::connect(address).unwrap();
        assert_eq!(broker.join().unwrap(), 0);
    }
}
