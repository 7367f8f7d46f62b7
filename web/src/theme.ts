// The light and the dark theme, and the colours of canvases. Colour-blind people can distinguish
// these colours (Okabe and Ito). Shapes, dashes or words repeat everything that a colour shows.

export interface Palette {
  ground: string;
  panel: string;
  ink: string;
  faint: string;
  line: string;
  link: string;
  tree: string;
  node: string;
  nodeInk: string;
  data: string;
  ack: string;
  control: string;
  datagram: string;
  lost: string;
  again: string;
  sleep: string;
  /** Fill of a node that is switched off. */
  off: string;
  select: string;
  series: [string, string, string, string];
}

const LIGHT: Palette = {
  ground: "#f7f8fa",
  panel: "#ffffff",
  ink: "#1c232e",
  faint: "#66707f",
  line: "#dde1e8",
  link: "rgba(90,104,128,0.13)",
  tree: "rgba(70,84,110,0.42)",
  node: "#ffffff",
  nodeInk: "#3a4658",
  data: "#0063a8",
  ack: "#8a94a3",
  control: "#8f6400",
  datagram: "#a8417f",
  lost: "#c84400",
  again: "#c47a00",
  sleep: "#9aa4b2",
  off: "#aab2be",
  select: "#0063a8",
  series: ["#0063a8", "#c44a00", "#00805e", "#a8417f"],
};

const DARK: Palette = {
  ground: "#10141a",
  panel: "#171c24",
  ink: "#e6eaf0",
  faint: "#93a0b2",
  line: "#2a323d",
  link: "rgba(150,170,200,0.11)",
  tree: "rgba(160,180,210,0.38)",
  node: "#1d242e",
  nodeInk: "#b6c2d2",
  data: "#5ab8f2",
  ack: "#7d8999",
  control: "#e3b341",
  datagram: "#e08cc0",
  lost: "#ff7a3d",
  again: "#f0a92e",
  sleep: "#5f6b7b",
  off: "#4d5765",
  select: "#5ab8f2",
  series: ["#5ab8f2", "#ff8a4d", "#2fc698", "#e08cc0"],
};

export class Theme {
  palette: Palette = LIGHT;
  isDark = false;
  private listeners: (() => void)[] = [];
  private system = matchMedia("(prefers-color-scheme: dark)");
  private chosen = localStorage.getItem("redpoll-theme");

  constructor() {
    this.system.addEventListener("change", () => this.apply());
    this.apply();
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  toggle(): void {
    this.chosen = this.isDark ? "light" : "dark";
    localStorage.setItem("redpoll-theme", this.chosen);
    this.apply();
  }

  private apply(): void {
    this.isDark = this.chosen ? this.chosen === "dark" : this.system.matches;
    this.palette = this.isDark ? DARK : LIGHT;
    document.documentElement.dataset.theme = this.isDark ? "dark" : "light";
    for (const listener of this.listeners) listener();
  }
}
