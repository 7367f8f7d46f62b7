// A list of limited length, which drops its oldest items.

export class Ring<T> {
  private items: T[] = [];
  private first = 0;
  /** Number of dropped items. */
  gone = 0;

  constructor(private limit: number) {}

  get length(): number {
    return this.items.length - this.first;
  }

  push(item: T): void {
    this.items.push(item);
    if (this.length > this.limit) {
      this.first++;
      this.gone++;
      // From time to time the dropped items are removed from the array.
      if (this.first > this.limit / 2) {
        this.items = this.items.slice(this.first);
        this.first = 0;
      }
    }
  }

  /** Removes the last item. */
  pop(): void {
    if (this.length > 0) this.items.pop();
  }

  at(index: number): T | undefined {
    return index < 0 ? undefined : this.items[this.first + index];
  }

  last(): T | undefined {
    return this.length > 0 ? this.items[this.items.length - 1] : undefined;
  }

  clear(): void {
    this.gone += this.length;
    this.items = [];
    this.first = 0;
  }

  /** Returns the first place whose item has a key of at least `key`. The keys ascend. */
  lowerBound(key: number, of: (item: T) => number): number {
    let low = this.first;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (of(this.items[middle]!) < key) low = middle + 1;
      else high = middle;
    }
    return low - this.first;
  }
}
