// Accessibility of the pages, and names that contain markup, in a real browser: part of `make webtest`.
//
//   node test/access.mjs PROGRAM [--short] [--book FOLDER] [OPTIONS OF chrome.mjs]
//
// axe-core must find no serious violation on the live view, the report, and the pages of `why` and
// `compare`, and on the book's start page if --book names the output of `make book`. CI uses
// `--short`: one width, the light theme, and every third name.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { check, end, isAccessible, open, options, serve, shot, start, test, until, value } from "./chrome.mjs";

const program = path.resolve(options[0]);
const short = options.includes("--short");
const book = value("--book");
const WIDTHS = short ? [390] : [390, 768, 1440];
const SCHEMES = short ? ["light"] : ["light", "dark"];
const folder = mkdtempSync(path.join(tmpdir(), "redpoll-"));

/** Runs the program to its end in the folder. */
function run(...args) {
  const done = spawnSync(program, args, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
  check(done.status === 0, `${args.join(" ").slice(0, 200)}: ${done.status} ${done.stderr.slice(0, 500)}`);
  return done.stdout;
}

const pages = await serve(folder);

/** Calls `look` with a page of each width and theme. */
async function inAllForms(url, name, look) {
  const wrong = [];
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      const page = await open(url, { viewport: { width, height: 844 }, colorScheme, reducedMotion: "reduce" });
      const form = `${name}-${width}-${colorScheme}`;
      await look(page, form).catch((error) => wrong.push(error.message));
      await shot(page, form);
      check(page.errors.length === 0, page.errors.join("; "));
      await page.context().close();
    }
  }
  check(wrong.length === 0, wrong.join("\n        "));
}

await test("axe-core finds no serious violation on the live view", async () => {
  const { url, stop } = await start(program, "run", "office", "--web", "127.0.0.1:0", "--paused");
  await inAllForms(url, "access-live", async (page, form) => {
    await until(page, "the mesh is there", () => window.redpoll?.store.nodes.length === 15 && redpoll.map.drawn > 3);
    await isAccessible(page, `${form}, at first`);
    await page.keyboard.press(" ");
    await until(page, "packets of a connection", () => redpoll.store.flows.size > 0 && redpoll.store.frames.length > 100);
    await page.keyboard.press(" ");
    await page.waitForTimeout(400);
    await isAccessible(page, `${form}, connections`);
    await page.locator("#tab-nodes").click();
    await isAccessible(page, `${form}, nodes`);
    await page.evaluate(() => redpoll.selection.set({ node: 6 }));
    await page.keyboard.press("i");
    await page.locator(".map-top").press("Enter");
    await until(page, "an interferer", () => document.querySelector(".others .chip"));
    await isAccessible(page, `${form}, a node and an interferer`);
    await page.locator("#tab-air").click();
    await isAccessible(page, `${form}, air time`);
    await page.locator(".rows").press("ArrowUp");
    await page.locator(".rows").press("ArrowUp");
    await isAccessible(page, `${form}, a packet`);
    await page.keyboard.press("?");
    await isAccessible(page, `${form}, help`);
    await page.keyboard.press("Escape");
    await page.locator(".transport button").first().click();
  });
  await stop();
});

await test("axe-core finds no serious violation on the pages of results", async () => {
  run("run", "line-3", "--duration", "20 s", "--result", "a");
  run("run", "line-3", "--duration", "20 s", "--seed", "2", "--result", "b");
  run("run", "line-3", "--duration", "20 s", "--set", "tcp.receive_buffer=462 B", "--result", "slow");
  run("report", "a", "--out", "report.html");
  run("compare", "a", "b", "--html", "compare.html");
  run("why", "slow", "--html", "why.html");
  for (const name of ["report", "compare", "why"]) {
    await inAllForms(`${pages}/${name}.html`, `access-${name}`, async (page, form) => {
      await isAccessible(page, form);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(wide <= 0, `${form}: scrolls ${wide} px sideways`);
    });
  }
});

if (book && existsSync(path.join(book, "README.html"))) {
  await test("axe-core finds no serious violation on the book's start page", async () => {
    await inAllForms(`${await serve(book)}/README.html`, "access-book", (page, form) => isAccessible(page, form));
  });
} else if (book) console.log("skipped the book's start page: make book builds it");

/** Counts the pictures of a GIF (GIF89a, sections 18 to 24): compressed data can contain any bytes. */
function picturesOf(gif) {
  const colours = (packed) => (packed & 0x80 ? 3 << ((packed & 7) + 1) : 0);
  let at = 13 + colours(gif[10]);
  const skipBlocks = () => {
    while (gif[at] !== 0) at += gif[at] + 1;
    at += 1;
  };
  let pictures = 0;
  while (gif[at] !== 0x3b) {
    if (gif[at] === 0x21) {
      at += 2;
    } else {
      check(gif[at] === 0x2c, `a block ${gif[at]} at ${at} of the GIF`);
      pictures += 1;
      at += 11 + colours(gif[at + 9]);
    }
    skipBlocks();
  }
  return pictures;
}

/** Moves the focus to an element of this selector by the Tab key alone. */
async function tabTo(page, selector) {
  for (let presses = 0; presses < 120; presses++) {
    if (await page.evaluate((selector) => document.activeElement.matches(selector), selector)) return;
    await page.keyboard.press("Tab");
  }
  check(false, `the Tab key does not reach ${selector}`);
}

await test("every action works by keyboard", async () => {
  const { url, stop } = await start(program, "run", "office", "--web", "127.0.0.1:0", "--paused");
  const page = await open(url);
  const see = (what, test) => until(page, what, test);
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await see("the mesh is there", () => window.redpoll?.store.nodes.length === 15 && redpoll.map.drawn > 3);
  await tabTo(page, ".begin");
  await press("Enter");
  await see("the run has begun", () => redpoll.store.t > 100_000 && redpoll.store.flows.size > 0);
  await press("Space");
  await see("pause", () => redpoll.store.clock.paused);

  // The Tab key reaches each control, and the focus is visible. Arrow keys select within lists of tabs.
  for (const tab of ["flows", "nodes", "air"]) {
    await page.locator(`#tab-${tab}`).click();
    if (tab === "nodes") await page.evaluate(() => redpoll.selection.set({ node: 6 }));
    await page.evaluate(() => {
      window.missed = [...document.querySelectorAll("button, select, input, summary, textarea, [tabindex='0']")].filter((it) => it.checkVisibility() && it.tabIndex >= 0 && !it.closest("dialog"));
      window.unseen = [];
      document.body.tabIndex = -1;
      document.body.focus();
      addEventListener("focusin", ({ target }) => {
        window.missed = window.missed.filter((it) => it !== target);
        if (target !== document.body && getComputedStyle(target).outlineStyle === "none") window.unseen.push(target.className || target.tagName);
      });
    });
    const most = await page.evaluate(() => window.missed.length);
    check(most > 15, `${most} controls`);
    for (let presses = 0; presses < most + 40 && (await page.evaluate(() => window.missed.length)) > 0; presses++) await press("Tab");
    const [missed, unseen] = await page.evaluate(() => [window.missed.map((it) => it.outerHTML.slice(0, 80)), window.unseen]);
    check(missed.length === 0, `${tab}: not reached: ${missed.join("; ")}`);
    check(unseen.length === 0, `${tab}: without a visible focus: ${unseen.join("; ")}`);
  }
  await press("Escape");

  // Time.
  const at = () => page.evaluate(() => redpoll.playhead.t);
  const newest = await at();
  await press(",");
  check((await at()) < newest, "a frame back");
  await press(".");
  await tabTo(page, ".timeline");
  await press("ArrowLeft");
  check((await at()) < newest, "the arrow keys of the strip of frames");
  await press("Home");
  await see("the beginning", () => redpoll.playhead.t < 10_000);
  await press("l");
  await see("the present", () => redpoll.playhead.isLive);
  await tabTo(page, ".speed");
  await press("ArrowDown");
  await see("another speed", () => redpoll.store.clock.speed === 4);

  // Map, nodes, and changes of the mesh.
  const scale = await page.evaluate(() => redpoll.map.view.scale);
  await press("Escape", "+");
  check((await page.evaluate(() => redpoll.map.view.scale)) > scale, "zoom");
  await press("0", "n");
  await see("a node", () => redpoll.selection.node === 0);
  await tabTo(page, ".map-top");
  await press("ArrowRight");
  await see("another node", () => redpoll.selection.node > 0);
  const x = await page.evaluate(() => redpoll.store.now.x[redpoll.selection.node]);
  await press("Shift+ArrowRight", "Shift+ArrowRight");
  await until(page, "the node has moved", (x) => redpoll.store.now.x[redpoll.selection.node] > x + 0.2, x);
  await press("k");
  await see("it is off", () => redpoll.store.now.radio[redpoll.selection.node] === 0);
  await press("k");
  await see("it is on", () => redpoll.store.now.radio[redpoll.selection.node] > 0);
  await press("i", "Enter");
  await see("an interferer", () => document.querySelector(".others .chip"));
  await tabTo(page, ".others .chip");
  await press("Enter");
  await see("silence", () => redpoll.store.interferers[0].busy === 0);
  const flows = await page.evaluate(() => redpoll.store.flows.size);
  await tabTo(page, "[aria-label='Receiver of the transfer'] + button");
  await press("Enter");
  await press("Escape", "Space");
  await until(page, "a transfer", (flows) => redpoll.store.flows.size > flows, flows);
  await press("Space", "n");
  await tabTo(page, "[aria-label=Neighbour] + button");
  await press("Enter");
  await see("loss", () => redpoll.store.losses.length > 0);

  await page.evaluate(() => redpoll.selection.set({ node: 11 }));
  await tabTo(page, "[aria-label=Attack]");
  await page.keyboard.type("echo");
  await tabTo(page, "[aria-label=Attack] + button");
  await press("Enter");
  await see("an attack", () => document.querySelector(".map-corner > .chip:not([hidden])")?.textContent === "echo-flood on leaf-12, from the host ✕");
  await press("Escape", "Space");
  await see("a packet of the attack", () => {
    const { frames } = redpoll.store;
    return Array.from({ length: frames.length }, (_, place) => frames.at(place)).some((frame) => /echo/i.test(frame.info));
  });
  await press("Space");
  await tabTo(page, ".map-corner > .chip");
  await press("Enter");
  await see("the end of the attack", () => document.querySelector(".map-corner > .chip").hidden);

  // The loop: a GIF with ten pictures a second.
  const shown = () => page.evaluate(() => Math.min(10, redpoll.playhead.t / 1e6) * 10);
  const download = page.waitForEvent("download", { timeout: 60_000 });
  await press("Escape");
  const before = await shown();
  await press("e");
  const loop = readFileSync(await (await download).path());
  check((await download).suggestedFilename() === "office.gif", (await download).suggestedFilename());
  check(loop.subarray(0, 6).toString() === "GIF89a" && loop.includes("NETSCAPE2.0"), "a GIF that repeats");
  // The page is live, so the shown moment changes meanwhile, and a correction can put it back.
  const moments = [before, await shown()];
  const [least, most] = [Math.min(...moments) - 1, Math.max(...moments) + 1];
  const pictures = picturesOf(loop);
  check(pictures >= least && pictures <= most && least > 2, `${pictures} pictures of ${moments.join(" to ")}`);

  // Packets, connections, themes, help.
  await press("Escape", "/");
  await page.keyboard.type("proto:tcp");
  await see("a filter", () => [...document.querySelectorAll(".rows .row:not([hidden])")].every((row) => row.dataset.protocol === "tcp"));
  await tabTo(page, ".rows");
  await press("ArrowUp", "ArrowUp");
  await see("the layers of a packet", () => redpoll.selection.frame !== null && document.querySelectorAll(".layers details").length > 2);
  await press("c");
  await tabTo(page, ".item.flow:not([aria-selected=true])");
  await press("Enter");
  await see("another connection", () => redpoll.selection.flow !== null);
  const theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await press("t");
  await until(page, "another theme", (theme) => document.documentElement.dataset.theme !== theme, theme);
  await press("?");
  await see("help", () => document.querySelector("dialog.help").open);
  await press("Escape");
  await see("no help", () => !document.querySelector("dialog.help").open);
  check(page.errors.length === 0, page.errors.join("; "));
  await stop();
});

const LONG = "n".repeat(10_000);
const HOSTILE = [
  '<img src=x onerror="window.hit=1">',
  '"><script>window.hit=1</script>',
  "' autofocus onfocus='window.hit=1' x='",
  "\u202eright to left\u2066<u>",
  "</title></style></script></pre><svg onload=window.hit=1>",
  "&lt;img src=x onerror=window.hit=1&gt;",
  `${LONG}<img src=x onerror=window.hit=1>`,
  "--><iframe srcdoc='<script>parent.hit=1</script>'></iframe><!--",
];

/** Fails if a name has become markup, or if it reverses the text around it. */
async function isHarmless(page, where) {
  const found = await page.evaluate(() => {
    const foreign = document.querySelector("img, iframe, object, embed, u, [onerror], [onload], [onfocus], script:not([type=module])");
    const scripts = [...document.scripts].filter((it) => it.textContent.includes("window.hit"));
    const text = document.body.innerText + [...document.querySelectorAll("[title], [aria-label]")].map((it) => it.title + it.ariaLabel).join();
    if (window.hit !== undefined) return "a script has run";
    if (foreign || scripts.length > 0) return `an element: ${(foreign ?? scripts[0]).outerHTML.slice(0, 120)}`;
    if (/[\u202a-\u202e\u2066-\u2069]/.test(text)) return "a mark that changes the direction of text";
    const wide = document.documentElement.scrollWidth - innerWidth;
    return wide > 0 ? `it scrolls ${wide} px sideways` : "";
  });
  check(found === "", `${where}: ${found}`);
}

await test("names that contain markup, quotes, right-to-left marks and 10 kB stay text", async () => {
  const scenario = path.join(folder, "<img src=x onerror=hit=1>\u202e.toml");
  writeFileSync(scenario, run("show", "pair"));
  run("run", scenario, "--duration", "2 s", "--result", "hostile");
  const read = (name) => readFileSync(path.join(folder, "hostile", name), "utf8");
  const [recording, result] = [read("recording.jsonl"), read("result.json")];
  for (const [index, name] of HOSTILE.entries()) {
    if (short && index % 3 !== 0) continue;
    const where = `name ${index}`;
    const spoil = (text) => text.replaceAll(/"(node-\d|bulk|sink|bulk-sender)"/g, () => JSON.stringify(name));
    writeFileSync(path.join(folder, "spoilt.jsonl"), spoil(recording).replaceAll(/"[^"]*> 5001[^"]*"/g, () => JSON.stringify(name)));
    writeFileSync(path.join(folder, "spoilt.json"), spoil(result));
    writeFileSync(path.join(folder, "other.json"), spoil(result).replace('"seed": 1', '"seed": 2'));

    const { url, stop } = await start(program, "view", path.join(folder, "spoilt.jsonl"), "--web", "127.0.0.1:0");
    const live = await open(url);
    await until(live, "frames", () => window.redpoll?.store.frames.length > 20);
    for (const tab of ["flows", "nodes", "air"]) {
      await live.locator(`#tab-${tab}`).click();
      await live.waitForTimeout(150);
      await isHarmless(live, `${where}, live view, ${tab}`);
    }
    await live.evaluate(() => redpoll.selection.set({ node: 1 }));
    await live.mouse.move(400, 300);
    await live.waitForTimeout(200);
    await isHarmless(live, `${where}, live view, a node`);
    check(await live.evaluate((name) => document.body.textContent.includes(name.slice(0, 8).replace("\u202e", "\ufffd")), name), `${where}: the name is on the page as text`);
    check(live.errors.length === 0, live.errors.join("; "));
    await stop();

    run("report", "spoilt.json", "--out", "spoilt.html");
    run("compare", "spoilt.json", "other.json", "--html", "spoilt-compare.html");
    writeFileSync(path.join(folder, `capture ${name.slice(0, 60).replaceAll("/", "∕")}.pcapng`), readFileSync(path.join(folder, "hostile", "frames.pcapng")));
    run("why", `capture ${name.slice(0, 60).replaceAll("/", "∕")}.pcapng`, "--html", "spoilt-why.html");
    for (const page of ["spoilt", "spoilt-compare", "spoilt-why"]) {
      const shown = await open(`${pages}/${page}.html`, { viewport: { width: 390, height: 844 } });
      await isHarmless(shown, `${where}, ${page}`);
      check(shown.errors.length === 0, shown.errors.join("; "));
      await shown.context().close();
    }
  }
});

await test("the widget of a notebook replays a run by keyboard, and its names stay text", async () => {
  const count = HOSTILE.length;
  const row = (value) => HOSTILE.map((_, node) => (node === 1 ? value : 0));
  const mesh = {
    title: HOSTILE[0], times: [0, 1, 2], goodput: [0, 20, 30],
    nodes: HOSTILE.map((name, node) => ({ name, role: ["border", "router", "leaf"][Math.min(node, 2)], x: 20 * node, y: 15 * (node % 3), parent: node - 1 })),
    queue: [row(0), row(3), row(0)], transmits: [row(0), row(0.4), row(0)], sent: [row(0), row(9), row(0)], retries: [row(0), row(1), row(0)], collisions: [row(0), row(2), row(0)],
  };
  const source = path.join(import.meta.dirname, "../../crates/python/python/redpoll");
  writeFileSync(path.join(folder, "replay.html"), `<!doctype html><html lang="en"><meta charset="utf-8"><title>widget</title><link rel="icon" href="data:,"><link rel="stylesheet" href="replay.css"><main></main><script type="module">
    import widget from "./replay.js";
    const state = { mesh: await (await fetch("mesh.json")).json(), at: 0 };
    const heard = [];
    const model = { get: (name) => state[name], set: (name, value) => (state[name] = value), save_changes: () => heard.forEach((it) => it()), on: (_, it) => heard.push(it), off: () => {} };
    window.state = state;
    window.end = widget.render({ model, el: document.querySelector("main") });
  </script></html>`);
  for (const name of ["replay.js", "replay.css"]) writeFileSync(path.join(folder, name), readFileSync(path.join(source, name)));
  writeFileSync(path.join(folder, "mesh.json"), JSON.stringify(mesh));
  await inAllForms(`${pages}/replay.html`, "access-widget", async (page, form) => {
    await until(page, "the map", (count) => document.querySelectorAll(".node").length === count, count);
    await isAccessible(page, form);
    await isHarmless(page, form);
    await tabTo(page, "input");
    await page.keyboard.press("ArrowRight");
    check(await page.evaluate(() => state.at === 1 && document.querySelector("output").textContent === "1.0 s · 20.0 kb/s"), "the arrow keys change the time");
    const node = await page.evaluate(() => {
      const drawn = document.querySelectorAll("g:has(> .node)")[1];
      return [drawn.querySelector(".queue").textContent, Number(drawn.querySelector(".waves").getAttribute("r")) > 20, drawn.querySelector(".lost").style.display, drawn.querySelector("title").textContent.includes("9 frames, 1 of them")].join();
    });
    check(node === "3,true,,true", `the node's figures: ${node}`);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await until(page, "the end of the replay", () => state.at === 2 && document.querySelector("button").textContent === "Play");
    await page.evaluate(() => end());
  });
});

await end();
