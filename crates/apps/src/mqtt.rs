//! A sensor that publishes each reading at least once by MQTT 5.

use core::net::SocketAddr;
use core::num::NonZero;

use edge_nal::TcpConnect;
use embedded_io_async::ErrorKind;
use rust_mqtt::Bytes;
use rust_mqtt::buffer::BumpBuffer;
use rust_mqtt::client::event::Event;
use rust_mqtt::client::options::{
    ConnectOptions, DisconnectOptions, PublicationOptions, TopicReference,
};
use rust_mqtt::client::{Client, MqttError};
use rust_mqtt::config::KeepAlive;
use rust_mqtt::types::{MqttString, ReasonCode, TopicName};

/// Why readings have not been published.
#[derive(Debug)]
pub enum Failure<E> {
    /// The network did not connect to the broker.
    Network(E),
    /// The connection ended.
    Lost(ErrorKind),
    /// The broker refused, and gave this reason.
    Refused(ReasonCode),
    /// MQTT forbids the name or the topic: it is too long, or has a wildcard.
    Name,
    /// The broker violates the protocol, or its message is longer than the memory.
    Protocol,
}

/// The longest time without a message to the broker, in seconds.
const KEEP_ALIVE: u16 = 60;

/// Connects as `name`, and publishes under `topic` the readings that `next` returns. Each reading
/// is acknowledged before the next one is requested. Disconnects when there are no more readings;
/// returns their number. `next` waits until a reading is due, for less than the broker's limit of
/// 90 s.
///
/// `memory` is for texts of the broker at the beginning and the end of the connection: 64 bytes are
/// enough for most. Acknowledgments need no memory.
///
/// # Errors
/// The reason why the sensor stopped; the broker has acknowledged all earlier readings.
pub async fn publish<N: TcpConnect, R: AsRef<[u8]>>(
    net: &N,
    broker: SocketAddr,
    (name, topic): (&str, &str),
    memory: &mut [u8],
    mut next: impl AsyncFnMut() -> Option<R>,
) -> Result<usize, Failure<N::Error>> {
    let stream = net.connect(broker).await.map_err(Failure::Network)?;
    let mut buffer = BumpBuffer::new(memory);
    let mut client = Client::<'_, '_, _, _, 1, 1, 1, 0, 0, 0, 0>::new(&mut buffer);
    let string = |text| MqttString::from_str(text).or(Err(Failure::Name));
    let topic = TopicName::new(string(topic)?).ok_or(Failure::Name)?;
    let mut options = ConnectOptions::new().clean_start();
    options.keep_alive = NonZero::new(KEEP_ALIVE).map_or(KeepAlive::Infinite, KeepAlive::Seconds);
    client
        .connect(stream, &options, Some(string(name)?))
        .await
        .map_err(failure)?;
    let options = PublicationOptions::new(TopicReference::Name(topic)).at_least_once();
    let mut published = 0;
    while let Some(reading) = next().await {
        client
            .publish(&options, Bytes::from(reading.as_ref()))
            .await
            .map_err(failure)?;
        loop {
            match client.poll().await.map_err(failure)? {
                Event::PublishAcknowledged(_) => break,
                Event::PublishRejected(no) => return Err(Failure::Refused(no.reason_code)),
                _ => {}
            }
        }
        published += 1;
    }
    client
        .disconnect(&DisconnectOptions::new())
        .await
        .map_err(failure)?;
    Ok(published)
}

fn failure<E, const N: usize>(error: MqttError<'_, N>) -> Failure<E> {
    match error {
        MqttError::Network(kind) => Failure::Lost(kind),
        MqttError::Disconnect { reason, .. } => Failure::Refused(reason),
        _ => Failure::Protocol,
    }
}
