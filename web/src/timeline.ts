// The strip below the map: the frames on the air and the lost frames over time, and the shown
// moment.

import { h } from "./dom";
import { isLost } from "./filter";
import { ACK } from "./protocol";
import type { Playhead } from "./playhead";
import type { Store } from "./store";
import type { Theme } from "./theme";
import { clock } from "./words";

/** Shown time of a mesh in real time, in microseconds. */
const SPAN_US = 120_000_000;

export class Timeline {
  readonly element: HTMLElement;
  private canvas = h("canvas", { "aria-hidden": "true" });
  private range: [number, number] = [0, 1];
  private drags = false;

  constructor(
    private store: Store,
    private playhead: Playhead,
    private theme: Theme,
    private onSeek: (t: number) => void,
  ) {
    this.element = h(
      "div",
      {
        class: "timeline",
        role: "slider",
        tabindex: 0,
        "aria-label": "Time of the run; arrow keys change it",
        title: "Sent frames over time; the orange part of a bar was lost",
      },
      this.canvas,
    );
    const to = (event: PointerEvent) => {
      const share = event.offsetX / this.element.clientWidth;
      this.onSeek(this.range[0] + share * (this.range[1] - this.range[0]));
    };
    this.element.addEventListener("pointerdown", (event) => {
      this.drags = true;
      this.element.setPointerCapture(event.pointerId);
      to(event);
    });
    this.element.addEventListener("pointermove", (event) => this.drags && to(event));
    this.element.addEventListener("pointerup", () => (this.drags = false));
    this.element.addEventListener("keydown", (event) => {
      const [from, to] = this.range;
      const by = (share: number) => this.playhead.t + share * (to - from);
      const moments: Record<string, () => number> = {
        ArrowLeft: () => by(-0.01),
        ArrowRight: () => by(0.01),
        PageUp: () => by(-0.1),
        PageDown: () => by(0.1),
        Home: () => from,
        End: () => this.store.t,
      };
      const moment = moments[event.key];
      if (!moment) return;
      event.preventDefault();
      event.stopPropagation();
      this.onSeek(moment());
    });
  }

  draw(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width === 0) return;
    const ratio = Math.min(devicePixelRatio, 2);
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const context = this.canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const duration = this.store.hello?.duration_us;
    const newest = Math.max(this.store.t, 1);
    // A mesh in real time: the known part of the run, and at least a quarter of the span.
    const first = Math.max(0, newest - SPAN_US, Math.min(this.store.since, newest - SPAN_US / 4));
    this.range = duration ? [0, Math.max(duration, newest)] : [first, Math.max(newest, SPAN_US / 4)];
    const [from, to] = this.range;
    const x = (t: number) => ((t - from) / (to - from)) * width;
    this.drawKnown(context, x, height);
    this.drawBars(context, width, height, from, to);
    this.drawTimes(context, x, height, from, to);
    const { palette } = this.theme;
    const at = x(this.playhead.t);
    context.fillStyle = palette.select;
    context.fillRect(at - 1, 0, 2, height);
    context.beginPath();
    context.moveTo(at - 6, 0);
    context.lineTo(at + 6, 0);
    context.lineTo(at, 8);
    context.fill();
    this.element.setAttribute("aria-valuenow", String(Math.round(this.playhead.t / 1_000)));
    this.element.setAttribute("aria-valuemax", String(Math.round(to / 1_000)));
    this.element.setAttribute("aria-valuetext", clock(this.playhead.t));
  }

  /** Draws the known part of the run, which can be shown at once. */
  private drawKnown(context: CanvasRenderingContext2D, x: (t: number) => number, height: number): void {
    const { since, t } = this.store;
    context.fillStyle = this.theme.palette.select;
    context.globalAlpha = 0.06;
    context.fillRect(x(since), 0, Math.max(0, x(t) - x(since)), height);
    context.globalAlpha = 1;
  }

  private drawBars(context: CanvasRenderingContext2D, width: number, height: number, from: number, to: number): void {
    const bins = Math.max(1, Math.floor(width / 4));
    const all = new Uint16Array(bins);
    const lost = new Uint16Array(bins);
    const { frames } = this.store;
    for (let place = frames.lowerBound(from, (frame) => frame.start); place < frames.length; place++) {
      const frame = frames.at(place)!;
      if (frame.kind === ACK) continue;
      const bin = Math.min(bins - 1, Math.floor(((frame.start - from) / (to - from)) * bins));
      all[bin]!++;
      if (frame.to !== -1 && isLost(frame)) lost[bin]!++;
    }
    const most = Math.max(8, ...all);
    const room = height - 18;
    const { palette } = this.theme;
    for (let bin = 0; bin < bins; bin++) {
      if (all[bin] === 0) continue;
      const tall = Math.max(1, (all[bin]! / most) * room);
      const bad = (lost[bin]! / most) * room;
      context.globalAlpha = 0.55;
      context.fillStyle = palette.data;
      context.fillRect(bin * 4, room - tall, 3, tall - bad);
      context.globalAlpha = 1;
      context.fillStyle = palette.lost;
      context.fillRect(bin * 4, room - bad, 3, bad);
    }
    context.globalAlpha = 1;
  }

  private drawTimes(context: CanvasRenderingContext2D, x: (t: number) => number, height: number, from: number, to: number): void {
    const { palette } = this.theme;
    const wanted = (to - from) / 8;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= wanted) ?? wanted;
    context.fillStyle = palette.faint;
    context.font = "10.5px system-ui, sans-serif";
    context.textBaseline = "bottom";
    context.textAlign = "left";
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      context.fillRect(x(t), height - 16, 1, 4);
      if (x(t) < x(to) - 40) context.fillText(`${+(t / 1e6).toFixed(3)} s`, x(t) + 3, height - 2);
    }
  }
}
