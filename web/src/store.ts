// The data of a run that the page has received from the server, up to fixed limits.

import { Ring } from "./ring";
import { RADIO } from "./protocol";
import type {
  Changes, Clock, EndRow, FlowInfo, FrameRow, FromServer, Hello, Interferer, Loss, NodeInfo,
  Nodes, SegmentRow,
} from "./protocol";

/** Largest numbers of stored items. */
const FRAMES = 60_000;
const FLOWS = 300;
const SEGMENTS = 8_000;
const SAMPLES = 8_000;
const FIGURES = 1_200;

/** A transmission. */
export interface Frame {
  id: number;
  start: number;
  end: number;
  from: number;
  to: number;
  kind: number;
  again: boolean;
  protocol: string;
  info: string;
  bytes: string;
  /** Outcome at the destination; for a broadcast, at each node in range. */
  fates: [node: number, outcome: number][];
}

/** State of an end of a connection at a moment. */
export interface EndSample {
  t: number;
  state: string;
  cwnd: number;
  ssthresh: number;
  rto: number;
  rtt: number;
  acked: number;
  received: number;
  unacked: number;
  byRto: number;
  byOther: number;
}

/** A segment as its sender sends it. */
export interface Segment {
  byOpener: boolean;
  t: number;
  seq: number;
  ack: number;
  len: number;
  flags: number;
  again: boolean;
  sack: number[];
  /** Receive window of the sender in bytes. Absent in older recordings. */
  window?: number;
}

/** A TCP connection. */
export interface Flow {
  info: FlowInfo;
  segments: Ring<Segment>;
  /** Samples of the end that opened the connection, and of the other end. */
  ends: [Ring<EndSample>, Ring<EndSample>];
  /** Payload bytes that each end has sent, retransmissions included. */
  bytes: [number, number];
  again: number;
  lastAt: number;
}

/** Figures of all nodes at a moment. */
export interface Figures {
  t: number;
  nodes: Nodes;
}

const NONE: Nodes = {
  x: [], y: [], radio: [], parent: [], queue: [], asleep: [], duty: [], charge: [], sent: [],
  retries: [], collisions: [],
};

export class Store {
  hello: Hello | null = null;
  clock: Clock = { type: "clock", paused: false, speed: 1, ended: false, settable: false, restartable: false };
  nodes: NodeInfo[] = [];
  now: Nodes = NONE;
  links: [number, number][] = [];
  interferers: Interferer[] = [];
  losses: Loss[] = [];
  frames = new Ring<Frame>(FRAMES);
  flows = new Map<number, Flow>();
  figures = new Ring<Figures>(FIGURES);
  /** Time up to which the run is known. */
  t = 0;
  /** Time from which the run is known. */
  since = 0;
  skipped = 0;
  /** Changes whenever nodes, links or interferers change, and when a node is switched off or on. */
  sceneVersion = 0;
  /** Changes with each new connection. */
  flowsVersion = 0;
  onHello: () => void = () => {};
  onChanges: (changes: Changes) => void = () => {};

  private byId = new Map<number, Frame>();

  take(message: FromServer): void {
    switch (message.type) {
      case "hello":
        this.reset(message);
        break;
      case "scene":
        this.links = message.links;
        this.interferers = message.interferers;
        this.losses = message.losses;
        this.sceneVersion++;
        break;
      case "state":
        this.now = message.nodes;
        this.jumpTo(message.t);
        for (const flow of message.flows) this.flow(flow);
        for (const end of message.ends) this.end(message.t, end);
        this.sceneVersion++;
        break;
      case "changes":
        this.change(message);
        break;
      case "clock":
        this.clock = message;
        break;
      case "answer":
        break;
    }
  }

  frame(id: number): Frame | undefined {
    return this.byId.get(id);
  }

  private reset(hello: Hello): void {
    this.hello = hello;
    this.nodes = hello.nodes;
    this.now = NONE;
    this.frames.clear();
    this.byId.clear();
    this.flows.clear();
    this.figures.clear();
    this.t = 0;
    this.since = 0;
    this.skipped = 0;
    this.sceneVersion++;
    this.flowsVersion++;
    this.onHello();
  }

  /** Continues at `t`, because the frames before `t` are not available. */
  private jumpTo(t: number): void {
    if (this.frames.length === 0) this.since = t;
    this.t = t;
  }

  private change(changes: Changes): void {
    // The state may be older or newer than the frames that the server has kept for a new browser:
    // the known part of the run begins with the first frame.
    if (this.frames.length === 0) this.since = changes.frames?.[0]?.[1] ?? changes.t;
    this.t = Math.max(this.t, changes.t);
    this.skipped += changes.skipped ?? 0;
    for (const flow of changes.flows ?? []) this.flow(flow);
    for (const row of changes.frames ?? []) this.addFrame(row);
    for (const [id, node, outcome] of changes.fates ?? []) {
      this.byId.get(id)?.fates.push([node, outcome]);
    }
    for (const row of changes.segments ?? []) this.segment(row);
    for (const row of changes.ends ?? []) this.end(changes.t, row);
    for (const [node, radio] of changes.radios ?? []) {
      // The names on the map show which nodes are switched off.
      if ((radio === RADIO.off) !== (this.now.radio[node] === RADIO.off)) this.sceneVersion++;
      this.now.radio[node] = radio;
    }
    if (changes.nodes) {
      const moved = !same(changes.nodes.x, this.now.x) || !same(changes.nodes.y, this.now.y);
      const switched = changes.nodes.radio.some((radio, node) => (radio === RADIO.off) !== (this.now.radio[node] === RADIO.off));
      if (moved || switched || !same(changes.nodes.parent, this.now.parent)) this.sceneVersion++;
      this.now = changes.nodes;
      this.figures.push({ t: changes.t, nodes: changes.nodes });
    }
    this.onChanges(changes);
  }

  private addFrame(row: FrameRow): void {
    const [id, start, end, from, to, kind, again, protocol, info, bytes] = row;
    const frame: Frame = {
      id, start, end, from, to, kind, again, protocol, info, bytes, fates: [],
    };
    if (this.frames.length === FRAMES) {
      const oldest = this.frames.at(0);
      if (oldest) {
        this.byId.delete(oldest.id);
        this.since = oldest.end;
      }
    }
    this.frames.push(frame);
    this.byId.set(id, frame);
  }

  private flow(info: FlowInfo): void {
    if (this.flows.has(info.id)) return;
    this.flows.set(info.id, {
      info,
      segments: new Ring(SEGMENTS),
      ends: [new Ring(SAMPLES), new Ring(SAMPLES)],
      bytes: [0, 0],
      again: 0,
      lastAt: info.since,
    });
    while (this.flows.size > FLOWS) this.flows.delete(this.flows.keys().next().value!);
    this.flowsVersion++;
  }

  private segment(row: SegmentRow): void {
    const [id, byOpener, t, seq, ack, len, flags, again, sack, window] = row;
    const flow = this.flows.get(id);
    if (!flow) return;
    flow.segments.push({ byOpener, t, seq, ack, len, flags, again, sack, window });
    flow.bytes[byOpener ? 0 : 1] += len;
    flow.lastAt = t;
    if (again) flow.again++;
  }

  private end(t: number, row: EndRow): void {
    const [id, byOpener, state, cwnd, ssthresh, rto, rtt, acked, received, unacked] = row;
    const flow = this.flows.get(id);
    const samples = flow?.ends[byOpener ? 0 : 1];
    // A viewer that connects late gets the present state first, and then older, stored changes.
    while ((samples?.last()?.t ?? t) > t) samples?.pop();
    samples?.push({
      t, state, cwnd, ssthresh, rto, rtt, acked, received, unacked, byRto: row[10],
      byOther: row[11],
    });
  }
}

function same(a: number[], b: number[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}
