// Keyboard control of the page, and the help dialog that lists the keys.

import { h } from "./dom";

export interface Key {
  keys: string[];
  word: string;
  act: () => void;
}

/** Handles the keys, except in text fields. */
export function listen(keys: Key[]): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // An open dialog handles the keys itself; Escape closes it.
    if (document.querySelector("dialog[open]")) return;
    const target = event.target as HTMLElement;
    const writes = target.matches("input, select, textarea");
    if (writes && event.key !== "Escape") return;
    // The space bar presses a focused button.
    if (event.key === " " && target.matches("button, summary, [role=tab]")) return;
    const key = keys.find((key) => key.keys.includes(event.key));
    if (!key) return;
    event.preventDefault();
    key.act();
  });
}

/** Creates the dialog with all keys and the symbols of the map. */
export function help(keys: Key[]): HTMLDialogElement {
  const name = (key: string) => ({ " ": "space", Escape: "esc" })[key] ?? key;
  const legend: [string, string][] = [
    ["▪ ● ○", "border router, router, leaf; dashed with z: asleep; grey with a bar: switched off; thick coloured outline: sending"],
    ["→", "grey: next hop towards the border router; blue: the path of the selected node"],
    ["━●", "frame for one node: TCP, blue"],
    ["╍■", "UDP: dashed, purple"],
    ["┈▲", "routing and other protocols: dotted, amber"],
    ["─○", "link acknowledgement: thin, grey"],
    ["┅", "dashed trail: frame retransmitted by the link layer"],
    ["◯", "growing circle: broadcast, a frame for every node in range; blue circle: selected node, and its ranges"],
    ["✕", "lost frame, next to its receiver; the packet list names the reason"],
    ["▂", "fill level of a node: length of its queue"],
  ];
  const dialog = h(
    "dialog",
    { class: "help", "aria-label": "Help" },
    h("h2", {}, "Keys"),
    h("dl", {}, ...keys.flatMap((key) => [h("dt", {}, ...key.keys.map((it) => h("kbd", {}, name(it)))), h("dd", {}, key.word)])),
    h("h2", {}, "The map"),
    h("dl", {}, ...legend.flatMap(([mark, word]) => [h("dt", {}, mark), h("dd", {}, word)])),
    h("form", { method: "dialog" }, h("button", { autofocus: true }, "Close")),
  );
  return dialog;
}
