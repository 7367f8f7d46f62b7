// The WebSocket to the server: messages come in, requests go out and are answered.

import type { Answer, Ask, FromServer } from "./protocol";

const RETRY_MS = 1_000;

export class Connection {
  /** Whether there is one. */
  isOpen = false;
  onMessage: (message: FromServer) => void = () => {};
  onChange: (isOpen: boolean) => void = () => {};

  private socket: WebSocket | null = null;
  private next = 1;
  private waiting = new Map<number, (answer: Answer) => void>();
  private token: string;

  constructor() {
    // The token is behind the # of the address, which is never sent to a server by itself.
    // It is kept for a reload, and taken out of sight.
    const said = location.hash.slice(1);
    if (/^[0-9a-f]{16,}$/.test(said)) {
      sessionStorage.setItem("redpoll-token", said);
      history.replaceState(null, "", location.pathname + location.search);
    }
    this.token = sessionStorage.getItem("redpoll-token") ?? "";
  }

  /** Whether the page may ask for changes. */
  get mayCommand(): boolean {
    return this.token !== "";
  }

  open(): void {
    const socket = new WebSocket(`ws://${location.host}/live`);
    this.socket = socket;
    socket.onopen = () => this.set(true);
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data as string) as FromServer;
      if (message.type === "answer") {
        this.waiting.get(message.id)?.(message);
        this.waiting.delete(message.id);
      } else {
        this.onMessage(message);
      }
    };
    socket.onclose = () => {
      for (const [id, answer] of this.waiting) {
        answer({ type: "answer", id, ok: false, text: "the connection to the program is lost" });
      }
      this.waiting.clear();
      this.set(false);
      setTimeout(() => this.open(), RETRY_MS);
    };
  }

  /** Asks the server for something. */
  ask(ask: Ask): Promise<Answer> {
    const id = this.next++;
    return new Promise((resolve) => {
      if (this.socket?.readyState !== WebSocket.OPEN) {
        resolve({ type: "answer", id, ok: false, text: "there is no connection to the program" });
        return;
      }
      this.waiting.set(id, resolve);
      this.socket.send(JSON.stringify({ id, token: this.token, ask }));
    });
  }

  private set(isOpen: boolean): void {
    this.isOpen = isOpen;
    this.onChange(isOpen);
  }
}
