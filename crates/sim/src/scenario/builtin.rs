//! The scenarios of the repository's `scenarios/` folder. They are built into the program, which
//! therefore needs no files.

#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Name of the scenario: the file's name without `.toml`.
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../../scenarios/", $name, ".toml")),
        }),*]
    };
}

pub const BUILT_IN: &[BuiltIn] = built_in![
    "pair",
    "line-1",
    "line-2",
    "line-3",
    "line-4",
    "office",
    "thread-like",
    "intruder",
    "testbed-3",
    "sleepy-3",
    "sleepy-parents",
    "sleepy-rpl",
    "sleepy-web",
    "readings",
    "readings-day",
    "four-flows",
    "bystander",
    "grid-30",
    "grid-1000",
    "k7-corridor",
    "duty-cycled",
];

pub(crate) const BUILT_IN_FILES: &[(&str, &[u8])] = &[(
    "k7-corridor.k7",
    include_bytes!("../../../../scenarios/k7-corridor.k7"),
)];
