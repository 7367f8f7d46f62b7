// The moment of the run that the page shows: the present, or an earlier moment that is stored.

import type { Store } from "./store";

/** Delay of the present on the page, in milliseconds of real time, for an even motion: the time for
    which the server collects changes, and one picture. */
const DELAY_MS = 25;
/** Lag at which the page jumps to the present, in milliseconds of real time. */
const JUMP_MS = 400;
/** Time constants with which the page corrects a lag and a lead, in milliseconds of real time. */
const CATCH_UP_MS = 40;
const WAIT_MS = 200;
/** Time for which the arrival times of the server's messages are kept, in milliseconds. */
const HEARD_MS = 500;

/** Virtual seconds per second at which marks fade while the shown moment stands still. */
const STILL = 0.02;

export class Playhead {
  /** The shown moment, in microseconds of the run. */
  t = 0;
  /** Whether the shown moment follows the present. */
  isLive = true;
  /** Whether the shown moment stands still. */
  isPaused = false;
  /** Virtual seconds per second while the shown moment is not the present. */
  speed = 1;

  private at = performance.now();
  /** Observed virtual seconds per second of the run. */
  private rate = 1;
  private heard: { t: number; at: number }[] = [];

  constructor(private store: Store) {}

  /** Records that the run has reached `t`. */
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

  /** Virtual seconds per second at which the shown moment advances. */
  get pace(): number {
    const stands = this.isLive ? this.store.clock.paused || this.store.clock.ended : this.isPaused;
    // While the shown moment stands still, only the frames on the air remain visible.
    if (stands) return STILL;
    return this.isLive ? this.rate : this.speed;
  }

  /** Returns the present of the run, extrapolated from the message that gives the latest time. The
      other messages took longer, or waited in the browser. */
  private present(now: number): number {
    let t = -Infinity;
    for (const heard of this.heard) t = Math.max(t, heard.t + (now - heard.at) * 1_000 * this.rate);
    return t;
  }

  /** Advances the shown moment for the next picture. */
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
      // Moves in even steps, and stays near the present of the run.
      const goal = this.present(now) - DELAY_MS * 1_000 * this.rate;
      const next = this.t + passed * 1_000 * this.rate;
      const off = goal - next;
      const isFar = Math.abs(off) > JUMP_MS * 1_000 * Math.max(this.rate, 1e-6);
      // The correction depends on time, so few pictures per second do not increase the lag.
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

  /** Shows another moment; a paused page stays paused. */
  goTo(t: number): void {
    if (t >= this.store.t - 1) {
      this.goLive();
      return;
    }
    if (this.isLive) this.isPaused = true;
    this.isLive = false;
    this.t = Math.max(t, this.store.since);
  }

  /** Shows the beginning of the next or of the previous frame. */
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
