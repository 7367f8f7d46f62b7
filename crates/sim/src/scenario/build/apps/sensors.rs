//! Applications that send readings.

use super::App;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{AppKind, CocoaReading, SensorSpec, SensorTransport};

impl App<'_, '_> {
    pub(super) fn sensor(&self) -> Result<SensorSpec, ScenarioError> {
        let values = self.values;
        let transport = match values.text(&self.key("transport")).as_str() {
            "tcp" => SensorTransport::Tcp,
            "coap" => SensorTransport::Coap,
            "cocoa" => SensorTransport::Cocoa,
            "unreliable" => SensorTransport::Unreliable,
            "ideal" => SensorTransport::Ideal,
            _ => SensorTransport::Udp,
        };
        let usual_queue = if transport.is_coap() { 104 } else { 64 };
        let (batch, queue) = self.batch_and_queue(1, usual_queue)?;
        let bytes = values.real(&self.key("reading")) as u16;
        let message = values.real(&self.key("message")) as u16;
        let blockwise = values.flag(&self.key("blockwise"));
        if message < bytes && !blockwise {
            let problem =
                format!("got {message} B; allowed: at least {bytes} B, the value of `reading`");
            return Err(values.error(&self.key("message"), problem));
        }
        Ok(SensorSpec {
            to: self.target()?,
            transport,
            bytes,
            interval: values.duration(&self.key("interval")),
            batch,
            queue,
            reconnect: values.duration(&self.key("reconnect")),
            message,
            blockwise,
            spacing: values.duration(&self.key("spacing")),
            cocoa: match values.text(&self.key("cocoa")).as_str() {
                "contiki" => CocoaReading::Contiki,
                _ => CocoaReading::Draft,
            },
        })
    }

    fn batch_and_queue(
        &self,
        usual_batch: u16,
        usual_queue: u16,
    ) -> Result<(u16, u16), ScenarioError> {
        let values = self.values;
        let read = |key, usual| {
            let count = values.count(&self.key(key));
            count.map_or(usual, |count| count as u16)
        };
        let (batch, queue) = (read("batch", usual_batch), read("queue", usual_queue));
        if queue < batch {
            if values.has(&self.key("queue")) {
                let problem =
                    format!("got {queue}; allowed: at least {batch}, the value of `batch`");
                return Err(values.error(&self.key("queue"), problem));
            }
            let problem = format!("got {batch}; allowed: at most {queue}, the value of `queue`");
            return Err(values.error(&self.key("batch"), problem));
        }
        Ok((batch, queue))
    }

    pub(super) fn mqtt_sensor(&self) -> Result<AppKind, ScenarioError> {
        let values = self.values;
        let (batch, queue) = self.batch_and_queue(8, 64)?;
        let topic = values.text(&self.key("topic"));
        if topic.contains(['#', '+', '\0']) || topic.len() > 64 {
            let problem =
                format!("got \"{topic}\"; allowed: up to 64 bytes without #, + and zero bytes");
            return Err(values.error(&self.key("topic"), problem));
        }
        Ok(AppKind::MqttSensor {
            to: self.target()?,
            topic,
            qos: values.small(&self.key("qos")),
            bytes: values.real(&self.key("reading")) as u16,
            interval: values.duration(&self.key("interval")),
            batch,
            queue,
            keep_alive: values.duration(&self.key("keep_alive")),
            reconnect: values.duration(&self.key("reconnect")),
        })
    }
}
