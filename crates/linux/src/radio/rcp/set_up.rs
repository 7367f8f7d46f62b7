//! The set-up of the radio: the sequence of requests, and the answers to them.

use redpoll_base::{Duration, Instant};
use redpoll_stack::mac::RadioCaps;

use super::{Event, Identity, Phase, Rcp};
use crate::radio::spinel::{Command, Fields, Message, property, radio_caps};

const ANSWER: Duration = Duration::from_millis(1_000);
/// Longest time for a reset.
const BEGINNING: Duration = Duration::from_millis(2_000);
/// Maximum number of reset notices in a set-up that the host answers with its first request. Some
/// radios send two: when they are powered on and after a reset command.
const NOTICES: u32 = 4;
const PROTOCOL: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Protocol,
    Version,
    Caps,
    On,
    Channel,
    Extended,
    Short,
    Pan,
    SourceMatch,
    Listen,
}

pub(super) const STEPS: [Step; 10] = [
    Step::Protocol,
    Step::Version,
    Step::Caps,
    Step::On,
    Step::Channel,
    Step::Extended,
    Step::Short,
    Step::Pan,
    Step::SourceMatch,
    Step::Listen,
];

impl Rcp {
    pub(super) fn begin(&mut self, now: Instant) {
        let message = Message {
            tid: 0,
            command: Command::Reset,
            property: 0,
            value: &[],
        };
        // Discard unsent requests, which belong to the previous attempt.
        self.output.clear();
        self.notices = 0;
        self.put(&message);
        self.phase = Phase::Beginning {
            until: now + BEGINNING,
        };
    }

    pub(super) fn ask(&mut self, now: Instant, step: usize, tries: u8) {
        let Some(which) = STEPS.get(step) else {
            return self.on_set_up();
        };
        let Identity {
            channel,
            pan_id,
            short,
            extended,
            ..
        } = self.identity;
        let (property, value): (u32, Option<&[u8]>) = match which {
            Step::Protocol => (property::PROTOCOL_VERSION, None),
            Step::Version => (property::NCP_VERSION, None),
            Step::Caps => (property::RADIO_CAPS, None),
            Step::On => (property::PHY_ENABLED, Some(&[1])),
            Step::Channel => (property::PHY_CHAN, Some(&[channel])),
            Step::Extended => (property::MAC_15_4_LADDR, Some(&extended)),
            Step::Short => (property::MAC_15_4_SADDR, Some(&short.to_le_bytes())),
            Step::Pan => (property::MAC_15_4_PANID, Some(&pan_id.to_le_bytes())),
            Step::SourceMatch => (property::MAC_SRC_MATCH_ENABLED, Some(&[1])),
            Step::Listen => (property::MAC_RAW_STREAM_ENABLED, Some(&[1])),
        };
        let tid = match value {
            None => self.say(Command::Get, property, &[]),
            Some(value) => self.say(Command::Set, property, value),
        };
        self.phase = Phase::Asked {
            step,
            tid,
            until: now + ANSWER,
            tries,
        };
    }

    fn on_set_up(&mut self) {
        self.phase = Phase::Ready;
        self.notices = 0;
        self.counters.set_up += 1;
        for neighbour in self.pending.clone() {
            self.say_pending(Command::Insert, neighbour);
        }
        let (version, caps) = (self.version.clone(), self.caps);
        self.events.push_back(Event::Ready { version, caps });
    }

    pub(super) fn on_reset(&mut self, now: Instant) {
        // The radio may report a reset twice during the set-up: some radios report one when they
        // are powered on, and one after a reset command.
        if self.phase == Phase::Ready {
            self.counters.resets += 1;
            self.trouble(now, "the radio was reset".to_owned());
            self.give_up();
        }
        self.counters.reset_notices += 1;
        self.notices = self.notices.saturating_add(1);
        match self.phase {
            Phase::Gone | Phase::Useless => {}
            _ if self.notices <= NOTICES => self.ask(now, 0, 0),
            _ if self.notices == NOTICES + 1 => self.trouble(
                now,
                "the radio resets repeatedly; check its power supply and its firmware; during \
                 this set-up, the program does not react to further reset notices"
                    .to_owned(),
            ),
            // Wait for the deadline of the last request.
            _ => {}
        }
    }

    pub(super) fn on_answer(&mut self, now: Instant, code: Option<u32>, message: &Message<'_>) {
        let Phase::Asked { step, .. } = self.phase else {
            return;
        };
        let mut fields = Fields(message.value);
        let understood = match (STEPS[step], code) {
            // Older firmware does not know this request. It performs neither CSMA nor retries.
            (Step::Caps, Some(_)) => {
                self.caps = caps(radio_caps::ACK_TIMEOUT);
                Some(())
            }
            // The radio has no source-match table, so sleepy nodes do not learn of waiting data.
            (Step::SourceMatch, Some(_)) => {
                self.caps.source_match = false;
                Some(())
            }
            (which, Some(code)) => {
                self.trouble(
                    now,
                    format!("the radio refuses the request {which:?} with status {code}"),
                );
                None
            }
            (Step::Protocol, None) => match fields.packed() {
                Some(PROTOCOL) => Some(()),
                Some(other) => {
                    self.trouble(
                        now,
                        format!(
                            "the radio uses version {other} of Spinel; expected: version \
                            {PROTOCOL}"
                        ),
                    );
                    self.phase = Phase::Useless;
                    return;
                }
                None => None,
            },
            (Step::Version, None) => fields.text().map(|text| self.version = text.to_owned()),
            (Step::Caps, None) => fields.packed().map(|bits| self.caps = caps(bits)),
            (_, None) => Some(()),
        };
        if understood.is_none() {
            // Ignores a malformed answer: the request is repeated after its timeout.
            self.counters.nonsense += 1;
            return;
        }
        self.ask(now, step + 1, 0);
    }
}

/// Returns the radio's functions. All radios acknowledge, and wait for acknowledgements.
fn caps(bits: u32) -> RadioCaps {
    RadioCaps {
        auto_ack: true,
        csma: bits & radio_caps::CSMA_BACKOFF != 0,
        retries: bits & radio_caps::TRANSMIT_RETRIES != 0,
        source_match: true,
    }
}
