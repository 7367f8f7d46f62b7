//! Runs each model, and shows that each finds a planted defect.

mod iphc;
mod mechanisms;
mod rpl;
mod taim;
mod tcp;
