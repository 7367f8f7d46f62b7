//! Documented reasons why an honest flow keeps less than required.

use super::Target;

/// Returns the reason why a flow may keep less than required during `attack` on `target`, if any.
pub(super) fn reason(attack: &str, target: Target) -> Option<&'static str> {
    let is_leaf = matches!(target, Target::Leaf | Target::SleepyLeaf);
    match attack {
        // RFC 4443 §4.2: "Every node MUST implement an ICMPv6 Echo responder".
        "air-echo-flood" if is_leaf => Some(
            "RFC 4443 §4.2 requires an echo reply as long as its request, so each \
             packet of the attack occupies the channel twice: for itself and for the reply",
        ),
        "syn-flood" if is_leaf => Some(
            "RFC 9293 §3.10.7.2 requires an answer to each SYN, so each SYN of the \
             attack occupies the channel twice: for itself and for the answer",
        ),
        _ => None,
    }
}
