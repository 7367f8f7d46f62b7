//! Prefix and context in a router advertisement (RFC 4862 §5.5.3, RFC 6775 §5.4).

use redpoll_base::Addr;
use redpoll_wire::icmpv6::nd::{ContextInformation, Options};
use redpoll_wire::ipv6::addr;

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Learned {
    pub(crate) prefix: Option<Addr>,
    pub(crate) context: Option<ContextInformation>,
}

impl Learned {
    pub(crate) fn from_options(options: &Options<'_>) -> Self {
        let mut learned = Learned::default();
        for p in options.prefixes() {
            // RFC 4862 §5.5.3 (a) to (d).
            if p.autonomous
                && p.prefix_len == 64
                && !addr::is_link_local(&p.prefix)
                && !p.prefix.is_multicast()
                && p.valid_lifetime_s > 0
                && p.preferred_lifetime_s <= p.valid_lifetime_s
            {
                learned.prefix = Some(p.prefix);
            }
        }
        for context in options.contexts() {
            if context.valid_lifetime_min > 0 {
                learned.context = Some(context);
            }
        }
        learned
    }
}
