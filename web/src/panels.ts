// The panel on the right: connections, nodes, and the air time by type of message.

import { AirShares } from "./charts/air";
import { FlowCharts } from "./charts/flow";
import { NodeCharts } from "./charts/node";
import { fill, h, setText } from "./dom";
import type { Actions } from "./actions";
import type { Playhead } from "./playhead";
import type { Selection } from "./selection";
import type { Flow, Store } from "./store";
import type { Theme } from "./theme";
import { bytes } from "./words";

/** Part of the run that the plots show, in microseconds. */
const SPAN_US = 30_000_000;
/** Time that the plots show before a connection begins, in microseconds. */
const LEAD_US = 200_000;
/** Largest number of connections in the list. */
const LISTED = 200;

const TABS = ["flows", "nodes", "air"] as const;
type Tab = (typeof TABS)[number];

export class Panels {
  readonly element: HTMLElement;
  private tabs: Record<Tab, HTMLElement>;
  private bodies: Record<Tab, HTMLElement>;
  private tab: Tab = "flows";
  private flowList = h("div", { class: "list", role: "listbox", "aria-label": "Connections" });
  private flowEmpty = h("p", { class: "muted pad" });
  private flowRows = new Map<number, HTMLElement>();
  readonly flowCharts: FlowCharts;
  private nodeList = h("div", { class: "list tall", role: "listbox", "aria-label": "Nodes" });
  private nodeView = h("div", { class: "node-view" });
  private nodeTitle = h("h2", {});
  private nodeCharts: NodeCharts;
  private airShares: AirShares;
  private flowsVersion = -1;
  /** The node that was shown last. */
  private shownNode: number | null = null;

  constructor(
    private store: Store,
    private playhead: Playhead,
    private selection: Selection,
    theme: Theme,
    private actions: Actions,
  ) {
    this.flowCharts = new FlowCharts(theme);
    this.nodeCharts = new NodeCharts(store, theme);
    this.airShares = new AirShares(store);
    const tab = (name: Tab, word: string) =>
      h("button", { class: "tab", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => this.open(name) }, word);
    this.tabs = { flows: tab("flows", "Connections"), nodes: tab("nodes", "Nodes"), air: tab("air", "Air time") };
    const back = h("button", { class: "link", onclick: () => this.selection.set({ node: null }) }, "‹ all nodes");
    this.nodeView.append(h("div", { class: "node-head" }, this.nodeTitle, back), actions.element, this.nodeCharts.element);
    const body = (name: Tab, ...children: HTMLElement[]) =>
      h("div", { class: "panel-body", role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}` }, ...children);
    this.bodies = {
      flows: body("flows", this.flowList, this.flowEmpty, this.flowCharts.element),
      nodes: body("nodes", this.nodeList, this.nodeView),
      air: body("air", this.airShares.element),
    };
    this.element = h(
      "aside",
      { class: "side", "aria-label": "Details" },
      h("div", { class: "tabs", role: "tablist", onkeydown: (event: KeyboardEvent) => this.onTabKey(event) }, ...TABS.map((name) => this.tabs[name])),
      ...TABS.map((name) => this.bodies[name]),
    );
    selection.onChange(() => this.onSelection());
    this.open("flows");
    this.onSelection();
  }

  open(tab: Tab): void {
    this.tab = tab;
    for (const name of TABS) {
      this.tabs[name].setAttribute("aria-selected", String(name === tab));
      this.tabs[name].tabIndex = name === tab ? 0 : -1;
      this.bodies[name].hidden = name !== tab;
    }
  }

  /** Moves between tabs with the arrow keys, as usual in a list of tabs. */
  private onTabKey(event: KeyboardEvent): void {
    const names = Object.keys(this.tabs) as Tab[];
    const at = names.indexOf(this.tab);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const tab = names[(to + names.length) % names.length]!;
    this.open(tab);
    this.tabs[tab].focus();
  }

  reset(): void {
    this.selection.set({ node: null, flow: null, frame: null });
    this.flowRows.clear();
    this.flowList.replaceChildren();
    fill(
      this.nodeList,
      ...this.store.nodes.map((node, index) =>
        h(
          "button",
          { class: "item", role: "option", onclick: () => this.selection.set({ node: index }) },
          h("b", {}, node.name),
          h("span", { class: "muted" }, [node.role, node.sleepy ? "sleepy" : "", node.apps.join(", ")].filter(Boolean).join(" · ")),
        ),
      ),
    );
  }

  update(): void {
    this.listFlows();
    const to = this.playhead.t;
    const from = Math.max(this.store.since, to - SPAN_US);
    if (this.tab === "flows") {
      const flow = this.chosenFlow();
      this.flowCharts.element.hidden = !flow;
      // Before the connection begins, there is nothing to plot.
      if (flow) this.flowCharts.show(flow, Math.min(Math.max(from, flow.info.since - LEAD_US), to), to);
    } else if (this.tab === "air") {
      this.airShares.show(from, to);
    } else if (this.selection.node !== null && this.store.nodes[this.selection.node]) {
      this.nodeCharts.show(this.selection.node, from, to);
      this.actions.update();
    }
  }

  /** Returns the selected connection; otherwise the recent one with the most data. */
  private chosenFlow(): Flow | undefined {
    const chosen = this.store.flows.get(this.selection.flow ?? -1);
    if (chosen) return chosen;
    const flows = [...this.store.flows.values()];
    const recent = flows.filter((flow) => this.store.t - flow.lastAt < 3_000_000);
    const size = (flow: Flow) => flow.bytes[0] + flow.bytes[1];
    return (recent.length > 0 ? recent : flows).sort((a, b) => size(b) - size(a))[0];
  }

  private listFlows(): void {
    if (this.flowsVersion !== this.store.flowsVersion) {
      this.flowsVersion = this.store.flowsVersion;
      for (const flow of this.store.flows.values()) {
        if (this.flowRows.has(flow.info.id)) continue;
        const row = h(
          "button",
          { class: "item flow", role: "option", onclick: () => this.selection.set({ flow: flow.info.id }) },
          h("b", {}, `${flow.info.a.name} → ${flow.info.b.name}`),
          h("span", { class: "muted" }),
        );
        this.flowRows.set(flow.info.id, row);
        this.flowList.prepend(row);
      }
      for (const [id, row] of this.flowRows) {
        if (this.store.flows.has(id)) continue;
        row.remove();
        this.flowRows.delete(id);
      }
      while (this.flowList.children.length > LISTED) this.flowList.lastElementChild!.remove();
    }
    const shown = this.chosenFlow();
    this.flowEmpty.hidden = this.store.flows.size > 0;
    setText(this.flowEmpty, "No TCP connection yet. When one opens, its plots appear here.");
    for (const [id, row] of this.flowRows) {
      const flow = this.store.flows.get(id);
      if (!flow || !row.isConnected) continue;
      const isActive = this.store.t - flow.lastAt < 3_000_000;
      row.classList.toggle("active", isActive);
      row.setAttribute("aria-selected", String(flow === shown));
      const again = flow.again > 0 ? ` · ${flow.again} retransmitted` : "";
      const [there, back] = flow.bytes;
      setText(row.lastElementChild!, `${bytes(there)}${back > 0 ? ` ⇄ ${bytes(back)}` : ""}${again}`);
    }
  }

  private onSelection(): void {
    const { node } = this.selection;
    const info = node === null ? undefined : this.store.nodes[node];
    this.nodeList.hidden = info !== undefined;
    this.nodeView.hidden = info === undefined;
    if (info && node !== null) {
      setText(this.nodeTitle, info.name);
      this.actions.show(node);
      // The choice of a packet or a connection does not change the tab.
      if (node !== this.shownNode) this.open("nodes");
    }
    this.shownNode = node;
    for (const [index, row] of [...this.nodeList.children].entries()) row.setAttribute("aria-selected", String(index === node));
  }
}
