//! Why an honest flow keeps less than it is to keep.

use super::Target;

/// The reason why the flow beside `attack` on `target` may keep less, if there is one.
pub(super) fn reason(attack: &str, target: Target) -> Option<&'static str> {
    let is_leaf = matches!(target, Target::Leaf | Target::SleepyLeaf);
    match attack {
        // RFC 4443 §4.2: "every node MUST implement an ICMPv6 Echo responder".
        "echo-flood" | "air-echo-flood" if is_leaf => Some(
            "an echo reply is owed, as long as its request (RFC 4443, section 4.2): the attack \
             has twice the air that its own packets take",
        ),
        "syn-flood" if is_leaf => Some(
            "a SYN is owed an answer as long as itself (RFC 9293, section 3.10.7.2): the attack \
             has twice the air that its own packets take",
        ),
        "trickle-readers" if target == Target::Leaf => Some(
            "an answer is owed to a client that takes it: what the readers take is the flow's air",
        ),
        _ => None,
    }
}
