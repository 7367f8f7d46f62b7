// Pause, step and speed: of the run itself if the server allows this, otherwise of the display.

import type { Connection } from "./connection";
import { fill, h, icon, ICONS, setText } from "./dom";
import type { ClockAsk } from "./protocol";
import type { Playhead } from "./playhead";
import type { Store } from "./store";
import { clock, speed } from "./words";

const SPEEDS = [0.001, 0.01, 0.1, 0.25, 1, 4, 10, 100];
const MOST = "0";

export class Transport {
  readonly element: HTMLElement;
  private play = h("button", { class: "tool big", onclick: () => this.toggle() });
  private live = h("button", { class: "live", onclick: () => this.goLive() }, h("i", {}), h("span", {}, "Live"));
  private time = h("output", { class: "time", "aria-label": "Displayed time" });
  private again: HTMLElement;
  private speeds = h("select", { class: "speed", "aria-label": "Speed", title: "Simulated seconds per second of real time" });
  private shows: string | null = null;

  constructor(
    private store: Store,
    private playhead: Playhead,
    private connection: Connection,
    private say: (text: string) => void,
  ) {
    const tool = (title: string, path: string, act: () => void) =>
      h("button", { class: "tool", title, "aria-label": title, onclick: act }, icon(path));
    this.again = tool("Run again from the beginning", ICONS.again, () => this.ask("restart"));
    this.element = h(
      "div",
      { class: "transport", role: "group", "aria-label": "Time" },
      this.again,
      tool("Previous frame (,)", ICONS.back, () => this.step(false)),
      this.play,
      tool("Next frame (.)", ICONS.forward, () => this.step(true)),
      this.time,
      this.speeds,
      this.live,
    );
    this.speeds.addEventListener("change", () => this.setSpeed(Number(this.speeds.value)));
    this.listSpeeds();
  }

  reset(): void {
    this.listSpeeds();
  }

  /** Lists the speeds. "As fast as possible" exists only if the page can set the run's speed. */
  private listSpeeds(): void {
    const options = SPEEDS.map((value) => h("option", { value }, speed(value)));
    if (this.store.clock.settable) options.push(h("option", { value: MOST }, "as fast as possible"));
    fill(this.speeds, ...options);
    this.speeds.value = "1";
    this.shows = null;
  }

  toggle(): void {
    const { playhead, store } = this;
    if (!playhead.isLive) {
      if (playhead.isPaused) playhead.isPaused = false;
      else playhead.pause();
    } else if (store.clock.settable && this.connection.mayCommand) {
      if (store.clock.ended) this.ask("restart");
      else this.ask(store.clock.paused ? "resume" : "pause");
    } else playhead.pause();
  }

  step(forward: boolean): void {
    if (forward && this.playhead.isLive && this.store.clock.settable && this.connection.mayCommand) this.ask("step");
    else this.playhead.step(forward);
  }

  goLive(): void {
    this.playhead.goLive();
    if (!this.store.clock.settable) this.speeds.value = "1";
  }

  setSpeed(value: number): void {
    this.playhead.speed = value || 100;
    if (this.store.clock.settable) this.ask({ speed: value });
    else if (value < 1 && this.playhead.isLive) {
      // The mesh continues, and the display falls behind.
      this.playhead.isLive = false;
      this.playhead.isPaused = false;
    }
  }

  draw(): void {
    const { playhead, store } = this;
    setText(this.time, clock(playhead.t));
    const stands = playhead.isLive ? store.clock.paused || store.clock.ended : playhead.isPaused;
    const what = stands ? (store.clock.ended && playhead.isLive ? "again" : "play") : "pause";
    if (this.shows !== what) {
      this.shows = what;
      const word = { play: "Resume (space)", pause: "Pause (space)", again: "Run again (space)" }[what]!;
      fill(this.play, icon(what === "again" ? ICONS.again : what === "play" ? ICONS.play : ICONS.pause));
      this.play.title = word;
      this.play.setAttribute("aria-label", word);
    }
    this.again.hidden = !store.clock.restartable;
    this.live.classList.toggle("on", playhead.isLive && !stands);
    const late = (store.t - playhead.t) / 1e6;
    const word = store.hello?.mode === "up" ? "Live" : "Newest";
    setText(this.live.lastElementChild!, playhead.isLive ? (store.clock.ended ? "Finished" : word) : `${late.toFixed(1)} s behind`);
    this.live.title = playhead.isLive ? "The display is live" : "Back to the present (L)";
    if (store.clock.settable && document.activeElement !== this.speeds) {
      const value = String(store.clock.speed ?? 0);
      if (this.speeds.value !== value) this.speeds.value = value;
    }
  }

  private ask(ask: ClockAsk): void {
    void this.connection.ask({ clock: ask }).then((answer) => {
      if (!answer.ok) this.say(answer.text);
    });
  }

  /** Shows another moment. If the page has no data of this moment, repeats the run up to it. */
  seek(t: number): void {
    const { since, t: newest, clock: now, hello } = this.store;
    const isKnown = t >= since && t <= newest;
    if (isKnown || !now.restartable || !this.connection.mayCommand) this.playhead.goTo(t);
    else if (!isKnown) this.ask({ seek: Math.round(Math.min(Math.max(t, 0), hello?.duration_us ?? t)) });
  }
}
