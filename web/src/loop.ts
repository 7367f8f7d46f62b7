// Writes the last seconds of the map as a GIF that repeats, for a chat or a document. The pictures are
// drawn again from the stored frames, so a loop shows the same frames at any speed of the page. The
// lengths of queues are those of the server's last message before a picture.

import { applyPalette, GIFEncoder, quantize } from "gifenc";
import { h } from "./dom";
import { drawAir } from "./map/air";
import { drawBase } from "./map/base";
import type { MeshMap } from "./map/map";
import { View } from "./map/view";
import type { Store } from "./store";
import type { Theme } from "./theme";
import { clock } from "./words";

/** Simulated time of a loop, in microseconds. */
export const SPAN_US = 10_000_000;
/** Pictures per second. */
const RATE = 10;
/** Largest size of a picture, in pixels. */
const WIDTH_MAX = 800;
const HEIGHT_MAX = 600;
/** Height of the line with scenario and time. */
const CAPTION = 26;
/** Colours of the file; one more marks the pixels that do not change. */
const COLOURS = 255;
const SAME = COLOURS;

/** Draws the run of `store` at any stored moment. */
class Painter {
  readonly canvas: HTMLCanvasElement;
  private context: CanvasRenderingContext2D;
  private air: HTMLCanvasElement;
  private view = new View();

  constructor(
    private map: MeshMap,
    private store: Store,
    private theme: Theme,
  ) {
    const shrink = Math.min(1, WIDTH_MAX / map.view.width, (HEIGHT_MAX - CAPTION) / map.view.height);
    const [width, height] = [Math.round(map.view.width * shrink), Math.round(map.view.height * shrink)];
    Object.assign(this.view, { width, height, x: map.view.x, y: map.view.y, scale: map.view.scale * shrink });
    this.canvas = h("canvas", { width, height: height + CAPTION });
    this.context = this.canvas.getContext("2d", { willReadFrequently: true })!;
    this.air = h("canvas", { width, height });
  }

  /** Returns the picture at `t` as RGBA. */
  picture(t: number): Uint8ClampedArray {
    const { context, air, view } = this;
    const { palette } = this.theme;
    const { width, height } = this.canvas;
    const scenery = { ...this.map.scenery(), view, store: this.at(t) };
    drawBase(context, scenery);
    context.globalCompositeOperation = "destination-over";
    context.fillStyle = palette.ground;
    context.fillRect(0, 0, width, height);
    context.globalCompositeOperation = "source-over";
    drawAir(air.getContext("2d")!, { ...scenery, t, pace: 1, hovered: null });
    context.drawImage(air, 0, 0);
    context.fillStyle = palette.panel;
    context.fillRect(0, height - CAPTION, width, CAPTION);
    context.fillStyle = palette.faint;
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillText(`redpoll · ${this.store.hello!.scenario.slice(0, 60)}`, 12, height - CAPTION / 2);
    context.textAlign = "right";
    context.fillText(clock(t).slice(0, -2), width - 12, height - CAPTION / 2);
    return context.getImageData(0, 0, width, height).data;
  }

  /** The store with the states of the nodes at `t`. */
  private at(t: number): Store {
    const { figures, now } = this.store;
    const known = figures.at(figures.lowerBound(t, (it) => it.t)) ?? figures.last();
    return Object.create(this.store, { now: { value: known?.nodes ?? now } }) as Store;
  }
}

/** Returns a GIF of the seconds before `to`. Calls `progress` with the share that is done, and lets the
    page react between two pictures. */
export async function loop(map: MeshMap, store: Store, theme: Theme, to: number, progress: (share: number) => void): Promise<Blob> {
  const from = Math.max(store.since, to - SPAN_US);
  const count = Math.max(1, Math.round(((to - from) / 1e6) * RATE));
  const painter = new Painter(map, store, theme);
  const { width, height } = painter.canvas;
  const moment = (index: number) => from + ((index + 1) / count) * (to - from);
  // Busy pictures have the colours of all types of frames.
  const samples = [0.1, 0.35, 0.6, 0.85].map((share) => painter.picture(from + share * (to - from)));
  const together = new Uint8Array(samples.length * width * height * 4);
  samples.forEach((sample, index) => together.set(sample, index * sample.length));
  const palette = quantize(together, COLOURS, { format: "rgb565" });
  while (palette.length <= SAME) palette.push([0, 0, 0]);
  const colours = palette.slice(0, COLOURS);
  const gif = GIFEncoder();
  let before: Uint8Array | null = null;
  for (let index = 0; index < count; index++) {
    const pixels = applyPalette(painter.picture(moment(index)), colours, "rgb565");
    const changes = before === null ? pixels : pixels.map((colour, place) => (colour === before![place] ? SAME : colour));
    gif.writeFrame(changes, width, height, {
      palette: index === 0 ? palette : undefined,
      delay: 1_000 / RATE,
      repeat: 0,
      dispose: 1,
      transparent: index > 0,
      transparentIndex: SAME,
    });
    before = pixels;
    progress((index + 1) / count);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  gif.finish();
  return new Blob([gif.bytesView()], { type: "image/gif" });
}

/** Offers a file for saving. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
