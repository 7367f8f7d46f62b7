// Creation of elements, without a framework.

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/** Marks that change the direction of text. In a name, they would reverse the text around it. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Returns a text with visible replacements of the marks that change its direction. */
export function plain(text: string): string {
  return text.replace(DIRECTIONS, "\ufffd");
}

/** Creates an element with attributes, listeners (`onclick`), a class and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "class") element.className = value as string;
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, plain(String(value)));
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: Child[]): void {
  for (const child of children) if (child) element.append(typeof child === "string" ? plain(child) : child);
}

/** Replaces the children of an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** Sets the text of an element if it differs. */
export function setText(element: Element, text: string): void {
  const shown = plain(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** Creates an icon from an SVG path on a grid of 16 by 16. */
export function icon(path: string): SVGSVGElement {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  const shape = document.createElementNS(ns, "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
}

export const ICONS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  back: "M13 2.5v11l-8-5.5zM3 2.5h2v11H3z",
  forward: "M3 2.5v11l8-5.5zM11 2.5h2v11h-2z",
  fit: "M2 2h5v2H4v3H2zM9 2h5v5h-2V4H9zM2 9h2v3h3v2H2zM12 9h2v5H9v-2h3z",
  plus: "M7 2h2v5h5v2H9v5H7V9H2V7h5z",
  minus: "M2 7h12v2H2z",
  sun: "M8 4.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM7.3 0h1.4v3H7.3zM7.3 13h1.4v3H7.3zM0 7.3h3v1.4H0zM13 7.3h3v1.4h-3zM2.1 3l1-1 2.1 2.2-1 1zM10.8 11.8l1-1L14 13l-1 1zM3 14l-1-1 2.2-2.2 1 1zM11.8 5.2l-1-1L13 2l1 1z",
  moon: "M6.5 1.2a7 7 0 1 0 8.3 8.3A5.6 5.6 0 0 1 6.5 1.2z",
  help: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm-.9 9.6h1.8v1.8H7.1zM8 3.6c1.7 0 2.9 1 2.9 2.5 0 1.2-.7 1.8-1.3 2.3-.5.4-.8.6-.8 1.2H7.2c0-1.2.7-1.8 1.2-2.2.5-.4.8-.7.8-1.3 0-.6-.5-1-1.2-1-.8 0-1.3.5-1.3 1.3H5c0-1.7 1.2-2.8 3-2.8z",
  loop: "M2 3h12v10H2zM3.5 4.5v2h2v-2zM3.5 9.5v2h2v-2zM10.5 4.5v2h2v-2zM10.5 9.5v2h2v-2zM6.5 4.5v7l4-3.5z",
  again: "M8 2a6 6 0 1 1-5.7 4.1l1.9.6A4 4 0 1 0 8 4v3L3.5 3.5 8 0z",
};
