//! The machinery of all studies: cases and their runs, the results file, rows and
//! their verdicts, the choice of figures, and the page. It knows no study.

pub mod case;
pub mod conduct;
pub mod criteria;
pub mod figure;
pub mod page;
pub mod probe;
pub mod results;
pub mod row;
pub mod run;
pub mod select;
pub mod study;
