// A connection to the simulation, which receives messages, and sends requests and gets answers.

import type { Answer, Ask, FromServer } from "./protocol";

export abstract class Connection {
  /** Whether the connection is open. */
  isOpen = false;
  /** Text that the page shows after the connection has ended. */
  abstract readonly gone: string;
  /** Whether the page may request changes. */
  abstract readonly mayCommand: boolean;
  onMessage: (message: FromServer) => void = () => {};
  onChange: (isOpen: boolean) => void = () => {};

  private next = 1;
  private waiting = new Map<number, (answer: Answer) => void>();

  abstract open(): void;

  /** Sends a request; returns `false` without a connection. */
  protected abstract send(id: number, ask: unknown): boolean;

  /** Sends a request to the simulation, and returns its answer. */
  ask(ask: Ask): Promise<Answer> {
    return this.askAny(ask);
  }

  protected askAny(ask: unknown): Promise<Answer> {
    const id = this.next++;
    return new Promise((resolve) => {
      if (this.send(id, ask)) this.waiting.set(id, resolve);
      else resolve({ type: "answer", id, ok: false, text: "there is no connection to the program" });
    });
  }

  protected hear(text: string): void {
    const message = JSON.parse(text) as FromServer;
    if (message.type === "answer") {
      this.waiting.get(message.id)?.(message);
      this.waiting.delete(message.id);
    } else {
      this.onMessage(message);
    }
  }

  protected set(isOpen: boolean): void {
    if (!isOpen) {
      for (const [id, answer] of this.waiting) {
        answer({ type: "answer", id, ok: false, text: "the connection to the program is lost" });
      }
      this.waiting.clear();
    }
    this.isOpen = isOpen;
    this.onChange(isOpen);
  }
}
