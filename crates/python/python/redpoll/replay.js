// The widget of `Result.map()`: the mesh as SVG, with the numbers of its nodes at one time of the
// series. All names are set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 640;
const MARGIN = 46;
const HEIGHT_MAX = 480;
/** Frames per second of the replay. */
const RATE = 4;

function add(parent, tag, attributes = {}, text = "") {
  const element = parent.namespaceURI === SVG || tag === "svg" ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

/** Replaces characters that change the text direction, because they would reverse surrounding text. */
const plain = (name) => String(name).replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd").slice(0, 32);

/** Returns the position of each node in pixels, and the height of the map. */
function layOut(nodes) {
  const [xs, ys] = [nodes.map((node) => node.x), nodes.map((node) => node.y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((WIDTH - 2 * MARGIN) / Math.max(right - left, 1), (HEIGHT_MAX - 2 * MARGIN) / Math.max(high - low, 1));
  const height = (high - low) * scale + 2 * MARGIN;
  const inset = (WIDTH - (right - left) * scale) / 2;
  return { height, places: nodes.map((node) => [inset + (node.x - left) * scale, height - MARGIN - (node.y - low) * scale]) };
}

/** Draws a node; returns the parts that change. */
function drawNode(svg, node, [x, y]) {
  const group = add(svg, "g", { transform: `translate(${x} ${y})` });
  const title = add(group, "title");
  const waves = add(group, "circle", { class: "waves", r: 0 });
  const shape = { class: `node ${node.role === "border" ? "border" : node.role === "router" ? "router" : "leaf"}` };
  if (node.role === "border") add(group, "rect", { ...shape, x: -10, y: -10, width: 20, height: 20, rx: 3 });
  else add(group, "circle", { ...shape, r: node.role === "router" ? 9 : 7 });
  if (node.role === "router") add(group, "circle", { class: "dot", r: 2.5 });
  const lost = add(group, "path", { class: "lost", d: "M-6 -6L6 6M6 -6L-6 6" });
  const queue = add(group, "text", { class: "queue", x: 12, y: -8 });
  add(group, "text", { y: 24, "text-anchor": "middle" }, plain(node.name));
  return { title, waves, lost, queue };
}

function render({ model, el }) {
  const mesh = model.get("mesh");
  const last = mesh.times.length - 1;
  const root = add(el, "div", { class: "redpoll-replay", role: "group", "aria-label": `Replay of ${plain(mesh.title)}` });
  const bar = add(root, "div", { class: "bar" });
  const play = add(bar, "button", { type: "button" }, "Play");
  const slider = add(bar, "input", { type: "range", min: 0, max: last, step: 1, "aria-label": "Time of the run" });
  const time = add(bar, "output");
  const { height, places } = layOut(mesh.nodes);
  const svg = add(root, "svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img" });
  const links = add(svg, "g", { class: "links" });
  const drawn = mesh.nodes.map((node, index) => drawNode(svg, node, places[index]));
  mesh.nodes.forEach((node, index) => {
    const up = places[node.parent];
    if (up) add(links, "line", { x1: places[index][0], y1: places[index][1], x2: up[0], y2: up[1] });
  });
  add(root, "p", {}, "Ring: share of the time in which the node transmits. Cross: collisions. Number: datagrams in the node's queue. Lines: parents at the end of the run.");

  const show = () => {
    const at = Math.max(0, Math.min(last, model.get("at")));
    slider.value = at;
    slider.setAttribute("aria-valuetext", `${mesh.times[at]} s`);
    time.textContent = `${mesh.times[at].toFixed(1)} s · ${mesh.goodput[at].toFixed(1)} kb/s`;
    drawn.forEach(({ title, waves, lost, queue }, node) => {
      const [transmits, collisions, waiting] = [mesh.transmits[at][node], mesh.collisions[at][node], mesh.queue[at][node]];
      waves.setAttribute("r", transmits > 0 ? 11 + 30 * Math.sqrt(transmits) : 0);
      lost.style.display = collisions > 0 ? "" : "none";
      queue.textContent = waiting > 0 ? waiting : "";
      title.textContent = `${plain(mesh.nodes[node].name)}: ${mesh.sent[at][node]} frames, ${mesh.retries[at][node]} of them retransmitted, ${collisions} collisions, transmits ${(100 * transmits).toFixed(1)} % of the time`;
    });
    const busiest = mesh.transmits[at].indexOf(Math.max(...mesh.transmits[at]));
    svg.setAttribute("aria-label", `${mesh.nodes.length} nodes at ${mesh.times[at]} s; ${plain(mesh.nodes[busiest]?.name ?? "")} transmits most`);
  };
  const go = (at) => {
    model.set("at", at);
    model.save_changes();
    show();
  };

  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  const step = () => (model.get("at") >= last ? stop() : go(model.get("at") + 1));
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (model.get("at") >= last) go(0);
    play.textContent = "Pause";
    timer = setInterval(step, 1_000 / RATE);
  });
  slider.addEventListener("input", () => go(Number(slider.value)));
  model.on("change:at", show);
  show();
  return () => {
    stop();
    model.off("change:at", show);
  };
}

export default { render };
