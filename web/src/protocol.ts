// Messages between server and page. `crates/web/src/message.rs` is the server's part, and describes
// the columns of the rows. Times are microseconds of the run.

export interface NodeInfo {
  name: string;
  role: "border" | "router" | "leaf" | "attacker" | string;
  sleepy: boolean;
  address: string;
  apps: string[];
}

export interface Hello {
  type: "hello";
  version: number;
  scenario: string;
  mode: "up" | "run" | "view";
  duration_us: number | null;
  prefix: string;
  host: string | null;
  ranges_m: [number, number] | null;
  is_movable: boolean;
  slots: number;
  nodes: NodeInfo[];
  outcomes: string[];
  /** Absent in older recordings. */
  messages?: string[];
  /** Name, description and side of each attack that a viewer can start. */
  attacks?: [name: string, what: string, side: "host" | "air"][];
  /** Type and receiving node of each app of the host that sends to a node. Absent in older recordings. */
  host_apps?: [app: string, to: string][];
}

export interface Interferer {
  name: string;
  x: number;
  y: number;
  range: number | null;
  busy: number;
}

export interface Loss {
  from: number;
  to: number;
  share: number;
}

export interface Scene {
  type: "scene";
  links: [number, number][];
  interferers: Interferer[];
  losses: Loss[];
}

/** Figures as columns, with a value for each node. */
export interface Nodes {
  x: number[];
  y: number[];
  radio: number[];
  parent: number[];
  queue: number[];
  asleep: number[];
  duty: number[];
  charge: number[];
  sent: number[];
  retries: number[];
  collisions: number[];
  /** Air time since the start of the run for each type of message, in µs; not by node. */
  air?: number[];
}

export interface FlowEnd {
  node: number;
  name: string;
}

export interface FlowInfo {
  id: number;
  a: FlowEnd;
  b: FlowEnd;
  since: number;
}

/** id, start, end, from, to (−1: all nodes, −2: none), kind, again (repeats the sender's previous
    frame), protocol, info, bytes. */
export type FrameRow = [
  number, number, number, number, number, number, boolean, string, string, string,
];
/** frame, node, outcome. */
export type FateRow = [number, number, number];
/** flow, whether its opener sent the segment, time, seq, ack, len, flags, again (whether it
    is a retransmission), SACK edges, receive window. */
export type SegmentRow = [
  number, boolean, number, number, number, number, number, boolean, number[], number?,
];
/** flow, whether this end opened it, state, cwnd, ssthresh, rto, rtt, bytes acked, received and
    unacked, retransmissions by rto and by other causes. */
export type EndRow = [
  number, boolean, string, number, number, number, number, number, number, number, number, number,
];

export interface State {
  type: "state";
  t: number;
  nodes: Nodes;
  flows: FlowInfo[];
  ends: EndRow[];
}

export interface Changes {
  type: "changes";
  t: number;
  wall_ms?: number;
  frames?: FrameRow[];
  fates?: FateRow[];
  segments?: SegmentRow[];
  flows?: FlowInfo[];
  ends?: EndRow[];
  radios?: [number, number][];
  nodes?: Nodes;
  skipped?: number;
}

export interface Clock {
  type: "clock";
  paused: boolean;
  speed: number | null;
  ended: boolean;
  settable: boolean;
  restartable: boolean;
}

export interface Answer {
  type: "answer";
  id: number;
  ok: boolean;
  text: string;
}

export type FromServer = Hello | Scene | State | Changes | Clock | Answer;

export interface Layer {
  name: string;
  title: string;
  fields: [string, string][];
}

export type Command =
  | { kill: { node: number } }
  | { revive: { node: number } }
  | { move: { node: number; x_m: number; y_m: number } }
  | { lose: { from: number | null; to: number | null; share: number } }
  | { interfere: { x_m: number; y_m: number; range_m: number; busy: number } }
  | { silence: { interferer: number } }
  | { transfer: { from: number; to: number; bytes: number } }
  | { attack: { node: number; name: string | null } };

export type ClockAsk = "pause" | "resume" | "step" | "restart" | { speed: number } | { seek: number };

export type Ask = { layers: string[] } | { clock: ClockAsk } | { mesh: Command };

/** Kinds of frames (`kind`). */
export const UNICAST = 0;
export const BROADCAST = 1;
export const ACK = 2;

/** States of a radio. */
export const RADIO = { off: 0, sleep: 1, idle: 2, listen: 3, receive: 4, turn: 5, send: 6 };
export const RADIO_WORDS = [
  "switched off", "asleep", "idle", "listening", "receiving", "turning around", "sending",
];

/** Control bits of a segment. */
export const FIN = 1;
export const SYN = 2;
export const RST = 4;
export const ACK_BIT = 16;
