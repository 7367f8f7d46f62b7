//! Runs each model, and shows that each finds a planted defect.

mod mechanisms;
mod rpl;
mod taim;
mod tcp;
