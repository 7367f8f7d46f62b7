// Draws the frames on the air at the shown moment, and the nodes with the states of their radios.

import { ACK, BROADCAST, RADIO } from "../protocol";
import type { Frame } from "../store";
import type { Palette } from "../theme";
import { isLarge, radius, type Scenery } from "./base";

/** Times in which a frame crosses its link and then fades, in milliseconds of real time. */
const CROSS_MS = 150;
const FADE_MS = 320;
/** Time for which the mark of a lost frame is visible, in milliseconds of real time. */
const LOST_MS = 240;
/** Distance of a loss mark from the receiver's symbol, and half the mark's width, in pixels. */
const LOST_GAP = 8;
const LOST_ARM = 3.5;
/** Largest number of drawn frames; more would be unreadable. */
const MOST = 600;
/** Largest number of frames that are drawn one by one with all marks; more form bundles. */
const EACH = 120;
/** Number of steps in which bundles fade. */
const SHADES = 4;

export interface Moment extends Scenery {
  /** The shown moment, in microseconds of the run. */
  t: number;
  /** Virtual seconds per second. */
  pace: number;
  hovered: number | null;
}

/** Adds the outline of an attacker to the path. */
function triangle(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  context.moveTo(x, y - size * 1.2);
  context.lineTo(x + size * 1.1, y + size * 0.8);
  context.lineTo(x - size * 1.1, y + size * 0.8);
  context.closePath();
}

export function frameColor(frame: Frame, palette: Palette): string {
  return palette[shapeOf(frame)];
}

/** Type of a frame, which determines the shape of its head, the dashes of its line and its colour. */
type Shape = "data" | "datagram" | "control" | "ack";

function shapeOf(frame: Frame): Shape {
  if (frame.kind === ACK) return "ack";
  switch (frame.protocol) {
    case "TCP":
    case "6LoWPAN":
      return "data";
    case "UDP":
      return "datagram";
    default:
      return "control";
  }
}

/** Solid lines, dashes, dots. */
const DASHES: Record<Shape, number[]> = { data: [], datagram: [9, 8], control: [0.5, 7], ack: [] };

/** Draws a disc, a square or a triangle, or a small ring for a link acknowledgement. */
function drawHead(context: CanvasRenderingContext2D, shape: Shape, x: number, y: number): void {
  context.beginPath();
  switch (shape) {
    case "data":
      context.arc(x, y, 4.5, 0, 7);
      break;
    case "datagram":
      context.rect(x - 5, y - 5, 10, 10);
      break;
    case "control":
      context.moveTo(x, y - 6.5);
      context.lineTo(x + 6, y + 4.5);
      context.lineTo(x - 6, y + 4.5);
      break;
    case "ack":
      context.arc(x, y, 2.5, 0, 7);
      context.stroke();
      return;
  }
  context.fill();
}

/** Returns whether the frame has arrived at all its receivers; `null` while this is not known. */
export function arrived(frame: Frame): boolean | null {
  if (frame.fates.length === 0) return null;
  return frame.fates.every(([, outcome]) => outcome === 0);
}

const COLLISION = 1;
const UNEXPECTED = 10;

export function drawAir(context: CanvasRenderingContext2D, moment: Moment): void {
  const { view } = moment;
  context.clearRect(0, 0, view.width, view.height);
  const frames = visible(moment);
  context.lineCap = "round";
  if (frames.length <= EACH) for (const frame of frames) drawFrame(context, moment, frame);
  else drawBundles(context, moment, frames);
  drawLosses(context, moment, frames);
  drawNodes(context, moment);
}

function visible(moment: Moment): Frame[] {
  const { store, t, pace } = moment;
  const window = (CROSS_MS + FADE_MS) * 1_000 * pace + 10_000;
  const frames: Frame[] = [];
  let place = store.frames.lowerBound(t - window, (frame) => frame.start);
  for (; place < store.frames.length; place++) {
    const frame = store.frames.at(place)!;
    if (frame.start > t) break;
    frames.push(frame);
  }
  return frames.slice(-MOST);
}

/** Returns the share of its path that a frame has crossed, and its remaining visibility. */
function progress(moment: Moment, frame: Frame): [crossed: number, shown: number] {
  const age = moment.t - frame.start;
  const air = frame.end - frame.start;
  const cross = Math.max(air, CROSS_MS * 1_000 * moment.pace);
  const fade = Math.max(FADE_MS * 1_000 * moment.pace, 1);
  const crossed = Math.min(1, age / Math.max(cross, 1));
  const shown = age <= cross ? 1 : Math.max(0, 1 - (age - cross) / fade);
  return [crossed, shown];
}

function drawFrame(context: CanvasRenderingContext2D, moment: Moment, frame: Frame): void {
  const { view, palette, x, y, store } = moment;
  const [crossed, shown] = progress(moment, frame);
  if (shown <= 0) return;
  const [ax, ay] = view.toScreen(x(frame.from), y(frame.from));
  const color = frameColor(frame, palette);
  const shape = shapeOf(frame);
  context.strokeStyle = color;
  context.fillStyle = color;
  if (frame.kind === BROADCAST || frame.to < 0) {
    const metres = store.hello?.ranges_m?.[0];
    const reach = metres ? metres * view.scale : 60;
    context.globalAlpha = 0.5 * shown;
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(ax, ay, Math.max(4, reach * ease(crossed)), 0, 7);
    context.setLineDash(DASHES[shape]);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 0.05 * shown;
    context.fill();
    context.globalAlpha = 1;
    return;
  }
  const [bx, by] = view.toScreen(x(frame.to), y(frame.to));
  const head = ease(crossed);
  const tail = Math.max(0, head - 0.55) * (shown < 1 ? 1 : head);
  const [hx, hy] = [ax + (bx - ax) * head, ay + (by - ay) * head];
  const isAck = frame.kind === ACK;
  context.globalAlpha = (isAck ? 0.7 : 1) * shown;
  // The path of the frame.
  context.lineWidth = isAck ? 1 : 2;
  if (frame.again) context.setLineDash([5, 5]);
  context.globalAlpha *= 0.35;
  context.beginPath();
  context.moveTo(ax, ay);
  context.lineTo(hx, hy);
  context.stroke();
  context.setLineDash([]);
  // The trail of the moving frame.
  context.globalAlpha = (isAck ? 0.8 : 1) * shown;
  context.lineWidth = isAck ? 1.5 : 4;
  context.setLineDash(DASHES[shape]);
  context.beginPath();
  context.moveTo(ax + (bx - ax) * tail, ay + (by - ay) * tail);
  context.lineTo(hx, hy);
  context.stroke();
  context.setLineDash([]);
  if (crossed < 1) drawHead(context, shape, hx, hy);
  context.globalAlpha = 1;
}

/** Draws many frames: those of one kind and shade with one stroke. */
function drawBundles(context: CanvasRenderingContext2D, moment: Moment, frames: Frame[]): void {
  const { view, palette, x, y } = moment;
  const bundles = new Map<string, { shape: Shape; alpha: number; path: Path2D }>();
  for (const frame of frames) {
    if (frame.kind === ACK) continue;
    if (frame.to < 0) {
      drawFrame(context, moment, frame);
      continue;
    }
    const [crossed, shown] = progress(moment, frame);
    const shade = Math.ceil(shown * SHADES);
    if (shade === 0) continue;
    const shape = shapeOf(frame);
    const key = shape + shade;
    let bundle = bundles.get(key);
    if (!bundle) bundles.set(key, (bundle = { shape, alpha: shade / SHADES, path: new Path2D() }));
    const [ax, ay] = view.toScreen(x(frame.from), y(frame.from));
    const [bx, by] = view.toScreen(x(frame.to), y(frame.to));
    const head = ease(crossed);
    const tail = Math.max(0, head - 0.6);
    bundle.path.moveTo(ax + (bx - ax) * tail, ay + (by - ay) * tail);
    bundle.path.lineTo(ax + (bx - ax) * head, ay + (by - ay) * head);
  }
  context.lineWidth = 3;
  for (const { shape, alpha, path } of bundles.values()) {
    context.globalAlpha = alpha;
    context.strokeStyle = palette[shape];
    context.setLineDash(DASHES[shape]);
    context.stroke(path);
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** Marks each lost frame with a small cross on its link, close to the receiver. */
function drawLosses(context: CanvasRenderingContext2D, moment: Moment, frames: Frame[]): void {
  const { view, palette, x, y, store, t, pace } = moment;
  for (const frame of frames) {
    if (frame.kind === ACK && frame.fates[0]?.[1] === UNEXPECTED) continue;
    const arrival = Math.max(frame.end - frame.start, CROSS_MS * 1_000 * pace);
    const age = t - frame.start - arrival;
    const shown = 1 - age / Math.max(LOST_MS * 1_000 * pace, 1);
    if (age < 0 || shown <= 0) continue;
    const [ax, ay] = view.toScreen(x(frame.from), y(frame.from));
    for (const [node, outcome] of frame.fates) {
      // A broadcast is meant for no particular node, so only collisions are losses.
      if (outcome === 0 || (frame.kind === BROADCAST && outcome !== COLLISION)) continue;
      const [px, py] = view.toScreen(x(node), y(node));
      const length = Math.hypot(ax - px, ay - py) || 1;
      const share = Math.min(radius(store, view, node) + LOST_GAP, length * 0.45) / length;
      // Visible at first, and then fading.
      context.globalAlpha = Math.min(1, 2 * shown);
      drawCross(context, palette, px + (ax - px) * share, py + (ay - py) * share);
    }
  }
  context.globalAlpha = 1;
}

/** Draws the mark of a lost frame, with an edge that separates it from lines. */
function drawCross(context: CanvasRenderingContext2D, palette: Palette, x: number, y: number): void {
  context.beginPath();
  context.moveTo(x - LOST_ARM, y - LOST_ARM);
  context.lineTo(x + LOST_ARM, y + LOST_ARM);
  context.moveTo(x + LOST_ARM, y - LOST_ARM);
  context.lineTo(x - LOST_ARM, y + LOST_ARM);
  context.strokeStyle = palette.ground;
  context.lineWidth = 5;
  context.stroke();
  context.strokeStyle = palette.lost;
  context.lineWidth = 2;
  context.stroke();
}

function drawNodes(context: CanvasRenderingContext2D, moment: Moment): void {
  const { store, view, palette, x, y, selected, hovered } = moment;
  const { radio, asleep } = store.now;
  const busy = new Map<number, string>();
  const recent = store.frames.lowerBound(moment.t - 15_000, (frame) => frame.start);
  for (let place = recent; place < store.frames.length; place++) {
    const frame = store.frames.at(place)!;
    if (frame.start > moment.t) break;
    if (frame.end >= moment.t) busy.set(frame.from, frameColor(frame, palette));
  }
  const isPlain = isLarge(store);
  for (let node = 0; node < store.nodes.length; node++) {
    if (
      isPlain && !busy.has(node) && node !== selected && node !== hovered && radio[node] !== RADIO.off &&
      radio[node] !== RADIO.sleep && !((store.now.queue[node] ?? 0) > 1)
    ) continue;
    const [px, py] = view.toScreen(x(node), y(node));
    if (px < -30 || py < -30 || px > view.width + 30 || py > view.height + 30) continue;
    const info = store.nodes[node]!;
    const size = radius(store, view, node);
    const isOff = radio[node] === RADIO.off;
    const sleeps = radio[node] === RADIO.sleep || (asleep[node] ?? 0) > 0.5;
    const queue = (store.now.queue[node] ?? 0) / Math.max(1, store.hello?.slots ?? 1);
    context.beginPath();
    if (info.role === "border") context.roundRect(px - size, py - size, 2 * size, 2 * size, 3);
    else if (info.role === "attacker") triangle(context, px, py, size);
    else context.arc(px, py, size, 0, 7);
    context.fillStyle = isOff ? palette.off : palette.node;
    context.fill();
    if (queue > 0 && !isOff) {
      // The queue fills the node from below.
      context.save();
      context.clip();
      context.globalAlpha = 0.35;
      context.fillStyle = palette.again;
      const level = 2 * size * Math.min(1, queue);
      context.fillRect(px - size, py + size - level, 2 * size, level);
      context.restore();
    }
    const sending = busy.get(node);
    const outline = info.role === "attacker" ? palette.lost : palette.nodeInk;
    context.strokeStyle = isOff ? palette.nodeInk : sending ?? (sleeps ? palette.sleep : outline);
    context.lineWidth = sending ? 3 : 1.8;
    if (sleeps && !isOff) context.setLineDash([2, 3]);
    context.stroke();
    context.setLineDash([]);
    if (isOff) {
      // A diagonal bar, slightly longer than the node.
      context.lineWidth = 2.5;
      context.beginPath();
      context.moveTo(px - size * 1.1, py + size * 1.1);
      context.lineTo(px + size * 1.1, py - size * 1.1);
      context.stroke();
    } else if (sleeps && size > 5) {
      context.fillStyle = palette.sleep;
      context.font = `600 ${Math.round(size)}px system-ui, sans-serif`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText("z", px, py);
    } else if (info.role === "border" && size > 5) {
      context.fillStyle = palette.nodeInk;
      context.fillRect(px - size * 0.35, py - size * 0.35, size * 0.7, size * 0.7);
    } else if (info.role === "router" && size > 5) {
      context.fillStyle = palette.nodeInk;
      context.beginPath();
      context.arc(px, py, size * 0.28, 0, 7);
      context.fill();
    }
    if (node === selected || node === hovered) {
      context.strokeStyle = palette.select;
      context.lineWidth = node === selected ? 2.5 : 1.5;
      context.beginPath();
      context.arc(px, py, size + 5, 0, 7);
      context.stroke();
    }
  }
}

function ease(share: number): number {
  return 1 - (1 - share) ** 2;
}
