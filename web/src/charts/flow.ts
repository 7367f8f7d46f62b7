// The plots of one TCP connection, in the direction with more data.

import type uPlot from "uplot";
import { h, setText } from "../dom";
import type { EndSample, Flow, Segment } from "../store";
import type { Theme } from "../theme";
import { bytes } from "../words";
import { type Data, Plot } from "./plot";

/** Time over which the goodput is averaged, in microseconds. */
const GOODPUT_US = 2_000_000;

export class FlowCharts {
  readonly element: HTMLElement;
  private facts = h("p", { class: "facts" });
  private flow: Flow | null = null;
  /** Range of the visible sequence numbers. */
  private sequences: [number, number] = [0, 1];
  private sequence: Plot;
  private window: Plot;
  private rtt: Plot;
  readonly goodput: Plot;

  constructor(private theme: Theme) {
    this.sequence = new Plot(
      {
        title: "Sequence numbers",
        unit: "bytes",
        height: 210,
        lines: [{ label: "acknowledged", color: 2, steps: true }],
        draw: (plot) => this.drawSegments(plot),
        range: () => this.sequences,
        legend: [
          { word: "segment", mark: "┃", color: (theme) => theme.palette.series[0] },
          { word: "retransmitted by TCP", mark: "◆", color: (theme) => theme.palette.series[1] },
          { word: "SACK", mark: "▐", color: (theme) => theme.palette.series[3] },
        ],
      },
      theme,
      "flow",
    );
    this.window = new Plot(
      {
        title: "Windows",
        unit: "bytes",
        height: 120,
        lines: [
          { label: "cwnd", color: 0, steps: true },
          { label: "ssthresh", color: 1, steps: true, dash: [5, 4] },
          { label: "in flight", color: 2, steps: true, dash: [1.5, 2.5] },
          { label: "receiver's window", color: 3, steps: true, dash: [8, 3] },
        ],
      },
      theme,
      "flow",
    );
    this.rtt = new Plot(
      {
        title: "Round-trip time and timeout",
        unit: "ms",
        height: 120,
        lines: [
          { label: "RTT", color: 0, points: true },
          { label: "RTO", color: 1, steps: true },
        ],
      },
      theme,
      "flow",
    );
    this.goodput = new Plot(
      {
        title: "Goodput",
        unit: "kb/s, over 2 s",
        height: 110,
        lines: [{ label: "acknowledged", color: 2 }],
      },
      theme,
      "flow",
    );
    this.element = h(
      "div",
      { class: "charts" },
      this.facts,
      this.sequence.element,
      this.window.element,
      this.rtt.element,
      this.goodput.element,
    );
  }

  /** Shows `flow` between two moments of the run, in microseconds. */
  show(flow: Flow, from: number, to: number): void {
    this.flow = flow;
    const byOpener = flow.bytes[0] >= flow.bytes[1];
    const sender = byOpener ? 0 : 1;
    const samples = between(flow.ends[sender], from, to);
    const acks = this.acks(byOpener, from, to);
    this.sequences = this.inSight(byOpener, acks, from, to);
    this.sequence.set([acks.map(([t]) => t), acks.map(([, ack]) => ack)], from / 1e6, to / 1e6);
    this.window.set(this.windows(samples, byOpener, from, to), from / 1e6, to / 1e6);
    this.rtt.set(roundTrips(samples, to), from / 1e6, to / 1e6);
    // The mean at the left edge needs the acknowledgements of the 2 s left of it.
    const earlier = this.acks(byOpener, from - GOODPUT_US, to);
    this.goodput.set(rates(earlier, from, to), from / 1e6, to / 1e6);
    const state = flow.ends[sender].last()?.state ?? flow.ends[1 - sender]?.last()?.state;
    const [a, b] = byOpener ? [flow.info.a, flow.info.b] : [flow.info.b, flow.info.a];
    setText(
      this.facts,
      [
        `${a.name} → ${b.name}`,
        `${bytes(flow.bytes[sender] ?? 0)} sent`,
        `${flow.again} ${flow.again === 1 ? "segment" : "segments"} retransmitted by TCP`,
        state ? words(state) : "",
        samples.length === 0 ? "the sender's window is not known" : "",
      ]
        .filter(Boolean)
        .join(" · "),
    );
  }

  /** Returns the range from the first visible acknowledgement to the last sent byte. */
  private inSight(byOpener: boolean, acks: [number, number][], from: number, to: number): [number, number] {
    const { segments } = this.flow!;
    let low = acks[0]?.[1] ?? Infinity;
    let high = acks[acks.length - 1]?.[1] ?? 0;
    for (let place = segments.lowerBound(from, (segment) => segment.t); place < segments.length; place++) {
      const segment = segments.at(place)!;
      if (segment.t > to) break;
      if (segment.byOpener !== byOpener) continue;
      low = Math.min(low, segment.seq);
      high = Math.max(high, segment.seq + segment.len);
    }
    if (low >= high) return [0, Math.max(high, 1_000)];
    const room = (high - low) * 0.06;
    return [Math.max(0, low - room), high + room];
  }

  /** Returns the acknowledged bytes over time, with points at both edges of the plot. */
  private acks(byOpener: boolean, from: number, to: number): [number, number][] {
    const acks: [number, number][] = [];
    let highest = 0;
    const { segments } = this.flow!;
    for (let place = 0; place < segments.length; place++) {
      const segment = segments.at(place)!;
      if (segment.t > to) break;
      if (segment.byOpener === byOpener) continue;
      highest = Math.max(highest, segment.ack);
      if (segment.t >= from) acks.push([segment.t / 1e6, highest]);
      else acks[0] = [from / 1e6, highest];
    }
    if (acks.length > 0) acks.push([to / 1e6, highest]);
    return acks;
  }

  /** Returns the sender's windows, and the bytes in flight after each segment. */
  private windows(samples: EndSample[], byOpener: boolean, from: number, to: number): Data {
    const { segments } = this.flow!;
    const [times, cwnd, ssthresh, flight, receiver]: [number[], ...(number | null)[][]] = [[], [], [], [], []];
    let sent = -1;
    let acked = -1;
    let window: number | null = null;
    let place = Math.max(0, segments.lowerBound(from, (segment) => segment.t) - 200);
    const hear = (until: number) => {
      for (; place < segments.length && segments.at(place)!.t <= until; place++) {
        const segment = segments.at(place)!;
        if (segment.byOpener === byOpener) sent = Math.max(sent, segment.seq + segment.len);
        else {
          acked = Math.max(acked, segment.ack);
          window = segment.window ?? null;
        }
      }
    };
    let said = 0;
    const put = (t: number) => {
      hear(t);
      while (said < samples.length && samples[said]!.t <= t) said++;
      const sample = samples[said - 1];
      times.push(t / 1e6);
      cwnd.push(sample?.cwnd ?? null);
      ssthresh.push(sample?.ssthresh || null);
      receiver.push(window);
      flight.push(sent < 0 || acked < 0 ? 0 : Math.max(0, sent - acked));
    };
    hear(from - 1);
    for (let t = from; t < to; ) {
      put(t);
      t = Math.min(segments.at(place)?.t ?? to, samples[said]?.t ?? to);
    }
    put(to);
    return [times, cwnd, ssthresh, flight, receiver];
  }

  private drawSegments(plot: uPlot): void {
    const flow = this.flow;
    if (!flow) return;
    const byOpener = flow.bytes[0] >= flow.bytes[1];
    const { ctx, bbox } = plot;
    const { series } = this.theme.palette;
    const ratio = devicePixelRatio;
    const from = (plot.scales.x?.min ?? 0) * 1e6;
    const to = (plot.scales.x?.max ?? 0) * 1e6;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    let place = flow.segments.lowerBound(from, (segment) => segment.t);
    for (; place < flow.segments.length; place++) {
      const segment = flow.segments.at(place)!;
      if (segment.t > to) break;
      const x = plot.valToPos(segment.t / 1e6, "x", true);
      if (segment.byOpener === byOpener) this.drawSegment(plot, segment, x, ratio);
      else {
        // Bytes that have arrived after a gap (RFC 2018).
        ctx.strokeStyle = series[3];
        ctx.lineWidth = 3 * ratio;
        ctx.globalAlpha = 0.8;
        for (let edge = 0; edge + 1 < segment.sack.length; edge += 2) {
          ctx.beginPath();
          ctx.moveTo(x, plot.valToPos(segment.sack[edge]!, "y", true));
          ctx.lineTo(x, plot.valToPos(segment.sack[edge + 1]!, "y", true));
          ctx.stroke();
        }
        ctx.globalAlpha = 1;
      }
    }
    ctx.restore();
  }

  private drawSegment(plot: uPlot, segment: Segment, x: number, ratio: number): void {
    if (segment.len === 0) return;
    const { ctx } = plot;
    const { series } = this.theme.palette;
    const low = plot.valToPos(segment.seq, "y", true);
    const high = plot.valToPos(segment.seq + segment.len, "y", true);
    ctx.strokeStyle = segment.again ? series[1] : series[0];
    ctx.lineWidth = 2 * ratio;
    ctx.beginPath();
    ctx.moveTo(x, low);
    ctx.lineTo(x, Math.min(high, low - 2 * ratio));
    ctx.stroke();
    if (!segment.again) return;
    // Draws a diamond, because a cross marks lost frames on the map.
    const [middle, arm] = [(low + high) / 2, 4.5 * ratio];
    ctx.fillStyle = series[1];
    ctx.beginPath();
    ctx.moveTo(x - arm, middle);
    ctx.lineTo(x, middle - arm);
    ctx.lineTo(x + arm, middle);
    ctx.lineTo(x, middle + arm);
    ctx.fill();
  }
}

function between(ring: { length: number; at(index: number): EndSample | undefined }, from: number, to: number): EndSample[] {
  const samples: EndSample[] = [];
  for (let place = 0; place < ring.length; place++) {
    const sample = ring.at(place)!;
    if (sample.t > to) break;
    // The last sample before `from` is valid at the beginning.
    if (sample.t < from) samples[0] = { ...sample, t: from };
    else samples.push(sample);
  }
  return samples;
}

function roundTrips(samples: EndSample[], to: number): Data {
  const times = samples.map((sample) => sample.t / 1e6);
  let last = -1;
  const rtt: (number | null)[] = samples.map((sample) => {
    const isNew = sample.rtt > 0 && sample.rtt !== last;
    last = sample.rtt;
    return isNew ? sample.rtt : null;
  });
  const rto: (number | null)[] = samples.map((sample) => sample.rto);
  if (samples.length > 0) {
    times.push(to / 1e6);
    rtt.push(null);
    rto.push(rto[rto.length - 1] ?? null);
  }
  return [times, rtt, rto];
}

/** Computes the goodput from the acknowledged bytes, in kb/s. */
function rates(acks: [number, number][], from: number, to: number): Data {
  const times: number[] = [];
  const rate: number[] = [];
  const step = Math.max((to - from) / 120, 100_000);
  let high = 0;
  let low = 0;
  const first = acks[0]?.[0] ?? 0;
  for (let t = from + step; t <= to; t += step) {
    while (high + 1 < acks.length && acks[high + 1]![0] * 1e6 <= t) high++;
    while (low + 1 < acks.length && acks[low + 1]![0] * 1e6 <= t - GOODPUT_US) low++;
    const isBefore = acks.length === 0 || t < first * 1e6;
    const base = (acks[low]?.[0] ?? 0) * 1e6 <= t - GOODPUT_US || low > 0 ? acks[low]?.[1] ?? 0 : acks[0]?.[1] ?? 0;
    times.push(t / 1e6);
    rate.push(isBefore ? 0 : ((acks[high]![1] - base) * 8) / (GOODPUT_US / 1e6) / 1e3);
  }
  return [times, rate];
}

/** Returns the name of a state as in RFC 9293. */
function words(state: string): string {
  return state.replace(/([a-z])(?=[A-Z0-9])/g, "$1-").toUpperCase();
}
