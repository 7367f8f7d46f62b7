//! End-to-end figures of the program, each with its bound; `make taim` prints them.

#[derive(Clone, Copy)]
pub enum Must {
    AtMost(f64),
    AtLeast(f64),
    /// Not bounded: the value describes the circumstances of the other measurements.
    Be,
}

/// Name, bound, measured value, and unit.
pub type Figure<'a> = (&'a str, Must, f64, &'a str);

/// Prints all figures as `redpoll bench taim` does, and checks their bounds.
pub fn tell(figures: &[Figure<'_>]) {
    let mut missed = Vec::new();
    for (name, must, measured, unit) in figures {
        let (asked, holds) = match must {
            Must::AtMost(most) => (format!("<= {most}"), measured <= most),
            Must::AtLeast(least) => (format!(">= {least}"), measured >= least),
            Must::Be => (String::new(), true),
        };
        println!("{name:54} {asked:>9}  {measured:12.1} {unit}");
        if !holds {
            missed.push(format!("{name}: {measured} {unit}, must be {asked}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("; "));
}
