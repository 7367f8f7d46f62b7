// Assembles the parts of the page.

import { Actions } from "./actions";
import type { Connection } from "./connection";
import { fill, h, icon, ICONS, plain, setText } from "./dom";
import { Glance, Switch } from "./glance";
import { help, type Key, listen } from "./keyboard";
import { loop, save } from "./loop";
import { MeshMap } from "./map/map";
import { Packets } from "./packets";
import { Panels } from "./panels";
import { Playhead } from "./playhead";
import { RADIO } from "./protocol";
import { Selection } from "./selection";
import { Store } from "./store";
import { Theme } from "./theme";
import { Timeline } from "./timeline";
import { Transport } from "./transport";
import { bytes } from "./words";

/** Time between two updates of lists and plots, in milliseconds. */
const LISTS_MS = 120;
const TIMELINE_MS = 250;
/** Time for which drawing continues after the last change, in milliseconds: long enough to update
    lists and plots, and to show a dropped node at the server's position. */
const SETTLES_MS = 1_000;
/** Events of user input. */
const INPUTS = ["pointermove", "pointerdown", "pointerup", "pointerout", "wheel", "keydown", "input", "change", "resize", "scroll"];
/** Largest number of messages shown at a time. */
const TOASTS = 2;

export class App {
  private theme = new Theme();
  private store = new Store();
  private selection = new Selection();
  private playhead = new Playhead(this.store);
  private map: MeshMap;
  private packets: Packets;
  private panels: Panels;
  private transport: Transport;
  private timeline: Timeline;
  private actions: Actions;
  /** The moment in seconds that the page's address asks for; `null` after it was shown. */
  private moment = new URLSearchParams(location.search).get("t");
  private glance: Glance;
  private switch = new Switch(() => this.kill());
  private scenario = h("b", { class: "scenario" }, "…");
  private mode = h("span", { class: "pill" });
  private status = h("span", { class: "status", role: "status" });
  private toasts = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
  private banner = h("div", { class: "banner", role: "alert", hidden: true });
  private others = h("div", { class: "others" });
  private interfere = h("button", { class: "tool wide", title: "Add an interferer (I)" }, "+ interferer");
  private isSaving = false;
  private scene = -1;
  private listsAt = 0;
  private timelineAt = 0;
  /** Time of the last change of the drawn contents, and the moment that was shown then. */
  private changedAt = 0;
  private shown = { t: -1, pace: -1 };
  /** Real time at the start of the mesh, in milliseconds since 1970. */
  private wall: number | null = null;

  constructor(
    private root: HTMLElement,
    private connection: Connection,
  ) {
    const say = (text: string, isError = false) => this.say(text, isError);
    this.actions = new Actions(this.store, this.connection, say);
    this.map = new MeshMap(this.store, this.playhead, this.selection, this.theme, {
      onMove: (node, x, y) => void this.onMove(node, x, y),
      onPlace: (x, y) => this.actions.interfere(x, y),
    });
    this.packets = new Packets(this.store, this.playhead, this.selection, this.connection);
    this.panels = new Panels(this.store, this.playhead, this.selection, this.theme, this.actions);
    this.transport = new Transport(this.store, this.playhead, this.connection, (text) => say(text, true));
    this.glance = new Glance(this.store, this.connection, () => this.transport.toggle());
    this.timeline = new Timeline(this.store, this.playhead, this.theme, (t) => this.transport.seek(t));
    this.interfere.addEventListener("click", () => this.place());
  }

  /** Shows the page, with `choice` in place of the scenario's name. */
  start(choice: HTMLElement | null = null): void {
    const keys = this.keys();
    const dialog = help(keys);
    keys.push({ keys: ["?"], word: "show this page", act: () => dialog.showModal() });
    const tool = (title: string, path: string, act: () => void) =>
      h("button", { class: "tool", title, "aria-label": title, onclick: act }, icon(path));
    this.map.element.append(h("div", { class: "map-corner" }, this.interfere, this.switch.element, this.others, this.actions.truce), this.glance.begin);
    this.root.append(
      h(
        "header",
        { class: "bar" },
        h("span", { class: "brand" }, "redpoll"),
        choice ?? this.scenario,
        this.mode,
        this.transport.element,
        this.status,
        tool("Save the last 10 s of the map as an animated GIF (E)", ICONS.loop, () => void this.export()),
        tool("Light or dark (T)", ICONS.moon, () => this.theme.toggle()),
        tool("Keys and symbols (?)", ICONS.help, () => dialog.showModal()),
      ),
      this.banner,
      h("main", { class: "main" }, h("div", { class: "left" }, this.map.element, this.glance.element, this.timeline.element, this.packets.element), this.panels.element),
      this.toasts,
      dialog,
    );
    listen(keys);
    this.store.onHello = () => this.onHello();
    const changed = () => (this.changedAt = performance.now());
    for (const input of INPUTS) addEventListener(input, changed, { capture: true, passive: true });
    this.selection.onChange(changed);
    this.theme.onChange(changed);
    new ResizeObserver(changed).observe(this.map.element);
    this.connection.onMessage = (message) => {
      changed();
      this.store.take(message);
      if (message.type === "clock") this.goToMoment();
      if (message.type === "changes") {
        this.playhead.hear(message.t);
        if (message.wall_ms !== undefined) this.wall = message.wall_ms - message.t / 1_000;
      } else if (message.type === "state") this.playhead.hear(message.t);
    };
    this.connection.onChange = (isOpen) => {
      this.banner.hidden = isOpen;
      setText(this.banner, this.connection.gone);
    };
    this.connection.open();
    const picture = () => {
      this.draw();
      requestAnimationFrame(picture);
    };
    requestAnimationFrame(picture);
    // For tests and for inspection in the browser's console.
    Object.assign(window, { redpoll: { delayMs: () => this.delayMs(), store: this.store, playhead: this.playhead, map: this.map, selection: this.selection, goodput: this.panels.flowCharts.goodput } });
  }

  private keys(): Key[] {
    return [
      { keys: [" "], word: "pause or resume", act: () => this.transport.toggle() },
      { keys: ["."], word: "next frame", act: () => this.transport.step(true) },
      { keys: [","], word: "previous frame", act: () => this.transport.step(false) },
      { keys: ["l", "L"], word: "back to the present", act: () => this.transport.goLive() },
      { keys: ["/"], word: "filter packets", act: () => this.packets.input.focus() },
      { keys: ["+", "="], word: "zoom in", act: () => this.map.zoom(1.3) },
      { keys: ["-"], word: "zoom out", act: () => this.map.zoom(1 / 1.3) },
      { keys: ["0"], word: "show all nodes", act: () => this.map.fit() },
      { keys: ["n", "N"], word: "select the next node; on the map, arrow keys select a node and Shift with arrow keys moves it", act: () => this.nextNode() },
      { keys: ["k", "K"], word: "switch the selected node off or on", act: () => this.kill() },
      { keys: ["i", "I"], word: "add an interferer where the map is clicked, or with Enter at the selected node", act: () => this.place() },
      { keys: ["c", "C"], word: "show the connections", act: () => this.panels.open("flows") },
      { keys: ["e", "E"], word: "save the last 10 s of the map as a GIF that repeats", act: () => void this.export() },
      { keys: ["t", "T"], word: "light or dark theme", act: () => this.theme.toggle() },
      { keys: ["Escape"], word: "clear the selection", act: () => this.clear() },
    ];
  }

  private onHello(): void {
    const { scenario, mode } = this.store.hello!;
    document.title = plain(`${scenario} · Redpoll`);
    setText(this.scenario, scenario);
    setText(this.mode, { up: "in real time", run: "simulation", view: "recording" }[mode]);
    this.playhead.reset();
    this.map.reset();
    this.panels.reset();
    this.packets.reset();
    this.transport.reset();
    this.glance.reset();
    this.actions.reset();
  }

  private draw(): void {
    this.playhead.advance();
    if (this.store.hello === null) return;
    const now = performance.now();
    const { t, pace } = this.playhead;
    if (t !== this.shown.t || pace !== this.shown.pace) {
      this.shown = { t, pace };
      this.changedAt = now;
    }
    // A page without changes is not drawn, and uses no processor time.
    if (now - this.changedAt > SETTLES_MS) return;
    this.map.draw();
    this.transport.draw();
    this.glance.draw();
    if (now - this.listsAt >= LISTS_MS) {
      this.listsAt = now;
      this.panels.update();
      this.packets.update();
      this.tell();
    }
    if (now - this.timelineAt >= TIMELINE_MS || !this.playhead.isLive) {
      this.timelineAt = now;
      this.timeline.draw();
    }
    if (this.scene !== this.store.sceneVersion) {
      this.scene = this.store.sceneVersion;
      this.listOthers();
    }
  }

  private tell(): void {
    const { store } = this;
    const parts = [`${store.nodes.length} nodes`];
    if (store.skipped > 0) parts.push(`${store.skipped.toLocaleString("en")} frames not shown`);
    const delay = this.delayMs();
    if (delay !== null && this.playhead.isLive) parts.push(`${Math.max(0, Math.round(delay))} ms behind real time`);
    if (!this.connection.mayCommand) parts.push("read-only");
    setText(this.status, parts.join(" · "));
    this.interfere.hidden = !this.connection.mayCommand || store.hello?.mode === "view";
    this.interfere.classList.toggle("on", this.map.placing);
    const { node } = this.selection;
    const may = node !== null && !this.interfere.hidden;
    this.switch.update(may ? (store.nodes[node]?.name ?? null) : null, may && store.now.radio[node] === RADIO.off);
  }

  /** Returns the age of the shown moment of a mesh in real time, in milliseconds. */
  delayMs(): number | null {
    return this.wall === null ? null : Date.now() - (this.wall + this.playhead.t / 1_000);
  }

  private listOthers(): void {
    fill(
      this.others,
      ...this.store.interferers.map((other, index) =>
        other.busy === 0 ? null : h("button", { class: "chip", title: `${other.name} transmits ${Math.round(other.busy * 100)} % of the time; click to switch it off`, onclick: () => this.actions.silence(index) }, `${other.name}, ${Math.round(other.busy * 100)} % ✕`),
      ),
    );
  }

  private async onMove(node: number, x: number, y: number): Promise<void> {
    const { hello } = this.store;
    if (!this.connection.mayCommand || !hello?.is_movable || hello.mode === "view") {
      this.say("The node was moved on this page only.");
      return;
    }
    const done = await this.actions.move(node, x, y);
    // The node stays where it was dropped until the server's next figures have its new position.
    setTimeout(() => this.map.forget(node), done ? 600 : 0);
  }

  private place(): void {
    if (this.interfere.hidden) return;
    this.map.placing = !this.map.placing;
    if (!this.map.placing) return;
    this.map.focus();
    this.say(this.selection.node === null ? "Click a place on the map, or press Enter for its centre." : "Click a place on the map, or press Enter for the place of the selected node.");
  }

  private kill(): void {
    if (!this.connection.mayCommand) return;
    if (this.selection.node === null) this.say("Select a node first.");
    else this.actions.toggle(this.selection.node);
  }

  private nextNode(): void {
    const count = this.store.nodes.length;
    if (count > 0) this.selection.set({ node: ((this.selection.node ?? -1) + 1) % count });
  }

  /** Shows the moment of the page's address, once. */
  private goToMoment(): void {
    const s = Number(this.moment ?? NaN);
    this.moment = null;
    if (s > 0) this.transport.seek(s * 1e6);
  }

  /** Selects a node by its name. */
  select(name: string | null): void {
    const node = this.store.nodes.findIndex((it) => it.name === name);
    if (node >= 0) this.selection.set({ node });
  }

  /** Saves the seconds before the shown moment as an animated GIF. */
  private async export(): Promise<void> {
    const { hello, frames } = this.store;
    if (this.isSaving || hello === null) return;
    if (frames.length === 0) {
      this.say("Nothing has happened yet: start the run, and save the GIF then.", true);
      return;
    }
    this.isSaving = true;
    const toast = h("div", { class: "toast" });
    this.toasts.append(toast);
    try {
      const blob = await loop(this.map, this.store, this.theme, this.playhead.t, (share) => setText(toast, `Drawing the GIF: ${Math.round(share * 100)} %`));
      const name = `${hello.scenario.replaceAll(/[^\w.-]+/g, "-").slice(0, 60) || "mesh"}.gif`;
      save(blob, name);
      this.say(`Saved ${name}, ${bytes(blob.size)}.`);
    } finally {
      toast.remove();
      this.isSaving = false;
    }
  }

  private clear(): void {
    this.map.placing = false;
    (document.activeElement as HTMLElement | null)?.blur();
    this.selection.set({ node: null, flow: null, frame: null });
  }

  say(text: string, isError = false): void {
    if (!text) return;
    const toast = h("div", { class: isError ? "toast error" : "toast" }, text);
    this.toasts.append(toast);
    while (this.toasts.children.length > TOASTS) this.toasts.firstElementChild!.remove();
    setTimeout(() => toast.remove(), isError ? 7_000 : 3_500);
  }
}
