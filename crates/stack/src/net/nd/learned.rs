//! What a router advertisement tells a host (RFC 4862 §5.5.3, RFC 6775 §5.4).

use redpoll_base::Addr;
use redpoll_wire::icmpv6::nd::{AddressRegistration, ContextInformation, NdOption, Options};
use redpoll_wire::ipv6::addr;

/// Prefix and context of an advertisement.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Learned {
    pub(crate) prefix: Option<Addr>,
    pub(crate) context: Option<ContextInformation>,
}

impl Learned {
    pub(crate) fn from_options(options: &Options<'_>) -> Self {
        let mut learned = Learned::default();
        for option in options.iter() {
            match option {
                // RFC 4862 §5.5.3 (a) to (d).
                NdOption::PrefixInformation(p)
                    if p.autonomous
                        && p.prefix_len == 64
                        && !addr::is_link_local(&p.prefix)
                        && !p.prefix.is_multicast()
                        && p.valid_lifetime_s > 0
                        && p.preferred_lifetime_s <= p.valid_lifetime_s =>
                {
                    learned.prefix = Some(p.prefix);
                }
                NdOption::Context(c) if c.valid_lifetime_min > 0 => learned.context = Some(c),
                _ => {}
            }
        }
        learned
    }
}

/// The registration among the options, if there is one.
pub(crate) fn registration(options: &Options<'_>) -> Option<AddressRegistration> {
    options.iter().find_map(|option| match option {
        NdOption::AddressRegistration(registration) => Some(registration),
        _ => None,
    })
}
