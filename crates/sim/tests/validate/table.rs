//! A table of measured values and their references.

pub struct Row {
    what: String,
    ours: f64,
    theirs: f64,
    limit: Limit,
}

#[derive(Clone, Copy)]
enum Limit {
    Share(f64),
    Absolute(f64),
}

impl Row {
    /// Returns a row whose measured value may deviate from the reference by at most `share`.
    pub fn within(what: String, ours: f64, theirs: f64, share: f64) -> Row {
        let limit = Limit::Share(share);
        Row {
            what,
            ours,
            theirs,
            limit,
        }
    }

    /// Returns a row whose measured value may differ from the reference by at most `distance`.
    pub fn near(what: String, ours: f64, theirs: f64, distance: f64) -> Row {
        let limit = Limit::Absolute(distance);
        Row {
            what,
            ours,
            theirs,
            limit,
        }
    }

    /// Returns a row for a share of `trials` trials: at most four standard errors from `theirs`.
    pub fn share(what: String, ours: f64, theirs: f64, trials: u64) -> Row {
        let error = (theirs * (1.0 - theirs) / trials as f64).sqrt();
        Row::near(what, ours, theirs, 4.0 * error)
    }

    /// Returns whether the row holds, and the texts of the difference and the limit.
    fn judge(&self) -> (bool, String, String) {
        let distance = self.ours - self.theirs;
        match self.limit {
            Limit::Share(limit) => {
                let share = distance / self.theirs;
                let shown = |share: f64| format!("{:.2} %", 100.0 * share);
                (share.abs() <= limit, shown(share), shown(limit))
            }
            Limit::Absolute(limit) => {
                let shown = |distance: f64| format!("{distance:.4}");
                (distance.abs() <= limit, shown(distance), shown(limit))
            }
        }
    }
}

/// Prints the rows and fails if one does not hold.
pub fn check(title: &str, rows: &[Row]) {
    let mut missed = Vec::new();
    let mut text = format!("\n{title}\n");
    let line = |what: &str, cells: [&str; 4]| {
        let [ours, theirs, differs, limit] = cells;
        format!("{what:<40} {ours:>10} {theirs:>10} {differs:>9} {limit:>9}")
    };
    text += &line("", ["Redpoll", "source", "differs", "limit"]);
    for row in rows {
        let (holds, differs, limit) = row.judge();
        let number = |value: f64| format!("{value:.4}");
        let cells = [&number(row.ours), &number(row.theirs), &differs, &limit];
        text += "\n";
        text += &line(&row.what, cells.map(String::as_str));
        if !holds {
            text += "  MISSED";
            missed.push(&row.what);
        }
    }
    // One call prints the whole table, because checks run in parallel.
    println!("{text}");
    assert!(missed.is_empty(), "{title}: {missed:?}");
}
