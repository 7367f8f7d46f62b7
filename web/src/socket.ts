// The connection to the program's server, by a WebSocket.

import { Connection } from "./connection";

const RETRY_MS = 1_000;

export class SocketConnection extends Connection {
  readonly gone = "The program does not answer: it has ended or cannot be reached. The page shows the last known state.";
  private socket: WebSocket | null = null;
  private token: string;

  constructor() {
    super();
    // Browsers do not send the part of the address after #, which contains the token. The page
    // stores the token for a reload, and removes it from the address.
    const said = location.hash.slice(1);
    if (/^[0-9a-f]{16,}$/.test(said)) {
      sessionStorage.setItem("redpoll-token", said);
      history.replaceState(null, "", location.pathname + location.search);
    }
    this.token = sessionStorage.getItem("redpoll-token") ?? "";
  }

  get mayCommand(): boolean {
    return this.token !== "";
  }

  open(): void {
    const socket = new WebSocket(`ws://${location.host}/live`);
    this.socket = socket;
    socket.onopen = () => this.set(true);
    socket.onmessage = (event) => this.hear(event.data as string);
    socket.onclose = () => {
      this.set(false);
      setTimeout(() => this.open(), RETRY_MS);
    };
  }

  protected send(id: number, ask: unknown): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify({ id, token: this.token, ask }));
    return true;
  }
}
