// Draws the parts of the map that seldom change: links, the tree of parents, interferers, names.

import { RADIO } from "../protocol";
import type { Palette } from "../theme";
import type { Store } from "../store";
import type { View } from "./view";

export interface Scenery {
  store: Store;
  view: View;
  palette: Palette;
  x: (node: number) => number;
  y: (node: number) => number;
  selected: number | null;
  /** The path from the selected node to the root. */
  path: number[];
}

/** Returns the radius of a node on the map, in pixels. */
export function radius(store: Store, view: View, node: number): number {
  const role = store.nodes[node]?.role;
  const least = store.nodes.length <= 60 ? 7 : 2.5;
  const size = Math.min(Math.max(view.scale * 0.62, least), 11);
  return role === "leaf" ? size * 0.82 : role === "border" ? size * 1.15 : size;
}

/** Returns whether the mesh is so large that only nodes with activity are redrawn each time. */
export function isLarge(store: Store): boolean {
  return store.nodes.length > 300;
}

/** Draws all nodes with two strokes. */
function drawPlainNodes(context: CanvasRenderingContext2D, scenery: Scenery): void {
  const { store, view, palette, x, y } = scenery;
  context.beginPath();
  store.nodes.forEach((_, node) => {
    const [px, py] = view.toScreen(x(node), y(node));
    const size = radius(store, view, node);
    context.moveTo(px + size, py);
    context.arc(px, py, size, 0, 7);
  });
  context.fillStyle = palette.node;
  context.fill();
  context.strokeStyle = palette.nodeInk;
  context.lineWidth = 1.3;
  context.stroke();
}

export function drawBase(context: CanvasRenderingContext2D, scenery: Scenery): void {
  const { store, view, palette } = scenery;
  context.clearRect(0, 0, view.width, view.height);
  drawRange(context, scenery);
  drawInterferers(context, scenery);
  drawLinks(context, scenery);
  drawTree(context, scenery);
  if (isLarge(store)) drawPlainNodes(context, scenery);
  if (view.scale > 5 || store.nodes.length <= 60) drawNames(context, scenery);
  drawScale(context, view, palette);
}

function drawLinks(context: CanvasRenderingContext2D, scenery: Scenery): void {
  const { store, view, palette, x, y } = scenery;
  // With more links, the lines would merge into a grey area.
  const links = store.links.length > 30_000 ? [] : store.links;
  context.strokeStyle = palette.link;
  context.lineWidth = 1;
  context.beginPath();
  for (const [a, b] of links) {
    const [ax, ay] = view.toScreen(x(a), y(a));
    const [bx, by] = view.toScreen(x(b), y(b));
    context.moveTo(ax, ay);
    context.lineTo(bx, by);
  }
  context.stroke();
  context.setLineDash([3, 4]);
  context.lineWidth = 2;
  context.strokeStyle = palette.lost;
  context.globalAlpha = 0.6;
  for (const loss of store.losses) {
    const pairs: [number, number][] =
      loss.from >= 0 && loss.to >= 0
        ? [[loss.from, loss.to]]
        : links.filter((pair) => pair.includes(Math.max(loss.from, loss.to)));
    context.beginPath();
    for (const [a, b] of loss.from < 0 && loss.to < 0 ? [] : pairs) {
      context.moveTo(...view.toScreen(x(a), y(a)));
      context.lineTo(...view.toScreen(x(b), y(b)));
    }
    context.stroke();
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
}

function drawTree(context: CanvasRenderingContext2D, scenery: Scenery): void {
  const { store, view, palette, x, y, path } = scenery;
  const onPath = new Set(path);
  const { parent } = store.now;
  for (const bold of [false, true]) {
    context.strokeStyle = bold ? palette.select : palette.tree;
    context.fillStyle = context.strokeStyle;
    context.lineWidth = bold ? 2.5 : view.scale < 2.5 ? 0.9 : 1.4;
    context.beginPath();
    for (let node = 0; node < parent.length; node++) {
      const up = parent[node]!;
      if (up < 0 || up === node || (onPath.has(node) && onPath.has(up)) !== bold) continue;
      const [ax, ay] = view.toScreen(x(node), y(node));
      const [bx, by] = view.toScreen(x(up), y(up));
      context.moveTo(ax, ay);
      context.lineTo(bx, by);
    }
    context.stroke();
    if (view.scale < 2.5) continue;
    // An arrow towards the parent, in the middle.
    context.beginPath();
    for (let node = 0; node < parent.length; node++) {
      const up = parent[node]!;
      if (up < 0 || up === node || (onPath.has(node) && onPath.has(up)) !== bold) continue;
      const [ax, ay] = view.toScreen(x(node), y(node));
      const [bx, by] = view.toScreen(x(up), y(up));
      const angle = Math.atan2(by - ay, bx - ax);
      const [mx, my] = [ax + (bx - ax) * 0.5, ay + (by - ay) * 0.5];
      const size = bold ? 6 : 4.5;
      context.moveTo(mx + Math.cos(angle) * size, my + Math.sin(angle) * size);
      context.lineTo(mx + Math.cos(angle + 2.5) * size, my + Math.sin(angle + 2.5) * size);
      context.lineTo(mx + Math.cos(angle - 2.5) * size, my + Math.sin(angle - 2.5) * size);
      context.closePath();
    }
    context.fill();
  }
}

function drawNames(context: CanvasRenderingContext2D, scenery: Scenery): void {
  const { store, view, palette, x, y, selected } = scenery;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.lineJoin = "round";
  context.strokeStyle = palette.ground;
  context.lineWidth = 3;
  store.nodes.forEach((node, index) => {
    const [px, py] = view.toScreen(x(index), y(index));
    if (px < -50 || py < -50 || px > view.width + 50 || py > view.height + 50) return;
    context.font = `${index === selected ? 600 : 400} 11px system-ui, sans-serif`;
    const below = py + radius(store, view, index) + 5;
    const name = store.now.radio[index] === RADIO.off ? `${node.name}: off` : node.name;
    context.strokeText(name, px, below);
    context.fillStyle = index === selected ? palette.select : palette.faint;
    context.fillText(name, px, below);
  });
}

function drawRange(context: CanvasRenderingContext2D, scenery: Scenery): void {
  const { store, view, palette, x, y, selected } = scenery;
  const ranges = store.hello?.ranges_m;
  if (selected === null || !ranges) return;
  const [px, py] = view.toScreen(x(selected), y(selected));
  context.fillStyle = palette.select;
  context.strokeStyle = palette.select;
  context.globalAlpha = 0.06;
  context.beginPath();
  context.arc(px, py, ranges[0] * view.scale, 0, 7);
  context.fill();
  context.globalAlpha = 0.45;
  context.lineWidth = 1;
  context.stroke();
  context.setLineDash([2, 5]);
  context.beginPath();
  context.arc(px, py, ranges[1] * view.scale, 0, 7);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

function drawInterferers(context: CanvasRenderingContext2D, scenery: Scenery): void {
  const { store, view, palette } = scenery;
  for (const other of store.interferers) {
    if (other.busy === 0) continue;
    const [px, py] = view.toScreen(other.x, other.y);
    context.fillStyle = palette.lost;
    context.strokeStyle = palette.lost;
    if (other.range !== null) {
      context.globalAlpha = 0.07;
      context.beginPath();
      context.arc(px, py, other.range * view.scale, 0, 7);
      context.fill();
      context.globalAlpha = 0.4;
      context.lineWidth = 1;
      context.stroke();
    }
    context.globalAlpha = other.busy > 0 ? 1 : 0.4;
    context.lineWidth = 2;
    // The symbol of an interferer: a flash of lightning.
    context.beginPath();
    context.moveTo(px + 3, py - 9);
    context.lineTo(px - 4, py + 1);
    context.lineTo(px + 1, py + 1);
    context.lineTo(px - 3, py + 9);
    context.stroke();
    context.globalAlpha = 1;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "top";
    context.fillText(other.name, px, py + 12);
  }
}

function drawScale(context: CanvasRenderingContext2D, view: View, palette: Palette): void {
  const wanted = 90 / view.scale;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const metres = [1, 2, 5, 10].map((step) => step * power).filter((step) => step <= wanted).pop();
  if (!metres) return;
  const [left, bottom] = [16, view.height - 16];
  context.strokeStyle = palette.faint;
  context.fillStyle = palette.faint;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(left, bottom - 5);
  context.lineTo(left, bottom);
  context.lineTo(left + metres * view.scale, bottom);
  context.lineTo(left + metres * view.scale, bottom - 5);
  context.stroke();
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "bottom";
  context.fillText(`${metres} m`, left + 5, bottom - 2);
}
