// The list of packets, with elements for the visible rows only, and the layers of the selected
// packet.

import type { Connection } from "./connection";
import { fill, h, setText } from "./dom";
import { fate, isLost, type Matcher, matcher, nameOf } from "./filter";
import { ACK, type Layer } from "./protocol";
import type { Playhead } from "./playhead";
import type { Selection } from "./selection";
import type { Frame, Store } from "./store";
import { seconds } from "./words";

const ROW = 23;
/** Number of earlier frames that are searched for a first fragment. */
const BACK = 400;

export class Packets {
  readonly element: HTMLElement;
  readonly input = h("input", {
    type: "search",
    class: "filter",
    placeholder: "Filter: leaf-12  proto:tcp  retransmitted   ( / )",
    "aria-label": "Filter packets",
    spellcheck: "false",
  });
  private acks = h("input", { type: "checkbox" });
  private count = h("span", { class: "muted count" });
  private left = h("span", {});
  private scroller = h("div", { class: "rows", tabindex: 0, role: "grid", "aria-label": "Packets" });
  private space = h("div", { class: "rows-space" });
  private layers = h("div", { class: "layers", "aria-live": "polite" });
  private rows: HTMLElement[] = [];
  private shown: Frame[] = [];
  private seen = 0;
  /** Number of link acknowledgements that match the filter and are hidden. */
  private hidden = 0;
  /** Number of frames of earlier runs, which the shown total excludes. */
  private earlier = 0;
  private follows = true;
  private matches: Matcher = () => true;
  private wantsAcks = false;

  constructor(
    private store: Store,
    private playhead: Playhead,
    private selection: Selection,
    private connection: Connection,
  ) {
    this.scroller.append(this.space);
    const head = h(
      "div",
      { class: "row row-head", "aria-hidden": "true" },
      ...["Time", "From", "To", "Protocol", "Length", "Outcome", "Info"].map((word) => h("span", {}, word)),
    );
    this.element = h(
      "section",
      { class: "packets", "aria-label": "Packets" },
      h(
        "div",
        { class: "packets-bar" },
        h("h2", {}, "Packets"),
        this.input,
        h("label", { class: "check" }, this.acks, h("span", {}, "link acknowledgements", this.left)),
        this.count,
      ),
      h("div", { class: "packets-body" }, h("div", { class: "packets-list" }, head, this.scroller), this.layers),
    );
    this.input.addEventListener("input", () => this.refilter());
    this.acks.addEventListener("change", () => this.refilter());
    this.scroller.addEventListener("scroll", () => {
      const { scrollTop, clientHeight, scrollHeight } = this.scroller;
      this.follows = scrollTop + clientHeight >= scrollHeight - ROW;
      this.paint();
    });
    this.scroller.addEventListener("keydown", (event) => this.onKey(event));
    selection.onChange(() => this.onSelection());
    this.refilter();
    this.hint();
  }

  reset(): void {
    this.earlier = this.store.frames.gone;
    this.refilter();
  }

  /** Adds the new frames. */
  update(): void {
    const { frames } = this.store;
    const end = frames.gone + frames.length;
    for (let place = Math.max(0, this.seen - frames.gone); place < frames.length; place++) {
      const frame = frames.at(place)!;
      if (!this.matches(frame)) continue;
      if (this.wantsAcks || frame.kind !== ACK) this.shown.push(frame);
      else this.hidden++;
    }
    this.seen = end;
    if (this.shown.length > 2 * frames.length + 1_000) this.refilter();
    const number = (count: number) => count.toLocaleString("en");
    setText(this.count, `${number(this.shown.length)} of ${number(end - this.earlier)}`);
    setText(this.left, this.hidden > 0 ? ` (${number(this.hidden)} hidden)` : "");
    this.space.style.height = `${this.shown.length * ROW}px`;
    if (!this.playhead.isLive) this.scrollTo(this.placeAt(this.playhead.t) - 1);
    else if (this.follows) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.paint();
  }

  private refilter(): void {
    const text = this.input.value;
    this.wantsAcks = this.acks.checked || /(^|\s)ack(\s|$)/.test(text);
    this.matches = matcher(text, this.store);
    this.shown = [];
    this.hidden = 0;
    this.seen = this.store.frames.gone;
    this.follows = true;
    this.update();
  }

  private placeAt(t: number): number {
    let low = 0;
    let high = this.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shown[middle]!.start <= t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private scrollTo(place: number): void {
    const { scrollTop, clientHeight } = this.scroller;
    const top = place * ROW;
    if (top < scrollTop || top + ROW > scrollTop + clientHeight) {
      this.scroller.scrollTop = Math.max(0, top - clientHeight / 2);
    }
  }

  private paint(): void {
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.floor(scrollTop / ROW);
    const count = Math.ceil(clientHeight / ROW) + 1;
    while (this.rows.length < count) this.rows.push(this.newRow());
    const present = this.playhead.isLive ? null : this.shown[this.placeAt(this.playhead.t) - 1];
    this.rows.forEach((row, index) => {
      const frame = index < count ? this.shown[first + index] : undefined;
      row.hidden = !frame;
      if (!frame) return;
      row.style.transform = `translateY(${(first + index) * ROW}px)`;
      row.dataset.id = String(frame.id);
      const lost = isLost(frame) && frame.to !== -1;
      const fates = fate(this.store, frame);
      const words = [
        seconds(frame.start),
        nameOf(this.store, frame.from),
        nameOf(this.store, frame.to),
        frame.protocol,
        String(frame.bytes.length / 2),
        `${lost ? "✕" : frame.fates.length === 0 ? "…" : "✓"} ${fates}`,
        `${frame.again ? "↻ frame retransmitted: " : ""}${frame.info}`,
      ];
      words.forEach((word, column) => setText(row.children[column]!, word));
      row.classList.toggle("lost", lost);
      row.classList.toggle("selected", frame.id === this.selection.frame);
      row.classList.toggle("present", frame === present);
      row.dataset.protocol = frame.kind === ACK ? "ack" : frame.protocol.toLowerCase();
    });
  }

  private newRow(): HTMLElement {
    const row = h("div", { class: "row", role: "row" });
    for (let column = 0; column < 7; column++) row.append(h("span", { role: "gridcell" }));
    row.addEventListener("click", () => this.choose(this.store.frame(Number(row.dataset.id))));
    this.space.append(row);
    return row;
  }

  private choose(frame: Frame | undefined): void {
    if (!frame) return;
    this.follows = false;
    this.playhead.goTo(frame.start + Math.round((frame.end - frame.start) * 0.6));
    this.selection.set({ frame: frame.id });
  }

  private onKey(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const now = this.shown.findIndex((frame) => frame.id === this.selection.frame);
    const from = now < 0 ? this.placeAt(this.playhead.t) - 1 : now;
    const place = Math.min(Math.max(from + by, 0), this.shown.length - 1);
    this.choose(this.shown[place]);
    this.scrollTo(place);
  }

  private onSelection(): void {
    const frame = this.selection.frame === null ? undefined : this.store.frame(this.selection.frame);
    this.paint();
    if (frame) void this.explain(frame);
    else this.hint();
  }

  private hint(): void {
    this.layers.hidden = true;
  }

  private async explain(frame: Frame): Promise<void> {
    const first = this.firstFragment(frame);
    const answer = await this.connection.ask({ layers: first ? [first.bytes, frame.bytes] : [frame.bytes] });
    if (this.selection.frame !== frame.id) return;
    this.layers.hidden = false;
    if (!answer.ok) {
      fill(this.layers, h("p", {}, answer.text));
      return;
    }
    const layers = JSON.parse(answer.text) as Layer[];
    const way = `${nameOf(this.store, frame.from)} → ${nameOf(this.store, frame.to)}`;
    const air = `${((frame.end - frame.start) / 1_000).toFixed(2)} ms on the air`;
    fill(
      this.layers,
      h("p", { class: "layers-head" }, h("b", {}, way), ` · ${seconds(frame.start)} s · ${air} · ${fate(this.store, frame)}`),
      ...layers.map((layer, index) => {
        const details = h("details", { open: index >= layers.length - 1 });
        details.append(
          h("summary", {}, h("b", {}, layer.name), ` ${layer.title}`),
          h("dl", {}, ...layer.fields.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
        );
        return details;
      }),
      h("details", {}, h("summary", {}, h("b", {}, "Bytes")), h("code", { class: "hex" }, frame.bytes.replace(/../g, "$& "))),
    );
  }

  /** Returns the first fragment of the datagram whose later fragment `frame` carries. */
  private firstFragment(frame: Frame): Frame | undefined {
    if (!frame.info.startsWith("fragment of")) return undefined;
    const { frames } = this.store;
    let place = frames.lowerBound(frame.start, (other) => other.start) - 1;
    for (let steps = 0; steps < BACK && place >= 0; steps++, place--) {
      const other = frames.at(place)!;
      if (other.from === frame.from && other.info.includes("· 1st fragment of")) return other;
    }
    return undefined;
  }
}
