//! Environment variables for a program that runs next to the mesh.

use std::env;
use std::net::Ipv6Addr;
use std::process::Command;

use redpoll_linux::forward::ForwardSpec;

use super::join::Way;

const JOINED: &str = "REDPOLL_JOINED";
const HOST: &str = "REDPOLL_HOST";
const FORWARDS: &str = "REDPOLL_FORWARDS";

/// How the mesh is joined to this computer, the host's address in the mesh, and the port forwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Environment {
    pub(super) way: Way,
    pub(super) host: Ipv6Addr,
    pub(super) forwards: Vec<ForwardSpec>,
}

impl Way {
    const ALL: [Way; 3] = [Way::Tun, Way::Namespace, Way::Forward];

    fn word(self) -> &'static str {
        match self {
            Way::Tun => "tun",
            Way::Namespace => "namespace",
            Way::Forward => "forward",
        }
    }
}

impl Environment {
    pub(super) fn tell(&self, command: &mut Command) {
        for (name, value) in self.variables() {
            command.env(name, value);
        }
    }

    /// Returns the environment that [`tell`](Self::tell) has set for this process.
    pub(super) fn of_this_process() -> Option<Environment> {
        Self::read(|name| env::var(name).ok())
    }

    fn variables(&self) -> [(&'static str, String); 3] {
        let forwards: Vec<String> = self.forwards.iter().map(ForwardSpec::to_string).collect();
        [
            (JOINED, self.way.word().to_owned()),
            (HOST, self.host.to_string()),
            (FORWARDS, forwards.join(" ")),
        ]
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Environment> {
        let word = variable(JOINED)?;
        let forwards = variable(FORWARDS)?;
        Some(Environment {
            way: Way::ALL.into_iter().find(|way| way.word() == word)?,
            host: variable(HOST)?.parse().ok()?,
            forwards: forwards
                .split_whitespace()
                .map(|text| text.parse().ok())
                .collect::<Option<_>>()?,
        })
    }
}

/// Returns the user's shell, with a prompt that names the mesh.
pub(super) fn shell() -> Command {
    let program = env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    let mut command = Command::new(program);
    command.env("PS1", "(redpoll) \\w$ ");
    // The start-up files of bash replace PS1, so the prompt is set again before each line.
    command.env("PROMPT_COMMAND", "PS1=\"(redpoll) ${PS1#(redpoll) }\"");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_environment_is_parsed_back() {
        let told = Environment {
            way: Way::Namespace,
            host: "fd00::1".parse().unwrap(),
            forwards: vec![
                "8080:leaf-12:80".parse().unwrap(),
                "8081:leaf-13:80".parse().unwrap(),
            ],
        };
        let variables = told.variables();
        let find = |name: &str| {
            variables
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, value)| value.clone())
        };
        assert_eq!(Environment::read(find), Some(told));
        assert_eq!(Environment::read(|_| None), None);
    }
}
