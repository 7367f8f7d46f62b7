// The connection to the simulator in this browser.

import { Connection } from "../connection";
import type { Answer } from "../protocol";

export interface Open {
  /** The name of a built-in scenario, or the name to give to the scenario `text`. */
  name: string;
  text?: string;
  set?: [string, string][];
  paused?: boolean;
}

export class LocalConnection extends Connection {
  readonly mayCommand = true;
  gone = "";
  private worker: Worker | null = null;

  open(): void {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    this.worker = worker;
    worker.onmessage = ({ data }: MessageEvent<string[] | string>) => {
      if (typeof data === "string") {
        this.fail(data);
        return;
      }
      for (const line of data) this.hear(line);
      worker.postMessage(1);
    };
    worker.onerror = (event) => this.fail(event.message);
    this.set(true);
  }

  /** The built-in scenarios: pairs of a name and a text. */
  async builtIn(): Promise<[string, string][]> {
    const answer = await this.askAny("built_in");
    return answer.ok ? (JSON.parse(answer.text) as [string, string][]) : [];
  }

  /** Begins a run. Starts another worker if the last one has failed. */
  begin(open: Open): Promise<Answer> {
    if (!this.isOpen) this.open();
    return this.askAny({ open });
  }

  digest(): Promise<Answer> {
    return this.askAny("digest");
  }

  report(): Promise<Answer> {
    return this.askAny("report");
  }

  protected send(id: number, ask: unknown): boolean {
    if (!this.worker) return false;
    this.worker.postMessage(JSON.stringify({ id, ask }));
    return true;
  }

  private fail(why: string): void {
    this.worker?.terminate();
    this.worker = null;
    this.gone = `The simulation has ended: ${why}`;
    this.set(false);
  }
}
