//! The options of `cargo xtask size`.

use crate::purity::Way;

/// Actions in addition to measuring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// File for a JSON object in place of the tables; `-` is standard output.
    pub(super) json: Option<String>,
    pub(super) check: bool,
    pub(super) accept: bool,
    /// Print the functions that cost most instructions.
    pub(super) profile: bool,
    /// Only measure what each `inline(never)` saves, for paths and functions with this text.
    pub(super) inline: Option<String>,
    /// Build in this way; otherwise in the first possible way.
    pub(super) with: Option<Way>,
}

impl Options {
    /// Returns the options of the check in CI.
    pub fn check(way: Way) -> Options {
        Options {
            check: true,
            with: Some(way),
            ..Options::default()
        }
    }

    /// Parses the command line; an unknown word is the error.
    pub fn parse(args: &[&str]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut rest = args;
        loop {
            rest = match rest {
                [] => return Ok(options),
                ["--json", file, rest @ ..] => {
                    options.json = Some((*file).to_owned());
                    rest
                }
                ["--check", rest @ ..] => {
                    options.check = true;
                    rest
                }
                ["--accept", rest @ ..] => {
                    options.accept = true;
                    rest
                }
                ["--profile", rest @ ..] => {
                    options.profile = true;
                    rest
                }
                ["--inline", text, rest @ ..] => {
                    options.inline = Some((*text).to_owned());
                    rest
                }
                ["--with", "rustup", rest @ ..] => {
                    options.with = Some(Way::Installed);
                    rest
                }
                ["--with", "build-std", rest @ ..] => {
                    options.with = Some(Way::BuildStd);
                    rest
                }
                unknown => return Err(unknown.join(" ")),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_read() {
        let options = Options::parse(&["--check", "--json", "-"]).unwrap();
        assert_eq!(options.json.as_deref(), Some("-"));
        assert!(options.check && !options.accept && !options.profile);
        assert_eq!(options.with, None);
        let way = Options::parse(&["--check", "--with", "build-std"]);
        assert_eq!(way, Ok(Options::check(Way::BuildStd)));
        assert!(Options::parse(&["--with", "gcc"]).is_err());
        assert_eq!(Options::parse(&["--json"]), Err("--json".to_owned()));
        assert_eq!(Options::parse(&["--no", "x"]), Err("--no x".to_owned()));
    }
}
