// The filter of the packet list: a packet must match all words. `node:leaf-12`, `from:`, `to:`,
// `proto:tcp`, `lost`, `retransmitted` and `ack` are criteria; other words must occur in the row. A minus
// before a word inverts it.

import { ACK } from "./protocol";
import type { Frame, Store } from "./store";

export type Matcher = (frame: Frame) => boolean;

export function nameOf(store: Store, node: number): string {
  if (node === -1) return "all";
  if (node === -2) return "none";
  return store.nodes[node]?.name ?? String(node);
}

/** Returns the outcome of a frame as text. */
export function fate(store: Store, frame: Frame): string {
  if (frame.fates.length === 0) return "on the air";
  const outcomes = store.hello?.outcomes ?? [];
  const lost = frame.fates.find(([, outcome]) => outcome !== 0);
  if (frame.to === -1) {
    const got = frame.fates.filter(([, outcome]) => outcome === 0).length;
    return `received by ${got} of ${frame.fates.length} nodes`;
  }
  return lost ? outcomes[lost[1]] ?? "lost" : "delivered";
}

export function isLost(frame: Frame): boolean {
  return frame.fates.some(([, outcome]) => outcome !== 0);
}

export function matcher(text: string, store: Store): Matcher {
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const isNot = word.startsWith("-") && word.length > 1;
    const test = term(isNot ? word.slice(1) : word, store);
    return isNot ? (frame: Frame) => !test(frame) : test;
  });
  return (frame) => tests.every((test) => test(frame));
}

function term(word: string, store: Store): Matcher {
  const [key, value] = word.includes(":") ? (word.split(/:(.*)/s) as [string, string]) : ["", word];
  const from = (frame: Frame) => nameOf(store, frame.from).toLowerCase();
  const to = (frame: Frame) => nameOf(store, frame.to).toLowerCase();
  switch (key) {
    case "from":
      return (frame) => from(frame) === value;
    case "to":
      return (frame) => to(frame) === value;
    case "node":
      return (frame) => from(frame) === value || to(frame) === value;
    case "proto":
      return (frame) => frame.protocol.toLowerCase() === value;
  }
  switch (word) {
    case "lost":
      return isLost;
    case "retransmitted":
      return (frame) => frame.again;
    case "ack":
      return (frame) => frame.kind === ACK;
  }
  return (frame) =>
    `${from(frame)} ${to(frame)} ${frame.protocol} ${frame.info} ${fate(store, frame)}`
      .toLowerCase()
      .includes(word);
}
