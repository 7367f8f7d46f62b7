// The worker in which the simulator runs, as WebAssembly; `crates/wasm/src/exports.rs` is the
// other side of its calls. Messages to the page are arrays of lines, each a JSON object.

/** The simulator waits for the page if the page has not read this number of arrays. */
const UNREAD = 3;

interface Program {
  memory: WebAssembly.Memory;
  begin(): void;
  input(len: number): number;
  handle(): void;
  turn(): number;
  collect(): number;
  output(): number;
}

/** Message from the page: a request as text, or the number of arrays that the page has read. */
type FromPage = string | number;

const scope = self as unknown as {
  postMessage(message: unknown): void;
  onmessage: ((event: MessageEvent<FromPage>) => void) | null;
  location: { href: string };
};
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Schedules the next turn after the waiting messages, without the delay of 4 ms of a timer. */
const channel = new MessageChannel();

let program: Program;
let fault = "";
let unread = 0;
let timer = 0;
let isScheduled = false;

function text(at: number, len: number): string {
  return decoder.decode(new Uint8Array(program.memory.buffer, at, len));
}

async function load(): Promise<void> {
  const imports = {
    worker: {
      now_ms: () => performance.now(),
      fault: (at: number, len: number) => (fault = text(at, len)),
    },
  };
  const response = await fetch(new URL("redpoll.wasm", scope.location.href));
  if (!response.ok) throw new Error(`redpoll.wasm cannot be loaded: ${response.status}`);
  const { instance } = await WebAssembly.instantiate(await response.arrayBuffer(), imports);
  program = instance.exports as unknown as Program;
  program.begin();
}

/** Sends to the page the lines that the simulator has written. */
function deliver(): void {
  const len = program.collect();
  if (len === 0) return;
  unread++;
  scope.postMessage(text(program.output(), len).split("\n"));
}

function handle(request: string): void {
  const bytes = encoder.encode(request);
  const at = program.input(bytes.length);
  new Uint8Array(program.memory.buffer, at, bytes.length).set(bytes);
  program.handle();
  deliver();
}

function turn(): void {
  isScheduled = false;
  clearTimeout(timer);
  if (unread >= UNREAD) return;
  const wait = program.turn();
  deliver();
  if (wait === 0) schedule();
  else if (wait > 0) timer = setTimeout(turn, wait) as unknown as number;
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  channel.port2.postMessage(null);
}

/** Stops the worker, and sends the page a text about the error. */
function fail(error: unknown): void {
  scope.onmessage = null;
  channel.port1.onmessage = null;
  clearTimeout(timer);
  scope.postMessage(fault || (error instanceof Error ? error.message : String(error)));
}

function careful(act: () => void): void {
  try {
    act();
  } catch (error) {
    fail(error);
  }
}

channel.port1.onmessage = () => careful(turn);
const ready = load();
ready.catch(fail);
scope.onmessage = ({ data }) => {
  void ready.then(() =>
    careful(() => {
      if (typeof data === "string") handle(data);
      else unread -= data;
      schedule();
    }),
  ).catch(() => {});
};
