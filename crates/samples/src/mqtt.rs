//! A sensor that publishes by MQTT 5, at least once each reading.

use core::net::SocketAddr;
use core::num::NonZero;

use edge_nal::TcpConnect;
use rust_mqtt::Bytes;
use rust_mqtt::buffer::AllocBuffer;
use rust_mqtt::client::Client;
use rust_mqtt::client::event::Event;
use rust_mqtt::client::options::{
    ConnectOptions, DisconnectOptions, PublicationOptions, TopicReference,
};
use rust_mqtt::config::KeepAlive;
use rust_mqtt::types::{MqttString, TopicName};

/// Why readings have not been published.
#[derive(Debug)]
pub enum Failure<E> {
    /// There is no connection.
    Network(E),
    /// The broker refused, or the connection failed; in words.
    Broker(String),
}

/// Seconds within which the broker hears of the sensor.
const KEEP_ALIVE: u16 = 60;

/// Connects as `name`, publishes the readings under `topic`, each acknowledged before the
/// next, and goes.
///
/// # Errors
/// What went wrong; readings before it are published.
pub async fn publish<N: TcpConnect>(
    net: &N,
    broker: SocketAddr,
    (name, topic): (&str, &str),
    readings: impl IntoIterator<Item = String>,
) -> Result<usize, Failure<N::Error>> {
    let stream = net.connect(broker).await.map_err(Failure::Network)?;
    let mut buffer = AllocBuffer;
    let mut client = Client::<'_, '_, _, _, 1, 1, 1, 0, 0, 0, 0>::new(&mut buffer);
    let refused = |error: &dyn core::fmt::Debug| Failure::Broker(format!("{error:?}"));
    let string = |text| MqttString::from_str(text).map_err(|e| refused(&e));
    let mut options = ConnectOptions::new().clean_start();
    options.keep_alive = NonZero::new(KEEP_ALIVE).map_or(KeepAlive::Infinite, KeepAlive::Seconds);
    client
        .connect(stream, &options, Some(string(name)?))
        .await
        .map_err(|e| refused(&e))?;
    let topic = TopicName::new(string(topic)?).ok_or_else(|| refused(&"a topic with wildcards"))?;
    let options = PublicationOptions::new(TopicReference::Name(topic)).at_least_once();
    let mut published = 0;
    for reading in readings {
        client
            .publish(&options, Bytes::from(reading.as_bytes()))
            .await
            .map_err(|e| refused(&e))?;
        loop {
            match client.poll().await.map_err(|e| refused(&e))? {
                Event::PublishAcknowledged(_) => break,
                Event::PublishRejected(no) => return Err(refused(&no)),
                _ => {}
            }
        }
        published += 1;
    }
    client
        .disconnect(&DisconnectOptions::new())
        .await
        .map_err(|e| refused(&e))?;
    Ok(published)
}
