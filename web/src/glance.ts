// Introduction for a first visitor: a sentence about the scenario, a legend of the map, and a large
// button that starts the run.

import type { Connection } from "./connection";
import { fill, h, icon, ICONS, setText } from "./dom";
import type { NodeInfo } from "./protocol";
import type { Store } from "./store";

/** Largest number of senders of the same traffic that the sentence names individually. */
const NAMED = 2;
/** Below this width the legend is closed at first, because it would push the map away. */
const WIDE_PX = 900;
/** Descriptions of traffic by the application that sends it. Other applications only answer. */
const PARTS: Record<string, string> = {
  "bulk-sender": "as fast as TCP allows",
  sensor: "readings",
  "mqtt-sensor": "readings by MQTT",
  "image-source": "a firmware image",
};

/** Classes and words of the legend, in the order of their importance. */
const SYMBOLS: [sample: string, words: string][] = [
  ["data", "TCP"],
  ["datagram", "UDP"],
  ["control", "routing and other protocols"],
  ["ack", "link acknowledgement"],
  ["broadcast", "broadcast"],
  ["lost", "lost frame"],
  ["route", "route to the border router"],
  ["range", "within radio range"],
  ["border", "border router"],
  ["router", "router; fill: queue"],
  ["leaf", "leaf; z: asleep"],
  ["attacker", "attacker: its radio runs no protocols"],
  ["off", "switched off"],
  ["bars", "strip below: frames over time, lost ones at the bottom"],
];

export class Glance {
  readonly element: HTMLElement;
  /** Button on the map that starts a run which waits at its beginning. */
  readonly begin: HTMLElement;
  private sentence = h("p", { class: "sentence" });
  /** Entries of the legend. */
  private symbols: HTMLElement[];

  constructor(
    private store: Store,
    private connection: Connection,
    play: () => void,
  ) {
    this.begin = h("button", { class: "begin", hidden: true, onclick: play }, icon(ICONS.play), "Press play");
    this.symbols = SYMBOLS.map(([sample, words]) => h("li", { class: `symbol-${sample}` }, h("i", { class: `sample ${sample}`, "aria-hidden": "true" }), words));
    const legend = h("details", { class: "legend", open: innerWidth > WIDE_PX }, h("summary", {}, "Legend"), h("ul", {}, ...this.symbols));
    this.element = h("section", { class: "glance", "aria-label": "About this mesh" }, this.sentence, legend);
  }

  /** Shows the sentence for another run. */
  reset(): void {
    setText(this.sentence, sentence(this.store));
    const attacked = this.store.nodes.some((node) => node.role === "attacker");
    for (const symbol of this.symbols) if (symbol.classList.contains("symbol-attacker")) symbol.hidden = !attacked;
  }

  draw(): void {
    const { clock, t } = this.store;
    const waits = clock.settable && clock.paused && !clock.ended && t === 0 && this.connection.mayCommand;
    this.begin.hidden = !waits;
  }
}

/** Describes the mesh and its traffic. */
function sentence(store: Store): string {
  const { hello, nodes } = store;
  if (!hello) return "";
  const count = (role: string) => nodes.filter((node) => node.role === role).length;
  const sleepy = nodes.filter((node) => node.sleepy).length;
  const parts = [
    some(count("border"), "border router", "border routers"),
    some(count("router"), "router", "routers"),
    some(count("leaf"), "leaf", "leaves") + (sleepy > 0 ? ` (${sleepy} of them asleep most of the time)` : ""),
    some(count("attacker"), "attacker within radio range", "attackers within radio range"),
  ].filter((part) => part !== "");
  const kind = { up: "This mesh runs in real time on this computer", run: "This is a simulated radio mesh", view: "This is the recording of a radio mesh" }[hello.mode];
  const borders = nodes.filter((node) => node.role === "border");
  const border = borders.length === 1 ? `the border router, ${borders[0]!.name},` : "a border router";
  const way = borders.length > 0 && nodes.length > 2 ? ` Packets travel from node to node; ${border} joins the mesh to other networks.` : "";
  const real = hello.mode === "run" ? " Radio and time are simulated; routers and leaves run a complete protocol stack." : "";
  return `${kind}: ${parts.join(", ")}.${real}${way}${traffic(nodes, hello.mode !== "up")}${fromHost(hello.host_apps ?? [], borders[0]?.name)} Lost frames are normal: each hop retransmits them.`;
}

function some(count: number, one: string, many: string): string {
  return count === 0 ? "" : `${count} ${count === 1 ? one : many}`;
}

/** Names the nodes that begin to send, and the receiver of transfers if there is only one. In real
    time, receivers may be programs outside the mesh. */
function traffic(nodes: NodeInfo[], isClosed: boolean): string {
  const senders = new Map<string, string[]>();
  for (const node of nodes) {
    for (const app of new Set(node.apps)) {
      const part = PARTS[app];
      if (part) senders.set(part, [...(senders.get(part) ?? []), node.name]);
    }
  }
  const sinks = isClosed ? nodes.filter((node) => node.apps.includes("bulk-sink")) : [];
  const parts = [...senders].map(([part, names]) => {
    const to = part === PARTS["bulk-sender"] && sinks.length === 1 ? ` to ${sinks[0]!.name}` : "";
    if (names.length > NAMED) return `${names.length} nodes send${to} ${part}`;
    return `${names.join(" and ")} ${names.length === 1 ? "sends" : "send"}${to} ${part}`;
  });
  return parts.length > 0 ? ` ${parts.join(", ")}.` : "";
}

/** Describes what the host beyond the border router sends. */
function fromHost(apps: [app: string, to: string][], border: string | undefined): string {
  const parts = apps.filter(([app]) => PARTS[app]).map(([app, to]) => `sends to ${to} ${PARTS[app]}`);
  return parts.length > 0 && border ? ` The host beyond ${border} ${[...new Set(parts)].join(" and ")}.` : "";
}

/** Button that switches the selected node off or on, for a page without the panel. */
export class Switch {
  readonly element: HTMLElement;

  constructor(toggle: () => void) {
    this.element = h("button", { class: "tool wide switch", hidden: true, onclick: toggle });
  }

  update(name: string | null, isOff: boolean): void {
    this.element.hidden = name === null;
    this.element.classList.toggle("danger", !isOff);
    const text = name === null ? "" : `Switch ${name} ${isOff ? "on" : "off"} (K)`;
    if (this.element.textContent !== text) fill(this.element, text);
  }
}
