// The map of the mesh: two canvases, one over the other, and their reactions to the pointer.

import { h, icon, ICONS, setText } from "../dom";
import type { Playhead } from "../playhead";
import type { Selection } from "../selection";
import type { Store } from "../store";
import type { Theme } from "../theme";
import { drawAir } from "./air";
import { drawBase, radius, type Scenery } from "./base";
import { View } from "./view";

export interface MapEvents {
  /** Called after a node was dragged or moved by keys, with its position in metres. */
  onMove: (node: number, x: number, y: number) => void;
  /** Called when the user has chosen the place of a new interferer, in metres. */
  onPlace: (x: number, y: number) => void;
}

/** Distance by which a key moves a node, and time after the last key until the move is reported. */
const STEP_PX = 12;
const SETTLES_MS = 350;

export class MeshMap {
  readonly element: HTMLElement;
  readonly view = new View();
  /** Whether the next click chooses a place. */
  placing = false;
  /** Number of drawn pictures, and their drawing time in milliseconds. */
  drawn = 0;
  drawingMs = 0;
  /** Time from the request of the page to the first picture with nodes, in milliseconds. */
  readyMs: number | null = null;

  private base = h("canvas", { class: "map-base", "aria-hidden": "true" });
  private top = h("canvas", {
    class: "map-top",
    tabindex: 0,
    role: "application",
    "aria-label": "Map of the mesh. Arrow keys select a node, Shift with arrow keys moves it, plus and minus zoom.",
  });
  private tip = h("div", { class: "map-tip", hidden: true });
  private hovered: number | null = null;
  private dirty = true;
  private scene = -1;
  private fitted = false;
  private moved = new Map<number, [number, number]>();
  private settles: ReturnType<typeof setTimeout> | undefined;
  private drag: { node: number | null; x: number; y: number; far: boolean } | null = null;

  constructor(
    private store: Store,
    private playhead: Playhead,
    private selection: Selection,
    private theme: Theme,
    private events: MapEvents,
  ) {
    const button = (title: string, path: string, act: () => void) =>
      h("button", { class: "tool", title, "aria-label": title, onclick: act }, icon(path));
    this.element = h(
      "section",
      { class: "map", "aria-label": "Map" },
      this.base,
      this.top,
      this.tip,
      h(
        "div",
        { class: "map-tools" },
        button("Zoom in (+)", ICONS.plus, () => this.zoom(1.3)),
        button("Zoom out (−)", ICONS.minus, () => this.zoom(1 / 1.3)),
        button("Show all nodes (0)", ICONS.fit, () => this.fit()),
      ),
    );
    new ResizeObserver(() => this.resize()).observe(this.element);
    theme.onChange(() => (this.dirty = true));
    selection.onChange(() => (this.dirty = true));
    this.listen();
  }

  /** Position at which a node is drawn, in metres. */
  x = (node: number): number => this.moved.get(node)?.[0] ?? this.store.now.x[node] ?? 0;
  y = (node: number): number => this.moved.get(node)?.[1] ?? this.store.now.y[node] ?? 0;

  /** Discards the moved positions, for another run. */
  reset(): void {
    this.moved.clear();
    this.fitted = false;
    this.dirty = true;
  }

  /** Draws a node at the server's position again. */
  forget(node: number): void {
    this.moved.delete(node);
    this.dirty = true;
  }

  /** Moves the keyboard focus to the map. */
  focus(): void {
    this.top.focus();
  }

  fit(): void {
    const nodes = this.store.nodes.map((_, index) => index);
    this.view.fit(nodes.map(this.x), nodes.map(this.y));
    this.dirty = true;
  }

  zoom(factor: number): void {
    this.view.zoom(factor);
    this.dirty = true;
  }

  /** The parts of a picture at the present moment. */
  scenery(): Scenery {
    return {
      store: this.store,
      view: this.view,
      palette: this.theme.palette,
      x: this.x,
      y: this.y,
      selected: this.selection.node,
      path: this.path(),
    };
  }

  draw(): void {
    const begun = performance.now();
    if (!this.fitted && this.store.now.x.length > 0 && this.view.width > 1) {
      this.fitted = true;
      this.fit();
    }
    const scenery = this.scenery();
    if (this.dirty || this.scene !== this.store.sceneVersion) {
      this.dirty = false;
      this.scene = this.store.sceneVersion;
      const context = this.base.getContext("2d");
      if (context) drawBase(context, scenery);
    }
    const context = this.top.getContext("2d");
    const { t, pace } = this.playhead;
    if (context) drawAir(context, { ...scenery, t, pace, hovered: this.hovered });
    this.drawn++;
    this.drawingMs += performance.now() - begun;
    if (this.store.now.x.length > 0) this.readyMs ??= performance.now();
  }

  /** Returns the selected node and its ancestors up to the root. */
  private path(): number[] {
    const path: number[] = [];
    let node = this.selection.node ?? -1;
    while (node >= 0 && !path.includes(node)) {
      path.push(node);
      node = this.store.now.parent[node] ?? -1;
    }
    return path;
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const ratio = Math.min(devicePixelRatio, 2);
    for (const canvas of [this.base, this.top]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    const first = this.view.width <= 1;
    this.view.width = width;
    this.view.height = height;
    if (first) this.fitted = false;
    else if (!this.drag) this.fit();
    this.dirty = true;
  }

  private nodeAt(px: number, py: number): number | null {
    let best: number | null = null;
    let nearest = 16;
    for (let node = 0; node < this.store.nodes.length; node++) {
      const [x, y] = this.view.toScreen(this.x(node), this.y(node));
      const distance = Math.hypot(x - px, y - py) - radius(this.store, this.view, node);
      if (distance < nearest) {
        nearest = distance;
        best = node;
      }
    }
    return nearest < 6 ? best : null;
  }

  private listen(): void {
    const top = this.top;
    top.addEventListener("pointerdown", (event) => {
      if (this.placing) {
        this.placing = false;
        top.classList.remove("placing");
        this.events.onPlace(...this.view.toMetres(event.offsetX, event.offsetY));
        return;
      }
      top.setPointerCapture(event.pointerId);
      const node = this.nodeAt(event.offsetX, event.offsetY);
      this.drag = { node, x: event.offsetX, y: event.offsetY, far: false };
    });
    top.addEventListener("pointermove", (event) => this.onPointerMove(event));
    top.addEventListener("pointerup", () => {
      const drag = this.drag;
      this.drag = null;
      if (!drag) return;
      if (!drag.far) this.selection.set({ node: drag.node });
      else if (drag.node !== null) this.events.onMove(drag.node, this.x(drag.node), this.y(drag.node));
    });
    top.addEventListener("pointerleave", () => {
      this.hovered = null;
      this.tip.hidden = true;
    });
    top.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.view.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
        this.dirty = true;
      },
      { passive: false },
    );
    top.addEventListener("keydown", (event) => {
      const ways: Record<string, [number, number]> = {
        ArrowLeft: [-1, 0],
        ArrowRight: [1, 0],
        ArrowUp: [0, 1],
        ArrowDown: [0, -1],
      };
      const way = ways[event.key];
      if (way) {
        event.preventDefault();
        if (event.shiftKey) this.shift(...way);
        else this.walk(...way);
      } else if (event.key === "Enter" && this.placing) {
        event.preventDefault();
        this.placeHere();
      }
    });
  }

  /** Places the interferer at the selected node; without one, in the middle of the map. */
  private placeHere(): void {
    const node = this.selection.node;
    this.placing = false;
    this.top.classList.remove("placing");
    if (node === null) this.events.onPlace(this.view.x, this.view.y);
    else this.events.onPlace(this.x(node), this.y(node));
  }

  /** Moves the selected node by a step, and reports its position after a pause. */
  private shift(dx: number, dy: number): void {
    const node = this.selection.node;
    if (node === null) return;
    const step = STEP_PX / this.view.scale;
    this.moved.set(node, [this.x(node) + dx * step, this.y(node) + dy * step]);
    this.dirty = true;
    clearTimeout(this.settles);
    this.settles = setTimeout(() => this.events.onMove(node, this.x(node), this.y(node)), SETTLES_MS);
  }

  /** Selects the nearest node in a direction. */
  private walk(dx: number, dy: number): void {
    const from = this.selection.node;
    if (from === null) {
      this.selection.set({ node: 0 });
      return;
    }
    let best = from;
    let least = Infinity;
    this.store.nodes.forEach((_, node) => {
      const [x, y] = [this.x(node) - this.x(from), this.y(node) - this.y(from)];
      const ahead = x * dx + y * dy;
      const aside = Math.abs(x * dy - y * dx);
      if (ahead > 0 && aside <= ahead * 1.5 && ahead + 2 * aside < least) {
        least = ahead + 2 * aside;
        best = node;
      }
    });
    this.selection.set({ node: best });
  }

  private onPointerMove(event: PointerEvent): void {
    const drag = this.drag;
    if (!drag) {
      this.hover(event);
      return;
    }
    const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
    if (!drag.far && Math.hypot(dx, dy) < 4) return;
    drag.far = true;
    drag.x = event.offsetX;
    drag.y = event.offsetY;
    if (drag.node === null) this.view.pan(dx, dy);
    else this.moved.set(drag.node, this.view.toMetres(event.offsetX, event.offsetY));
    this.dirty = true;
  }

  private hover(event: PointerEvent): void {
    this.top.classList.toggle("placing", this.placing);
    this.hovered = this.nodeAt(event.offsetX, event.offsetY);
    this.top.style.cursor = this.hovered === null ? "" : "pointer";
    this.tip.hidden = this.hovered === null;
    if (this.hovered === null) return;
    const node = this.store.nodes[this.hovered]!;
    const words = [`${node.name} · ${node.role}${node.sleepy ? ", sleepy" : ""}`, node.address, node.apps.join(", ")]
      .filter(Boolean)
      .join("\n");
    setText(this.tip, words);
    this.tip.style.left = `${Math.min(event.offsetX + 14, this.view.width - 240)}px`;
    this.tip.style.top = `${Math.min(event.offsetY + 14, this.view.height - 70)}px`;
  }
}
