// The simulator in a real browser: `make wasm-test`.
//
//   node test/browser.mjs FOLDER [--program FILE] [--digests FILE] [OPTIONS OF chrome.mjs]
//
// FOLDER is the output of `make wasm`. With --program, the page must report the same
// errors for wrong scenarios as the program FILE. The file of digests has a line "NAME DIGEST" for
// each scenario, from `cargo run --example digests`.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { check, end, isAccessible, judge as judgeOn, open as openPage, options, serve, shot, test, until, value } from "./chrome.mjs";

const folder = options[0];
const [program, digests] = [value("--program") && path.resolve(value("--program")), value("--digests")];

const origin = await serve(folder);
const open = (query = "", settings = {}) => openPage(`${origin}/${query}`, settings);
const judge = (is, what) => judgeOn(is, what, 1.2);

const isThere = (page, count) => until(page, "the mesh is there", (count) => window.redpoll?.store.nodes.length === count, count);
const ask = (page, ask) => page.evaluate((ask) => simulator.askAny(ask), ask);

await test("a run is watched, a router is killed, and the run begins again", async () => {
  const page = await open();
  await isThere(page, 15);
  check((await page.evaluate(() => redpoll.store.t)) === 0, "the run stands still at its beginning");
  await page.keyboard.press("Space");
  await until(page, "frames and a connection", () => redpoll.store.frames.length > 200 && redpoll.store.flows.size > 0);
  await page.evaluate(() => redpoll.selection.set({ node: 6 }));
  await page.keyboard.press("k");
  await until(page, "node-7 is off", () => redpoll.store.now.radio[6] === 0);
  await page.keyboard.press("k");
  await until(page, "node-7 is switched on again", () => redpoll.store.now.radio[6] > 0);
  await shot(page, "wasm-office");
  await page.keyboard.press("Space");
  await until(page, "the run stands still", () => redpoll.store.clock.paused);
  await page.getByRole("button", { name: /again from the beginning/ }).click();
  await until(page, "the beginning", () => redpoll.store.t < 1_000_000);
  check(page.errors.length === 0, page.errors.join("; "));
});

await test("the required scenarios run, and a moment ahead is reached", async () => {
  for (const [name, count] of [["line-3", 4], ["sleepy-3", 4], ["thread-like", 13]]) {
    const page = await open(`?scenario=${name}&play`);
    await until(page, `frames of ${name}`, () => window.redpoll?.store.frames.length > 20);
    check((await page.evaluate(() => redpoll.store.hello.scenario)) === name, name);
    check((await ask(page, { clock: { seek: 20_000_000 } })).ok, "seek");
    await until(page, "20 s", () => redpoll.store.t >= 20_000_000);
    check(page.errors.length === 0, page.errors.join("; "));
  }
});

await test("the goodput at the left edge of its plot is a mean over 2 s too", async () => {
  const page = await open("?scenario=office&play");
  await isThere(page, 15);
  await ask(page, { clock: { speed: 10 } });
  await until(page, "a plot that begins after the start", () => redpoll.store.t >= 45_000_000 && redpoll.goodput.shown[0][0] > 5);
  const [times, rates] = await page.evaluate(() => redpoll.goodput.shown);
  const middle = [...rates].sort((a, b) => a - b)[rates.length >> 1];
  check(rates[0] > middle / 2, `${rates[0]} kb/s at ${times[0]} s, median ${middle} kb/s`);
});

await test("the tutorial's router is killed: RPL finds another path, and TCP goes on", async () => {
  const page = await open("?scenario=office&set=routing=rpl&set=duration=300+s&node=node-4&embed", { viewport: { width: 750, height: 540 } });
  await isThere(page, 15);
  check(!(await page.locator(".side").isVisible()) && !(await page.locator(".packets").isVisible()), "only the map");
  await page.locator(".begin").click();
  await ask(page, { clock: { speed: 10 } });
  // The indices 11, 6 and 3 are leaf-12, node-7 and node-4.
  await until(page, "the path over node-4", () => redpoll.store.now.parent[11] === 6 && redpoll.store.now.parent[6] === 3 && [...redpoll.store.flows.values()][0]?.bytes[0] > 5_000);
  await page.locator(".switch").click();
  await until(page, "node-4 is off", () => redpoll.store.now.radio[3] === 0);
  const before = await page.evaluate(() => [...redpoll.store.flows.values()][0].bytes[0]);
  await until(page, "another path", () => redpoll.store.now.parent[6] === 4);
  await until(page, "data", (before) => [...redpoll.store.flows.values()][0].bytes[0] > before + 20_000, before);
  await shot(page, "wasm-embedded");
  const wide = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]);
  check(wide[0] <= 750 && wide[1] <= 540, `no scrolling: ${wide}`);
  check(page.errors.length === 0, page.errors.join("; "));
});

await test("attacks of the drill reach a node, and end", async () => {
  const page = await open("?scenario=office&play");
  await isThere(page, 15);
  const names = await page.evaluate(() => redpoll.store.hello.attacks.map(([name]) => name));
  check(names.length >= 10 && names.includes("echo-flood"), `attacks: ${names}`);
  check((await ask(page, { clock: { seek: 5_000_000 } })).ok, "seek");
  await until(page, "a running transfer", () => redpoll.store.t >= 5_000_000);
  const leaf = await page.evaluate(() => redpoll.store.nodes.findIndex((node) => node.name === "leaf-15"));
  const echoes = () => page.evaluate(() => Array.from({ length: redpoll.store.frames.length }, (_, place) => redpoll.store.frames.at(place)).filter((frame) => /echo/i.test(frame.info)).length);
  check((await echoes()) === 0, "no echo before");
  check((await ask(page, { mesh: { attack: { node: leaf, name: "plague" } } })).text.includes("no attack called"), "an unknown attack is refused");
  const said = await ask(page, { mesh: { attack: { node: leaf, name: "echo-flood" } } });
  check(said.ok && said.text === "leaf-15 is under attack: echo-flood", said.text);
  await ask(page, { clock: { speed: 4 } });
  await until(page, "five seconds of the attack", () => redpoll.store.t >= 10_000_000);
  const during = await echoes();
  check(during >= 20, `${during} frames of the attack`);
  check((await ask(page, { mesh: { attack: { node: leaf, name: null } } })).ok, "it ends");
  await until(page, "a second later", () => redpoll.store.t >= 12_000_000);
  const after = await echoes();
  await until(page, "five seconds later", () => redpoll.store.t >= 17_000_000);
  check((await echoes()) === after, "no packet of the attack arrives any more");
  check(page.errors.length === 0, page.errors.join("; "));
});

await test("an address leads to a moment of a run", async () => {
  const page = await open("?scenario=line-3&t=12.5");
  await until(page, "the moment", () => window.redpoll?.store.t === 12_500_000);
  check(await page.evaluate(() => redpoll.store.clock.paused), "the run stands still there");
  check(page.errors.length === 0, page.errors.join("; "));
});

/** Runs a text in the dialog as a visitor does. Returns the message, which is empty if it runs. */
async function paste(page, text) {
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("textbox", { name: "Scenario as TOML" }).fill(text);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await until(page, "an answer", () => !document.querySelector("dialog.paste").open || !document.querySelector("dialog.paste .error").hidden);
  const said = await page.evaluate(() => (document.querySelector("dialog.paste").open ? document.querySelector("dialog.paste .error").textContent : ""));
  if (said) await page.getByRole("button", { name: "Cancel" }).click();
  return said;
}

const MEDIUM = `[medium]
model = "unit-disk"
transmission_range = "30 m"
interference_range = "30 m"
carrier_sense_range = "50 m"
`;
const grid = (columns, rows) => `duration = "600 s"
[topology]
kind = "grid"
columns = ${columns}
rows = ${rows}
spacing = "20 m"
${MEDIUM}[nodes.node-1]
role = "border"
`;

await test("a pasted scenario runs; wrong ones have the messages of the program", async () => {
  const page = await open();
  await isThere(page, 15);
  const wrong = [
    ["duration = \"4 s\"\n[topology]\nkind = \"grid\"\ncolums = 3\n", /^scenario\.toml:4: topology\.colums: /],
    ["duration = \"4 s\n", /^scenario\.toml:1: invalid/],
    ["duration = 4\n", /^scenario\.toml:1: duration: /],
    [grid(2, 2).replace("border", "boarder"), /^scenario\.toml:\d+: nodes\.node-1\.role: /],
    [`${grid(2, 2)}line = "127.0.0.1:9"\n`, /nodes\.node-1/],
  ];
  const folder = mkdtempSync(path.join(tmpdir(), "redpoll-"));
  for (const [text, expected] of wrong) {
    const said = await paste(page, text);
    check(expected.test(said), `${JSON.stringify(said)} for ${JSON.stringify(text)}`);
    if (!program || text.includes("line =")) continue;
    writeFileSync(path.join(folder, "scenario.toml"), text);
    const native = spawnSync(program, ["run", "scenario.toml"], { cwd: folder, encoding: "utf8" });
    check(native.status === 2 && native.stderr.includes(said), `the program says ${native.stderr}, the page ${said}`);
  }
  check((await page.evaluate(() => redpoll.store.nodes.length)) === 15, "the run before is still there");
  const large = await paste(page, grid(501, 2));
  check(/1002 nodes; a browser simulates at most 1000 nodes/.test(large), large);
  check((await paste(page, grid(3, 3))) === "", "it runs");
  await isThere(page, 9);
  check(page.errors.length === 0, page.errors.join("; "));
});

await test("axe-core finds no serious violation on the page, its dialog and its embedded form", async () => {
  for (const [width, colorScheme] of [[390, "light"], [768, "dark"], [1440, "light"], [1440, "dark"]]) {
    const form = `${width}-${colorScheme}`;
    const settings = { viewport: { width, height: 844 }, colorScheme };
    const page = await open("", settings);
    await isThere(page, 15);
    await isAccessible(page, form);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("textbox", { name: "Scenario as TOML" }).fill("duration = 4");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await until(page, "a refusal", () => !document.querySelector("dialog.paste .error").hidden);
    await isAccessible(page, `${form}, dialog`);
    const embedded = await open("?embed&node=node-4", settings);
    await isThere(embedded, 15);
    await isAccessible(embedded, `${form}, embedded`);
    for (const it of [page, embedded]) await it.context().close();
  }
});

await test("hostile names cannot inject markup, and the page loads nothing else", async () => {
  const HOSTILE = ['<img src=x onerror="window.hit=1">', "<script>window.hit=1</script>", "<svg/onload=window.hit=1>", "'\"><b>", "\u202e<iframe srcdoc='<script>parent.hit=1</script>'>", `${"n".repeat(10_000)}<img src=x onerror=window.hit=1>`];
  const page = await open(`?scenario=${encodeURIComponent(HOSTILE[0])}`);
  await until(page, "a refusal as text", () => document.querySelector(".toast.error")?.textContent.includes("<img"));
  const inject = () => window.hit !== undefined || document.querySelector("img, iframe, svg[onload], #app script, b > b") !== null;
  for (const name of HOSTILE) {
    const quoted = JSON.stringify(name);
    const places = [
      `name = ${quoted}\n${grid(2, 2)}`,
      `${grid(2, 2)}[nodes.${quoted}]\nrole = "leaf"\n`,
      `${grid(2, 2)}[apps.${quoted}]\ntype = "sink"\n`,
      `${quoted} = 1\n${grid(2, 2)}`,
      grid(2, 2).replace("unit-disk", name.replaceAll('"', '\\"')),
    ];
    for (const text of places) {
      const said = await paste(page, text);
      check(said.length > 0, `refused: ${text}`);
      check(!(await page.evaluate(inject)), `injected by ${text}`);
    }
  }
  // Simulates a hostile simulator: all texts of its messages contain markup.
  const mesh = await open();
  await isThere(mesh, 15);
  const hit = await mesh.evaluate((hostile) => {
    const { store } = redpoll;
    const hello = JSON.parse(JSON.stringify(store.hello));
    hello.scenario = hostile;
    for (const node of hello.nodes) Object.assign(node, { name: hostile, address: hostile, apps: [hostile], role: hostile });
    store.take({ ...hello, type: "hello" });
    store.take({ type: "scene", links: [[0, 1]], losses: [], interferers: [{ name: hostile, x: 0, y: 0, range: 5, busy: 0.5 }] });
    const zeros = hello.nodes.map((_, index) => index);
    store.take({
      type: "changes", t: 2_000, nodes: { x: zeros, y: zeros, radio: zeros, parent: zeros.map(() => -1), queue: zeros, asleep: zeros, duty: zeros, charge: zeros, sent: zeros, retries: zeros, collisions: zeros },
      frames: [[1, 1_000, 1_500, 0, 1, 0, false, hostile, hostile, "00"]],
      flows: [{ id: 1, a: { node: 0, name: hostile }, b: { node: 1, name: hostile }, since: 0 }],
      segments: [[1, true, 1_000, 0, 0, 10, 16, false, []]], ends: [[1, true, hostile, 1, 1, 1, 1, 1, 1, 1, 0, 0]],
    });
    redpoll.selection.set({ node: 0 });
  }, HOSTILE[0]);
  check(hit === undefined, "taken");
  for (const tab of ["nodes", "flows", "air"]) {
    await mesh.locator(`#tab-${tab}`).click();
    await mesh.waitForTimeout(400);
    check(!(await mesh.evaluate(inject)), `injected in ${tab}`);
  }
  check(await mesh.evaluate(() => document.body.textContent.includes("<img src=x")), "the name is there as text");
  check(mesh.errors.length === 0, mesh.errors.join("; "));

  // The content security policy refuses scripts in the page and data from elsewhere.
  const refused = await mesh.evaluate(async (elsewhere) => {
    const script = document.createElement("script");
    script.textContent = "window.hit = 2";
    document.body.append(script);
    const image = document.createElement("div");
    image.innerHTML = '<img src=x onerror="window.hit = 3">';
    document.body.append(image);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const fetched = await fetch(elsewhere).then(() => true, () => false);
    let evaluated = true;
    try {
      (0, eval)("1");
    } catch {
      evaluated = false;
    }
    return [window.hit === undefined, !fetched, !evaluated];
  }, origin.replace("127.0.0.1", "localhost"));
  check(refused.every(Boolean), `not refused: ${refused}`);
});

await test("the figures: size, start, speed, pictures", async () => {
  let bytes = 0;
  for (const file of readdirSync(folder)) bytes += gzipSync(readFileSync(path.join(folder, file)), { level: 9 }).length;
  console.log(`        ${(bytes / 1e6).toFixed(2)} MB compressed, all files`);
  check(bytes <= 3e6, `${bytes} bytes`);
  const begun = Date.now();
  const page = await open();
  await isThere(page, 15);
  const ready = Date.now() - begun;
  console.log(`        ready after ${ready} ms`);
  judge(ready <= 2_000, `ready after ${ready} ms`);
  check((await ask(page, { clock: { speed: 0 } })).ok, "speed");
  const rate = await page.evaluate(async () => {
    await simulator.askAny({ clock: "resume" });
    const [at, begun] = [redpoll.store.t, performance.now()];
    while (performance.now() - begun < 3_000 && !redpoll.store.clock.ended) await new Promise((resolve) => setTimeout(resolve, 20));
    return (redpoll.store.t - at) / 1_000 / (performance.now() - begun);
  });
  console.log(`        office: ${rate.toFixed(0)} simulated seconds in a second, with the page that shows them`);
  const pure = await page.evaluate(async () => {
    await simulator.askAny({ open: { name: "office", paused: true } });
    const begun = performance.now();
    await simulator.askAny({ clock: { seek: 60_000_000 } });
    while (redpoll.store.t < 60_000_000) await new Promise((resolve) => setTimeout(resolve, 5));
    return 60_000 / (performance.now() - begun);
  });
  console.log(`        office: ${pure.toFixed(0)} simulated seconds in a second, without pictures`);
  judge(rate >= 50, `${rate.toFixed(1)} simulated seconds in a second`);

  const hundred = await open();
  await isThere(hundred, 15);
  const traffic = `[apps.readings]
type = "sensor"
on = "every other node"
to = "node-1:5000"
transport = "udp"
reading = "50 B"
interval = "10 s"
`;
  const said = await paste(hundred, grid(10, 10) + traffic);
  check(said === "", said);
  await isThere(hundred, 100);
  await ask(hundred, { clock: "resume" });
  await until(hundred, "traffic", () => redpoll.store.frames.length > 200);
  const pictures = await hundred.evaluate(async () => {
    const [drawn, begun] = [redpoll.map.drawn, performance.now()];
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    return ((redpoll.map.drawn - drawn) / (performance.now() - begun)) * 1_000;
  });
  console.log(`        100 nodes: ${pictures.toFixed(0)} pictures a second, drawn without a graphics card`);
  await shot(hundred, "wasm-hundred");
  judge(pictures >= 30, `${pictures.toFixed(1)} pictures a second`);
  check(hundred.errors.length === 0, hundred.errors.join("; "));
});

if (digests) {
  await test("the digests of all built-in scenarios are those of the native program", async () => {
    const expected = new Map(readFileSync(digests, "utf8").trim().split("\n").map((line) => line.split(" ")));
    const page = await open();
    await isThere(page, 15);
    const names = JSON.parse((await ask(page, "built_in")).text).map(([name]) => name);
    check(names.length > 15 && names.every((name) => expected.has(name)), `no digest of ${names.filter((name) => !expected.has(name))}`);
    const wrong = [];
    for (const name of names) {
      const begun = Date.now();
      const digest = await page.evaluate(async (name) => {
        const opened = await simulator.askAny({ open: { name, paused: true } });
        if (!opened.ok) return opened.text;
        const end = redpoll.store.hello.duration_us;
        await simulator.askAny({ clock: { seek: end } });
        while (redpoll.store.t < end) await new Promise((resolve) => setTimeout(resolve, 10));
        return (await simulator.askAny("digest")).text;
      }, name);
      console.log(`        ${digest === expected.get(name) ? "same" : "OTHER"}  ${name} ${digest} (${((Date.now() - begun) / 1_000).toFixed(1)} s)`);
      if (digest !== expected.get(name)) wrong.push(name);
    }
    check(wrong.length === 0, `other digests: ${wrong}`);
  });
}

await end();
