// The plots of one node.

import { h, setText } from "../dom";
import { RADIO_WORDS } from "../protocol";
import type { Store } from "../store";
import type { Theme } from "../theme";
import { percent } from "../words";
import { Plot } from "./plot";

export class NodeCharts {
  readonly element: HTMLElement;
  private facts = h("dl", { class: "node-facts" });
  private duty: Plot;
  private queue: Plot;
  private energy: Plot;
  private frames: Plot;

  constructor(
    private store: Store,
    theme: Theme,
  ) {
    const plot = (title: string, unit: string, label: string, color: 0 | 1 | 2 | 3, least: number) =>
      new Plot({ title, unit, height: 100, lines: [{ label, color, steps: true }], least }, theme, "node");
    this.duty = plot("Radio on", "% of the time", "not asleep", 0, 100);
    this.queue = plot("Queue", "datagrams", "slots in use", 1, 4);
    this.energy = plot("Current", "mA, radio and processor", "mean", 3, 1);
    this.frames = new Plot(
      {
        title: "Frames",
        unit: "per second",
        height: 100,
        lines: [
          { label: "sent", color: 0, steps: true },
          { label: "retransmitted", color: 1, steps: true, dash: [5, 4] },
        ],
        least: 5,
      },
      theme,
      "node",
    );
    this.element = h(
      "div",
      { class: "charts" },
      this.facts,
      this.duty.element,
      this.queue.element,
      this.energy.element,
      this.frames.element,
    );
  }

  /** Shows a node between two moments of the run, in microseconds. */
  show(node: number, from: number, to: number): void {
    const times: number[] = [];
    const lines: [number[], number[], number[], number[], number[]] = [[], [], [], [], []];
    const { figures } = this.store;
    let before = figures.at(0);
    for (let place = Math.max(1, figures.lowerBound(from, (at) => at.t)); place < figures.length; place++) {
      before = figures.at(place - 1);
      const at = figures.at(place)!;
      if (at.t > to) break;
      const span = (at.t - before!.t) / 1e6;
      if (span <= 0) continue;
      const diff = (column: "charge" | "sent" | "retries") =>
        ((at.nodes[column][node] ?? 0) - (before!.nodes[column][node] ?? 0)) / span;
      times.push(at.t / 1e6);
      lines[0].push(100 * (1 - (at.nodes.asleep[node] ?? 0)));
      lines[1].push(at.nodes.queue[node] ?? 0);
      lines[2].push(diff("charge"));
      lines[3].push(diff("sent"));
      lines[4].push(diff("retries"));
    }
    const [begin, end] = [from / 1e6, to / 1e6];
    this.duty.set([times, lines[0]], begin, end);
    this.queue.set([times, lines[1]], begin, end);
    this.energy.set([times, lines[2]], begin, end);
    this.frames.set([times, lines[3], lines[4]], begin, end);
    this.tell(node);
  }

  private tell(node: number): void {
    const { now, nodes } = this.store;
    const info = nodes[node]!;
    const parent = now.parent[node] ?? -1;
    const facts: [string, string][] = [
      ["Address", info.address],
      ["Runs", info.apps.join(", ") || "no apps"],
      ["Radio", RADIO_WORDS[now.radio[node] ?? 3] ?? ""],
      ["Parent", parent >= 0 ? nodes[parent]!.name : "none"],
      ["Duty cycle", percent(now.duty[node] ?? 0)],
      ["Frames", `${now.sent[node] ?? 0} sent, ${now.retries[node] ?? 0} of them retransmissions`],
      ["Collisions", `${now.collisions[node] ?? 0} frames for this node`],
      ["Charge", charge(now.charge[node] ?? 0)],
    ];
    const cells = this.facts.children;
    if (cells.length !== facts.length * 2) {
      this.facts.replaceChildren(...facts.flatMap(([name]) => [h("dt", {}, name), h("dd", {})]));
    }
    facts.forEach(([, value], index) => setText(this.facts.children[2 * index + 1]!, value));
  }
}

/** Formats a charge given in millicoulombs, in mAh or µAh. */
function charge(mc: number): string {
  const uah = mc / 3.6;
  return uah < 1_000 ? `${uah.toFixed(uah < 10 ? 2 : 0)} µAh` : `${(uah / 1_000).toFixed(2)} mAh`;
}
