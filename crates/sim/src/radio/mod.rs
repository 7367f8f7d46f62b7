//! Radio chips: their states, their timing and what they do by themselves.
//!
//! All three models send and check link acknowledgements themselves, set their
//! frame-pending bit for the neighbours that they have been told of, and leave
//! backoff and retries to the MAC, with the receiver on meanwhile. They differ
//! in what it costs to move a frame between processor and radio:
//!
//! - **AT86RF233**: SPI, and one frame buffer. What is heard overwrites what
//!   was loaded, which then has to be loaded again; a frame that arrives while
//!   another is being read is lost without an acknowledgement.
//! - **CC2420**: SPI, and a buffer for each direction. One more frame may
//!   arrive while another is being read; a third is lost.
//! - **Ideal**: no cost.
//!
//! A received frame is read while its acknowledgement is being sent: the chips
//! of the AT86RF2xx family raise TRX_END at the end of the frame and answer
//! after aTurnaroundTime (Microchip, "RX_AACK Mode Timing").

mod config;
mod station;
mod timing;

pub use config::{Config, Currents, Model};
pub use station::{Acking, Identity, Overhears, Received, Rest, State, Station, Train, Work};
pub use timing::{ACK_WAIT, CCA, Chip, TURNAROUND};
