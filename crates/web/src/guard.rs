//! The rights of requests to the server.
//!
//! - The Host header contains the name by which a browser reached the server. An attacker's DNS
//!   server can make a name point at this computer (DNS rebinding), so only addresses and
//!   `localhost` are accepted.
//! - A page of another site may open a WebSocket to this server and send requests that need no
//!   preflight. Its Origin header is then not that of the server's own page, and is refused. A
//!   program other than a browser sends no Origin header, and a page cannot control such a program.
//! - A change needs the run's token, which the terminal shows in the fragment of the page's
//!   address. Browsers never send a fragment to a server.

use std::net::IpAddr;

/// Returns whether the Host header's `value` may refer to a server at `port`.
pub fn host_is_ours(value: &str, port: u16) -> bool {
    let Some((name, given)) = split(value) else {
        return false;
    };
    // RFC 9110 §7.2: a Host without a port means the scheme's default port.
    let fits = given.map_or(port == 80, |given| given == port);
    fits && (name.eq_ignore_ascii_case("localhost") || is_address(name))
}

/// Returns whether a page from `origin` belongs to the requested `host`.
pub fn origin_is_ours(origin: &str, host: &str) -> bool {
    origin
        .strip_prefix("http://")
        .is_some_and(|name| name.eq_ignore_ascii_case(host))
}

/// Returns whether `said` is the token, in constant time.
pub fn is_token(said: &str, token: &str) -> bool {
    let pairs = said.bytes().zip(token.bytes());
    let differ = pairs.fold(0, |all, (a, b)| all | (a ^ b));
    !token.is_empty() && said.len() == token.len() && differ == 0
}

pub fn token(random: &[u8]) -> String {
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn split(value: &str) -> Option<(&str, Option<u16>)> {
    let end = match value.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => value.find(':').unwrap_or(value.len()),
    };
    let (name, rest) = value.split_at_checked(end)?;
    match rest.strip_prefix(':') {
        Some(port) => Some((name, Some(port.parse().ok()?))),
        None if rest.is_empty() => Some((name, None)),
        None => None,
    }
}

fn is_address(name: &str) -> bool {
    let inner = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => matches!(name.parse(), Ok(IpAddr::V4(_))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_hosts() {
        for host in [
            "127.0.0.1:8080",
            "localhost:8080",
            "LOCALHOST:8080",
            "[::1]:8080",
            "192.0.2.7:8080",
        ] {
            assert!(host_is_ours(host, 8080), "{host}");
        }
        for host in [
            "evil.example:8080",
            "127.0.0.1.evil.example:8080",
            "localhost.evil.example:8080",
            "127.0.0.1:80",
            "127.0.0.1",
            "localhost:8080.evil.example",
            "[::1]evil.example:8080",
            "[evil.example]:8080",
            "::1:8080",
            "",
            ":8080",
            "[",
            "[é]:8080",
        ] {
            assert!(!host_is_ours(host, 8080), "{host}");
        }
        assert!(host_is_ours("127.0.0.1", 80));
    }

    #[test]
    fn only_the_pages_own_origin_is_taken() {
        assert!(origin_is_ours("http://127.0.0.1:8080", "127.0.0.1:8080"));
        for origin in [
            "http://evil.example",
            "https://127.0.0.1:8080",
            "http://127.0.0.1:8081",
            "http://127.0.0.1:8080.evil.example",
            "null",
            "",
        ] {
            assert!(!origin_is_ours(origin, "127.0.0.1:8080"), "{origin}");
        }
    }

    #[test]
    fn only_the_complete_token_is_accepted() {
        let token = token(&[0, 1, 0xfe]);
        assert_eq!(token, "0001fe");
        assert!(is_token("0001fe", &token));
        for said in ["", "0001f", "0001fe0", "0001ff"] {
            assert!(!is_token(said, &token), "{said}");
        }
        assert!(!is_token("", ""));
    }
}
