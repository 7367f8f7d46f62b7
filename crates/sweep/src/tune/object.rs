//! The result of a search as JSON.

use redpoll_results::compare::Interval;
use serde_json::{Value, json};

use super::goal::Goal;
use super::runs::Tuned;
use super::verdict::{Bound, Judged};

pub fn json(goal: &Goal, tuned: &Tuned) -> Value {
    let Tuned {
        found, verdicts, ..
    } = tuned;
    let neighbours = verdicts.neighbours.iter().map(|it| {
        let differences = it.differences.iter().zip(goal.aims.figures());
        let differences = differences.map(|(difference, figure)| {
            json!({
                "what": figure.name(),
                "difference": difference.map(|it| of_interval(&it.difference)),
                "ratio": difference.and_then(|it| it.ratio).as_ref().map(of_interval),
            })
        });
        json!({
            "parameter": goal.space.parameters[it.along].name,
            "value": it.value,
            "better": it.is_better,
            "figures": figures(goal, &it.judged),
            "differences": differences.collect::<Vec<_>>(),
        })
    });
    let name = |along: usize| &goal.space.parameters[along].name;
    let bounds = verdicts.bounds.iter().map(|bound| match bound {
        Bound::Limit { limits, neighbour } => {
            let it = &verdicts.neighbours[*neighbour];
            json!({ "kind": "limit", "limits": limits, "parameter": name(it.along), "value": it.value })
        }
        Bound::End { along, .. } => json!({
            "kind": "end", "parameter": name(*along), "value": verdicts.best.values[*along],
        }),
        Bound::Alike { neighbour } => {
            let it = &verdicts.neighbours[*neighbour];
            json!({ "kind": "alike", "parameter": name(it.along), "value": it.value })
        }
    });
    let stages = found
        .stages
        .iter()
        .map(|it| json!({ "name": it.name, "points": it.points, "seeds": it.seeds }));
    json!({
        "version": 1,
        "points_tried": found.tried,
        "stages": stages.collect::<Vec<_>>(),
        "held_out_seeds": goal.held_out,
        "verdict": verdicts.best.verdict().word(),
        "found": of_point(goal, &verdicts.best),
        "runner_up": verdicts.second.as_ref().map(|it| of_point(goal, it)),
        "runner_up_difference": verdicts.lead.map(|it| of_interval(&it.difference)),
        "as_it_stands": of_point(goal, &verdicts.before),
        "bounds": bounds.collect::<Vec<_>>(),
        "neighbours": neighbours.collect::<Vec<_>>(),
    })
}

fn of_point(goal: &Goal, judged: &Judged) -> Value {
    let values = goal.space.parameters.iter().zip(&judged.values);
    let values = values.map(|(it, value)| (it.name.clone(), Value::from(value.as_str())));
    json!({ "values": values.collect::<serde_json::Map<_, _>>(), "figures": figures(goal, judged) })
}

fn figures(goal: &Goal, judged: &Judged) -> Vec<Value> {
    let limits = std::iter::once(None).chain(goal.aims.limits.iter().map(|(_, it)| Some(*it)));
    let each = goal.aims.figures().zip(&judged.lines).zip(limits);
    let each = each.map(|((figure, line), limit)| {
        json!({
            "what": line.name,
            "unit": figure.unit(),
            "mean": line.mean.as_ref().map(of_interval),
            "runs_without": line.without,
            "limit": limit,
            "verdict": line.verdict.map(|it| it.word()),
        })
    });
    each.collect()
}

fn of_interval(it: &Interval) -> Value {
    json!({ "value": it.value, "low": it.low, "high": it.high })
}
