// The selected node, connection and frame.

export class Selection {
  node: number | null = null;
  flow: number | null = null;
  frame: number | null = null;
  private listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  set(change: Partial<Pick<Selection, "node" | "flow" | "frame">>): void {
    Object.assign(this, change);
    for (const listener of this.listeners) listener();
  }
}
