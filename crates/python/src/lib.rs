//! Redpoll's simulator for Python. The Python interface is in `python/redpoll/`; this crate has the
//! parts in Rust: scenarios, runs, results files, tables.
//!
//! | to change | open |
//! | --- | --- |
//! | the texts of a scenario, and its errors | `scenario.rs` |
//! | the progress of a run, and Ctrl-C | `run.rs` |
//! | applications written in Python | `app.rs` |
//! | congestion control written in Python | `congestion.rs` |
//! | the contents of a results file | `keep.rs` |
//! | pictures | `picture.rs` |
//! | published studies | `study.rs` |
//! | the conversion of a table for Arrow | `table.rs` |
#![warn(missing_docs)]

mod app;
mod congestion;
mod keep;
mod picture;
mod run;
mod scenario;
#[cfg(feature = "studies")]
mod study;
mod table;

use pyo3::prelude::*;

/// The native part of the package `redpoll`.
#[pymodule]
mod _native {
    /// Version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::app::Node;
    #[pymodule_export]
    use super::congestion::Update;
    #[pymodule_export]
    use super::keep::{Kept, Tuned, tune};
    #[pymodule_export]
    use super::picture::report_pictures;
    #[pymodule_export]
    use super::run::{Ran, run};
    #[pymodule_export]
    use super::scenario::{built_in, check};
    #[cfg(feature = "studies")]
    #[pymodule_export]
    use super::study::{check_study, study_rows};
    #[pymodule_export]
    use super::table::{Table, report_table};
}
