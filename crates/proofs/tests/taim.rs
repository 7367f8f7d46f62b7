//! The model of TAiM with short queues.

use redpoll_assist::taim::{Lead, Policy};
use redpoll_proofs::taim::{Defect, TaimModel};
use redpoll_proofs::{Bounds, explore, is_deep};

#[test]
fn packets_leave_in_order_and_soon() {
    let depth = if is_deep() { 8 } else { 5 };
    let policies = [Policy::Taim, Policy::Lead(Lead::default())];
    for policy in policies {
        let model = TaimModel {
            policy,
            defect: None,
        };
        explore(&model, Bounds::depth(depth)).expect_sound(&format!("{policy:?}"));
    }
    for defect in [Defect::Twice, Defect::Swapped, Defect::Silent] {
        let model = TaimModel {
            policy: Policy::Taim,
            defect: Some(defect),
        };
        let outcome = explore(&model, Bounds::depth(4));
        outcome.expect_defect(&format!("TAiM, {defect:?}"));
    }
}
