// The air time by type of message, as a table with bars.

import { fill, h, setText } from "../dom";
import type { Store } from "../store";
import { percent } from "../words";

export class AirShares {
  readonly element: HTMLElement;
  private body = h("tbody", {});
  private empty = h("p", { class: "muted pad" }, "No frame has been sent yet.");
  private table: HTMLElement;
  private rows: { row: HTMLElement; cells: HTMLElement[]; bar: HTMLElement }[] = [];
  private names: string[] = [];

  constructor(private store: Store) {
    const head = ["message", "last 30 s", "since the start"].map((name) => h("th", { scope: "col" }, name));
    this.table = h("table", { class: "air", "aria-label": "Air time by message type" }, h("thead", {}, h("tr", {}, ...head)), this.body);
    this.element = h("div", {}, h("h3", {}, "Air time by message type"), this.empty, this.table);
  }

  /** Shows the shares between two moments of the run, and from its start to the later moment. */
  show(from: number, to: number): void {
    const names = this.store.hello?.messages ?? [];
    if (names.join() !== this.names.join()) this.rebuild(names);
    const { figures } = this.store;
    const until = figures.at(figures.lowerBound(to + 1, (at) => at.t) - 1) ?? figures.at(0);
    const since = figures.at(figures.lowerBound(from, (at) => at.t));
    const all = until?.nodes.air ?? [];
    const before = since && until && since.t < until.t ? (since.nodes.air ?? []) : [];
    const recent = all.map((us, index) => us - (before[index] ?? 0));
    const shares = [recent, all].map((times) => {
      const total = times.reduce((sum, us) => sum + us, 0);
      return times.map((us) => (total > 0 ? us / total : 0));
    });
    this.rows.forEach(({ row, cells, bar }, index) => {
      row.hidden = !((all[index] ?? 0) > 0);
      shares.forEach((column, which) => setText(cells[which]!, percent(column[index] ?? 0)));
      bar.style.width = `${100 * (shares[0]![index] ?? 0)}%`;
    });
    const isEmpty = !all.some((us) => us > 0);
    this.empty.hidden = !isEmpty;
    this.table.hidden = isEmpty;
  }

  private rebuild(names: string[]): void {
    this.names = names;
    this.rows = names.map((name) => {
      const bar = h("i", { class: "air-bar" });
      const cells = [h("td", {}), h("td", {})];
      const row = h("tr", {}, h("th", { scope: "row" }, name, bar), ...cells);
      return { row, cells, bar };
    });
    fill(this.body, ...this.rows.map(({ row }) => row));
  }
}
