// One plot over time: uPlot with this page's colours, a title with units, and a cursor that
// all plots of a panel share.

import uPlot from "uplot";
import { h } from "../dom";
import type { Theme } from "../theme";

export interface Line {
  label: string;
  /** Index of the series' colour in the palette. */
  color: 0 | 1 | 2 | 3;
  dash?: number[];
  /** Whether a value holds until the next one. */
  steps?: boolean;
  points?: boolean;
}

export interface PlotSpec {
  title: string;
  unit: string;
  height: number;
  lines: Line[];
  /** Draws everything except the lines. */
  draw?: (plot: uPlot) => void;
  /** Legend of what `draw` draws. */
  legend?: { word: string; mark: string; color: (theme: Theme) => string }[];
  /** Smallest upper end of the axis, which begins at zero. */
  least?: number;
  /** Range of the axis if it does not follow from the lines. */
  range?: () => [number, number];
  format?: (value: number) => string;
}

export type Data = [number[], ...(number | null)[][]];

export class Plot {
  readonly element: HTMLElement;
  private body = h("div", { class: "plot-body" });
  private keys = h("div", { class: "plot-keys" });
  private plot: uPlot | null = null;
  private data: Data;
  private range: [number, number] = [0, 1];

  constructor(
    private spec: PlotSpec,
    private theme: Theme,
    private sync: string,
  ) {
    this.data = [[], ...spec.lines.map(() => [])];
    const title = h("h3", {}, spec.title, h("small", {}, spec.unit ? ` ${spec.unit}` : ""));
    this.element = h("figure", { class: "plot" }, h("figcaption", {}, title, this.keys), this.body);
    new ResizeObserver(() => this.resize()).observe(this.body);
    theme.onChange(() => this.rebuild());
  }

  /** The data of the plot: the times in seconds, then the values of each line. */
  get shown(): Data {
    return this.data;
  }

  /** Shows the data between two moments, in seconds. */
  set(data: Data, from: number, to: number): void {
    this.data = data;
    this.range = [from, Math.max(to, from + 0.001)];
    if (!this.plot) this.rebuild();
    this.listKeys();
    this.plot?.batch(() => {
      this.plot?.setData(data, false);
      this.plot?.setScale("x", { min: this.range[0], max: this.range[1] });
    });
  }

  private resize(): void {
    if (this.body.clientWidth === 0) return;
    if (!this.plot) this.rebuild();
    else this.plot.setSize({ width: this.body.clientWidth, height: this.spec.height });
  }

  /** A line without values, such as a threshold before the first loss, has no entry in the legend. */
  private listKeys(): void {
    for (const index of this.spec.lines.keys()) {
      const entry = this.keys.children[index];
      const values = this.data[index + 1] ?? [];
      if (entry instanceof HTMLElement) entry.hidden = values.every((value) => value === null);
    }
  }

  private rebuild(): void {
    this.plot?.destroy();
    this.plot = null;
    if (this.body.clientWidth === 0) return;
    const { palette } = this.theme;
    this.keys.replaceChildren(
      ...this.spec.lines.map((line) =>
        key(line.points ? "●" : sample(line), line.label, palette.series[line.color]),
      ),
      ...(this.spec.legend ?? []).map(({ word, mark, color }) => key(mark, word, color(this.theme))),
    );
    const axis: uPlot.Axis = {
      stroke: palette.faint,
      grid: { stroke: palette.line, width: 1 },
      ticks: { show: false },
      font: "10.5px system-ui, sans-serif",
    };
    const least = this.spec.least ?? 1;
    this.plot = new uPlot(
      {
        width: this.body.clientWidth,
        height: this.spec.height,
        legend: { show: false },
        padding: [6, 10, 0, 0],
        cursor: {
          sync: { key: this.sync },
          drag: { x: false, y: false, setScale: false },
          points: { show: false },
        },
        scales: {
          x: { time: false, range: () => this.range },
          y: { range: (_plot, _min, max) => this.spec.range?.() ?? [0, Math.max(least, (max ?? 0) * 1.08)] },
        },
        axes: [
          { ...axis, size: 24, values: (_plot, ticks) => ticks.map((tick) => `${+tick.toFixed(3)} s`) },
          {
            ...axis,
            size: 52,
            values: (_plot, ticks) => ticks.map((tick) => (this.spec.format ?? short)(tick)),
          },
        ],
        series: [
          {},
          ...this.spec.lines.map((line): uPlot.Series => ({
            stroke: palette.series[line.color],
            width: line.points ? 0 : 1.6,
            dash: line.dash,
            spanGaps: true,
            points: { show: line.points ?? false, size: 4, fill: palette.series[line.color] },
            paths: line.steps && uPlot.paths.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
          })),
        ],
        hooks: { draw: this.spec.draw ? [this.spec.draw] : [] },
      },
      this.data as uPlot.AlignedData,
      this.body,
    );
  }
}

/** A piece of the line. Fonts lack some characters for dashed lines. */
function sample(line: Line): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 18 4");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("line-sample");
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  shape.setAttribute("d", "M0 2h18");
  if (line.dash) shape.setAttribute("stroke-dasharray", line.dash.join(" "));
  svg.append(shape);
  return svg;
}

function key(mark: string | SVGSVGElement, word: string, color: string): HTMLElement {
  return h("span", { class: "key" }, h("i", { style: `color:${color}` }, mark), word);
}

export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toFixed(2)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toFixed(1)}k`;
  return `${+value.toFixed(2)}`;
}
