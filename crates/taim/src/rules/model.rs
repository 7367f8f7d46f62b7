//! The firewall's rules as far as TAiM needs them: chains, the effect of each rule, and queues.

/// The program that changes rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Firewall {
    Nft,
    /// `ip6tables`, whichever back end it has.
    Ip6tables,
    /// `ip6tables-legacy`, if `ip6tables` is the command of the back end in nftables.
    Ip6tablesLegacy,
    /// `ip6tables-nft`, if `ip6tables` is the command of the older back end.
    Ip6tablesNft,
}

impl Firewall {
    pub(super) fn name(self) -> &'static str {
        match self {
            Firewall::Nft => "nft",
            Firewall::Ip6tables => "ip6tables",
            Firewall::Ip6tablesLegacy => "ip6tables-legacy",
            Firewall::Ip6tablesNft => "ip6tables-nft",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ruleset {
    pub(super) firewall: Firewall,
    pub(super) chains: Vec<Chain>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Chain {
    /// Table as the user writes it: `filter`, or with nft `ip6 filter`.
    pub(super) table: String,
    pub(super) name: String,
    /// Whether forwarded IPv6 packets enter this chain first.
    pub(super) is_forward: bool,
    /// Whether the chain drops packets that no rule decides about.
    pub(super) drops: bool,
    pub(super) rules: Vec<Rule>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Rule {
    /// The rule as the firewall prints it.
    pub(super) text: String,
    pub(super) effect: Effect,
    /// Interface by which matching packets arrive (`to`: leave); `None` if the rule matches all
    /// interfaces or several.
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) protocol: Option<String>,
    /// Whether `redpoll taim install` made the rule.
    pub(super) is_ours: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Effect {
    /// An effect that no other variant names. It drops no packet.
    #[default]
    Other,
    Drop,
    /// Continues in another chain of the same table.
    Jump(String),
    Queue(Queue),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Queue {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) has_bypass: bool,
}

impl Queue {
    pub(super) fn contains(&self, number: u16) -> bool {
        (self.first..=self.last).contains(&number)
    }
}

impl Rule {
    fn overlaps(&self, other: &Rule) -> bool {
        let may = |a: &Option<String>, b: &Option<String>| match (a, b) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        may(&self.from, &other.from)
            && may(&self.to, &other.to)
            && may(&self.protocol, &other.protocol)
    }
}

impl Ruleset {
    fn chain(&self, table: &str, name: &str) -> Option<&Chain> {
        self.chains
            .iter()
            .find(|chain| chain.table == table && chain.name == name)
    }

    /// Calls `found` with each queue rule that forwarded packets may reach: the chain, the rule's
    /// number in the chain from 1, and the first later rule that may drop packets of the rule.
    pub(super) fn for_each_reached(&self, mut found: impl FnMut(&Chain, usize, Option<String>)) {
        for base in self.chains.iter().filter(|chain| chain.is_forward) {
            self.walk(base, &mut Vec::new(), &mut found);
        }
    }

    /// Visits the rules of `chain`. `calls` has the chains and rules that jumped to the chain.
    fn walk<'r>(
        &'r self,
        chain: &'r Chain,
        calls: &mut Vec<(&'r Chain, usize)>,
        found: &mut dyn FnMut(&Chain, usize, Option<String>),
    ) {
        if calls.iter().any(|(outer, _)| outer.name == chain.name) {
            return;
        }
        for (at, rule) in chain.rules.iter().enumerate() {
            calls.push((chain, at));
            match &rule.effect {
                Effect::Queue(_) => found(chain, at + 1, self.later_drop(rule, calls)),
                Effect::Jump(name) => {
                    if let Some(inner) = self.chain(&chain.table, name) {
                        self.walk(inner, calls, found);
                    }
                }
                _ => {}
            }
            calls.pop();
        }
    }

    /// Describes the first later rule, or the policy, that may drop packets which `rule` matches.
    fn later_drop(&self, rule: &Rule, calls: &[(&Chain, usize)]) -> Option<String> {
        for (chain, at) in calls.iter().rev() {
            for later in chain.rules.iter().skip(at + 1) {
                if later.overlaps(rule) && self.may_drop(chain, later, 0) {
                    return Some(format!("the rule `{}`", later.text));
                }
            }
            if chain.drops {
                let (table, name) = (&chain.table, &chain.name);
                return Some(format!("the policy of the chain {table} {name}"));
            }
        }
        None
    }

    fn may_drop(&self, chain: &Chain, rule: &Rule, depth: usize) -> bool {
        /// Chains cannot form loops; this many levels are more than any firewall has.
        const DEEPEST: usize = 32;
        match &rule.effect {
            Effect::Drop => true,
            Effect::Jump(name) if depth < DEEPEST => {
                self.chain(&chain.table, name).is_some_and(|inner| {
                    let mut rules = inner.rules.iter();
                    rules.any(|rule| self.may_drop(inner, rule, depth + 1))
                })
            }
            _ => false,
        }
    }
}
