//! The influences on goodput over 1 to 4 hops: the built-in scenarios `line-1` to `line-4`, with
//! one change at a time. The table shows how far each change moves the promised figures.

use super::measures::first_goodput;
use super::simulate;
use crate::report::{Failure, Outcome};
use crate::workspace::Workspace;

/// A change of the scenarios `line-1` to `line-4`, for one row of the table.
struct Change {
    what: &'static str,
    options: &'static [&'static str],
}

const fn change(what: &'static str, options: &'static [&'static str]) -> Change {
    Change { what, options }
}

const SEEDS: u64 = 3;

/// Frames over 40 m of a range of 50 m arrive with probability 1 − (40/50)² · (1 − ratio).
const CHANGES: &[Change] = &[
    change("as shipped", &[]),
    change("ideal radio", &["radio.model=ideal"]),
    change(
        "fragments in bursts",
        &["lowpan.fragment_burst=true", "lowpan.segment_burst=true"],
    ),
    change("interframe space sequential", &["mac.ifs=sequential"]),
    change("no interframe space", &["mac.ifs=off"]),
    change(
        "97 % of frames arrive",
        &["medium.success_ratio_rx=\"95.3125 %\""],
    ),
    change(
        "90 % of frames arrive",
        &["medium.success_ratio_rx=\"84.375 %\""],
    ),
    change(
        "interference 100 m",
        &["medium.interference_range=\"100 m\""],
    ),
    change(
        "interference and sensing 100 m",
        &[
            "medium.interference_range=\"100 m\"",
            "medium.carrier_sense_range=\"100 m\"",
        ],
    ),
    change("SPI 0 us a byte", &["radio.spi_time_per_byte=\"0 ns\""]),
    change(
        "SPI 7.56 us a byte",
        &["radio.spi_time_per_byte=\"7560 ns\""],
    ),
    change("SPI 10 us a byte", &["radio.spi_time_per_byte=\"10 us\""]),
    change("SPI 12 us a byte", &["radio.spi_time_per_byte=\"12 us\""]),
    change("SPI 15 us a byte", &["radio.spi_time_per_byte=\"15 us\""]),
    change(
        "the engine's instructions take time",
        &["energy.takes_time=true"],
    ),
    change("link security of Thread", &["mac.security_bytes=10"]),
];

pub fn run(workspace: &Workspace) -> Outcome {
    println!(
        "\ngoodput in kb/s over 1 to 4 hops, mean of seeds 1 to {SEEDS}: \
         redpoll run line-N --set ..."
    );
    for Change { what, options } in CHANGES {
        let mut line = format!("{what:<38}");
        for hops in 1..=4 {
            line += &format!(" {:6.1}", mean(workspace, hops, options)?);
        }
        println!("{line}  {}", options.join(" "));
    }
    Ok(())
}

fn mean(workspace: &Workspace, hops: u64, options: &[&str]) -> Result<f64, Failure> {
    let scenario = format!("line-{hops}");
    let options: Vec<&str> = options
        .iter()
        .flat_map(|option| ["--set", option])
        .collect();
    let mut sum = 0.0;
    for seed in 1..=SEEDS {
        sum += first_goodput(&simulate(workspace, &scenario, &options, seed)?);
    }
    Ok(sum / SEEDS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row changes one thing: no two rows are equal, and only the first is as shipped.
    #[test]
    fn every_row_changes_something() {
        for (place, row) in CHANGES.iter().enumerate() {
            assert_eq!(row.options.is_empty(), place == 0, "{}", row.what);
            let same = CHANGES.iter().filter(|other| other.options == row.options);
            assert_eq!(same.count(), 1, "{}", row.what);
        }
    }
}
