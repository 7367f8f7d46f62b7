// Which moment of the run the page shows: the present, or an earlier one that is still known.

import type { Store } from "./store";

/** The present is shown so late, in milliseconds on the wall, so that it moves evenly. */
const DELAY_MS = 25;
/** What the page may be behind before it jumps, in the same. */
const JUMP_MS = 400;

/** How fast marks fade where time stands still. */
const STILL = 0.02;

export class Playhead {
  /** The moment that is shown, in microseconds of the run. */
  t = 0;
  /** It is the present. */
  isLive = true;
  /** It stands still. */
  isPaused = false;
  /** Virtual seconds in a second, while it is not the present. */
  speed = 1;

  private at = performance.now();
  /** How fast the run itself goes, as observed. */
  private rate = 1;
  private heard: { t: number; at: number }[] = [];

  constructor(private store: Store) {}

  /** The run has got to `t`. */
  hear(t: number): void {
    const now = performance.now();
    this.heard.push({ t, at: now });
    while (this.heard.length > 2 && now - this.heard[0]!.at > 500) this.heard.shift();
    const first = this.heard[0]!;
    const span = now - first.at;
    if (span > 60) this.rate = Math.max(0, (t - first.t) / 1_000 / span);
  }

  reset(): void {
    this.heard = [];
    this.t = this.store.t;
    this.isLive = true;
    this.isPaused = false;
  }

  /** Virtual seconds in a second at which what is shown goes on. */
  get pace(): number {
    const stands = this.isLive ? this.store.clock.paused || this.store.clock.ended : this.isPaused;
    // What stands still shows what is on the air then, and hardly what was before.
    if (stands) return STILL;
    return this.isLive ? this.rate : this.speed;
  }

  /** For another picture. */
  advance(): void {
    const now = performance.now();
    const passed = now - this.at;
    this.at = now;
    const newest = this.store.t;
    if (this.isLive) {
      const last = this.heard[this.heard.length - 1];
      if (!last) {
        this.t = newest;
        return;
      }
      // Even steps, held near to what the server has said last.
      const goal = last.t + (now - last.at - DELAY_MS) * 1_000 * this.rate;
      const next = this.t + passed * 1_000 * this.rate;
      const off = goal - next;
      const isFar = Math.abs(off) > JUMP_MS * 1_000 * Math.max(this.rate, 1e-6);
      this.t = Math.min(newest, isFar ? goal : next + off * 0.1);
      if (this.rate === 0) this.t = newest;
    } else if (!this.isPaused) {
      this.t += passed * 1_000 * this.speed;
      if (this.t >= newest) this.goLive();
    }
    this.t = Math.max(this.t, Math.min(this.store.since, newest));
  }

  goLive(): void {
    this.isLive = true;
    this.isPaused = false;
  }

  pause(): void {
    this.isLive = false;
    this.isPaused = true;
  }

  /** Shows another moment, and stands still there if it stood still. */
  goTo(t: number): void {
    if (t >= this.store.t - 1) {
      this.goLive();
      return;
    }
    if (this.isLive) this.isPaused = true;
    this.isLive = false;
    this.t = Math.max(t, this.store.since);
  }

  /** To the begin of the next frame, or of the one before. */
  step(forward: boolean): void {
    const frames = this.store.frames;
    this.isLive = false;
    this.isPaused = true;
    const key = forward ? this.t + 1 : this.t;
    const place = frames.lowerBound(key, (frame) => frame.start);
    const frame = frames.at(forward ? place : place - 1);
    if (frame) this.t = frame.start;
  }
}
