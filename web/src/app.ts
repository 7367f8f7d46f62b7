// Puts the parts of the page together.

import { FlowCharts } from "./charts/flow";
import { Connection } from "./connection";
import { h, icon, ICONS, setText } from "./dom";
import { MeshMap } from "./map/map";
import { Playhead } from "./playhead";
import { Selection } from "./selection";
import { Store } from "./store";
import { Theme } from "./theme";
import { clock } from "./words";

/** What plots show of the run, in microseconds. */
const SPAN_US = 30_000_000;

export class App {
  private theme = new Theme();
  private store = new Store();
  private connection = new Connection();
  private selection = new Selection();
  private playhead = new Playhead(this.store);
  private flowCharts = new FlowCharts(this.theme);
  private map: MeshMap;
  private time = h("output", { class: "time", "aria-label": "Time of the run" });
  private flowList = h("div", { class: "flow-list", role: "listbox", "aria-label": "Connections" });
  private flows = -1;
  private chartsAt = 0;

  constructor(private root: HTMLElement) {
    this.map = new MeshMap(this.store, this.playhead, this.selection, this.theme, {
      onMove: () => {},
      onPlace: () => {},
    });
  }

  start(): void {
    const title = h("b", {}, "…");
    this.root.append(
      h(
        "header",
        { class: "bar" },
        h("span", { class: "brand" }, "Redpoll"),
        title,
        this.time,
        h("button", { class: "tool", title: "Light or dark", onclick: () => this.theme.toggle() }, icon(ICONS.moon)),
      ),
      h(
        "main",
        { class: "main" },
        this.map.element,
        h("aside", { class: "side" }, this.flowList, this.flowCharts.element),
      ),
    );
    this.store.onHello = () => {
      setText(title, this.store.hello!.scenario);
      this.map.reset();
    };
    this.connection.onMessage = (message) => {
      this.store.take(message);
      if (message.type === "changes" || message.type === "state") this.playhead.hear(message.t);
    };
    this.connection.open();
    const picture = () => {
      this.draw();
      requestAnimationFrame(picture);
    };
    requestAnimationFrame(picture);
  }

  private draw(): void {
    this.playhead.advance();
    this.map.draw();
    setText(this.time, clock(this.playhead.t));
    const now = performance.now();
    if (now - this.chartsAt < 120) return;
    this.chartsAt = now;
    if (this.flows !== this.store.flowsVersion) {
      this.flows = this.store.flowsVersion;
      this.listFlows();
    }
    const flow = this.store.flows.get(this.selection.flow ?? -1) ?? [...this.store.flows.values()].pop();
    if (flow) {
      const to = this.playhead.t;
      this.flowCharts.show(flow, Math.max(this.store.since, to - SPAN_US), to);
    }
  }

  private listFlows(): void {
    this.flowList.replaceChildren(
      ...[...this.store.flows.values()].map((flow) =>
        h("button", { onclick: () => this.selection.set({ flow: flow.info.id }) }, `${flow.info.a.name} → ${flow.info.b.name}`),
      ),
    );
  }
}
