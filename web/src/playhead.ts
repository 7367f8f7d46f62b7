// Which moment of the run the page shows: the present, or an earlier one that is still known.

import type { Store } from "./store";

/** The present is shown so late, in milliseconds on the wall, so that it moves evenly: as long as
    the server gathers what has happened, and a picture. */
const DELAY_MS = 25;
/** What the page may be behind before it jumps, in the same. */
const JUMP_MS = 400;
/** How soon it makes up for what it is behind, and for what it is ahead, in the same. */
const CATCH_UP_MS = 40;
const WAIT_MS = 200;
/** For so long it is remembered when the server said what. */
const HEARD_MS = 500;

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
    while (this.heard.length > 2 && now - this.heard[0]!.at > HEARD_MS) this.heard.shift();
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

  /** Where the run is: it goes on from what was said most lately of all that was heard. What is
      heard late was on its way for longer, or waited here. */
  private present(now: number): number {
    let t = -Infinity;
    for (const heard of this.heard) t = Math.max(t, heard.t + (now - heard.at) * 1_000 * this.rate);
    return t;
  }

  /** For another picture. */
  advance(): void {
    const now = performance.now();
    const passed = now - this.at;
    this.at = now;
    const newest = this.store.t;
    if (this.isLive) {
      if (this.heard.length === 0) {
        this.t = newest;
        return;
      }
      // Even steps, held near to where the run is.
      const goal = this.present(now) - DELAY_MS * 1_000 * this.rate;
      const next = this.t + passed * 1_000 * this.rate;
      const off = goal - next;
      const isFar = Math.abs(off) > JUMP_MS * 1_000 * Math.max(this.rate, 1e-6);
      // By time and not by pictures: where those are few, it is not longer behind.
      const share = 1 - Math.exp(-passed / (off > 0 ? CATCH_UP_MS : WAIT_MS));
      this.t = Math.min(newest, isFar ? goal : next + off * share);
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
