//! Runs each model without defect, and checks that each model finds a planted defect.

mod iphc;
mod mechanisms;
mod planted;
mod rpl;
mod taim;
mod tcp;
