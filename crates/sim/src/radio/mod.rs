//! Radio chips: their states, their timing and their automatic functions.
//!
//! All three models send and check link acknowledgments, and set the frame pending bit for
//! neighbours in their source match table. The MAC controls backoff and retries; the receiver is on
//! during the backoff unless `mac.deaf_backoff` is set. The models differ in the cost of moving a
//! frame between processor and radio:
//!
//! - **AT86RF233**: SPI, and one frame buffer. Received frames overwrite the loaded frame, which
//!   must then be loaded again. A frame that arrives while another is read is lost without an
//!   acknowledgment.
//! - **CC2420**: SPI, and a buffer for each direction. One more frame may arrive while another is
//!   read; a third frame is lost.
//! - **Ideal**: no cost.
//!
//! A received frame is read while its acknowledgment is sent: the chips of the AT86RF2xx family
//! raise TRX_END at the end of the frame and answer after aTurnaroundTime (Microchip, "RX_AACK Mode
//! Timing").

mod config;
mod station;
mod timing;

pub use config::{Config, Currents, Model};
pub use station::{Acking, Identity, Overhears, Received, RestState, State, Station, Train, Work};
pub use timing::{ACK_WAIT, CCA, Chip, TURNAROUND};
