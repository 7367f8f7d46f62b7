// The page in a real browser: `make webtest`, or `npm test` with the program at hand.
//
//   node test/run.mjs PROGRAM [--short] [OPTIONS OF chrome.mjs]
//
// CI uses `--short`: one width, the light theme, no recordings, large meshes or cost measurements.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { check, children, end, judge, open, options, shot, start as startProgram, test, until } from "./chrome.mjs";

const program = path.resolve(options[0]);
const short = options.includes("--short");
const start = (...args) => startProgram(program, ...args);

/** Returns the processor time of a process in seconds, by thread name. */
function processor(pid) {
  const used = {};
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const of = (file) => readFileSync(`/proc/${pid}/task/${task}/${file}`, "utf8").trim();
    const name = of("comm");
    used[name] = (used[name] ?? 0) + Number(of("schedstat").split(" ")[0]) / 1e9;
  }
  return used;
}

/** Returns the processor time of the browser's processes, by kind of process and thread name. */
function ofBrowser() {
  const used = {};
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (!/chrom/.test(line)) continue;
      const kind = line.match(/--type=([a-z]+)/)?.[1] ?? "browser";
      for (const [name, s] of Object.entries(processor(pid))) used[`${kind}/${name}`] = (used[`${kind}/${name}`] ?? 0) + s;
    } catch {} // The process has ended.
  }
  return used;
}

const state = (page, expression) => page.evaluate(expression);

await test("a run is watched, paused, stepped, changed and begun again", async () => {
  const { url, stop } = await start("run", "office", "--web", "127.0.0.1:0", "--paused");
  const page = await open(url);
  await until(page, "the mesh is there", () => window.redpoll?.store.nodes.length === 15);
  check((await state(page, () => redpoll.store.t)) === 0, "the run stands still at its beginning");
  check(new URL(page.url()).hash === "", "the token is out of sight");
  check(await page.locator("option", { hasText: "as fast as possible" }).count() === 1, "the run can be as fast as possible");
  await page.keyboard.press(".");
  await until(page, "a step", () => redpoll.store.frames.length > 0);
  check(await state(page, () => redpoll.store.t < 100_000), "a step is short");
  await page.keyboard.press("Space");
  await until(page, "frames and their fates", () => redpoll.store.frames.length > 300 && redpoll.store.frames.at(5).fates.length > 0);
  await until(page, "a connection", () => redpoll.store.flows.size === 1 && [...redpoll.store.flows.values()][0].segments.length > 10);
  await until(page, "rows", () => document.querySelectorAll(".rows .row:not([hidden])").length > 4);
  await shot(page, "run-light");

  // A node is switched off by keyboard, and stays off.
  await page.evaluate(() => redpoll.selection.set({ node: 6 }));
  await page.keyboard.press("k");
  await until(page, "node-7 is off", () => redpoll.store.now.radio[6] === 0);
  await page.keyboard.press("k");
  await until(page, "node-7 is switched on again", () => redpoll.store.now.radio[6] > 0);

  // Escape closes the help, and keys have no effect behind it.
  await page.keyboard.press("?");
  await until(page, "the help", () => document.querySelector("dialog.help").open);
  await page.keyboard.press("k");
  await page.keyboard.press("Escape");
  await until(page, "no help", () => !document.querySelector("dialog.help").open);
  check(await state(page, () => redpoll.store.now.radio[6] > 0), "a key behind the help did nothing");

  // A node is dragged.
  const before = await state(page, () => redpoll.store.now.x[14]);
  const [x, y] = await state(page, () => redpoll.map.view.toScreen(redpoll.map.x(14), redpoll.map.y(14)));
  const box = await page.locator(".map-top").boundingBox();
  await page.mouse.move(box.x + x, box.y + y);
  await page.mouse.down();
  await page.mouse.move(box.x + x + 60, box.y + y + 30, { steps: 4 });
  await page.mouse.up();
  await until(page, "leaf-15 has moved", (before) => redpoll.store.now.x[14] > before + 0.5, before);

  // Another node is moved by keys, and an interferer is placed at its position.
  const leaf = 12;
  const start0 = await state(page, () => redpoll.store.now.x[12]);
  await page.evaluate(() => redpoll.selection.set({ node: 12 }));
  await page.locator(".map-top").focus();
  for (let step = 0; step < 3; step++) await page.keyboard.press("Shift+ArrowLeft");
  await until(page, "leaf-13 has moved", (before) => redpoll.store.now.x[12] < before - 0.5, start0);
  check((await state(page, () => redpoll.selection.node)) === leaf, "it is still chosen");
  await page.keyboard.press("i");
  await page.keyboard.press("Enter");
  await until(page, "an interferer at leaf-13", () => {
    const { interferers, now } = redpoll.store;
    return interferers.length === 1 && Math.hypot(interferers[0].x - now.x[12], interferers[0].y - now.y[12]) < 0.5;
  });
  await page.locator(".others .chip").click();
  await until(page, "silence", () => redpoll.store.interferers[0].busy === 0);

  // Arrow keys change the tab.
  await page.locator("#tab-nodes").focus();
  const opened = () => page.evaluate(() => [document.querySelector(".tab[aria-selected=true]").id, document.activeElement.id].join());
  for (const [key, tab] of [["ArrowRight", "air"], ["ArrowRight", "flows"], ["ArrowLeft", "air"], ["Home", "flows"], ["End", "air"]]) {
    await page.keyboard.press(key);
    check((await opened()) === `tab-${tab},tab-${tab}`, `${key} opens ${tab}: ${await opened()}`);
  }

  // A transfer, loss, an interferer.
  await page.evaluate(() => redpoll.selection.set({ node: 13 }));
  await page.getByRole("button", { name: "Start" }).click();
  await until(page, "a second connection", () => redpoll.store.flows.size === 2);
  await page.getByRole("button", { name: "Set" }).click();
  await until(page, "loss", () => redpoll.store.losses.length === 2);
  await page.keyboard.press("i");
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await until(page, "an interferer", () => redpoll.store.interferers.length === 2);
  await page.locator(".others .chip").click();
  await until(page, "silence", () => redpoll.store.interferers[1].busy === 0);
  await shot(page, "run-node");

  // Time: pause, another speed, again from the beginning.
  await page.keyboard.press("c");
  await page.locator(".map-top").focus();
  await page.keyboard.press("Space");
  await until(page, "the run stands still", () => redpoll.store.clock.paused);
  await page.getByRole("button", { name: /again from the beginning/ }).click();
  await until(page, "the beginning", () => redpoll.store.t < 1_000_000);
  await until(page, "no packets of the run before are counted", () => /0 of 0/.test(document.querySelector(".packets").textContent));
  check(page.errors.length === 0, page.errors.join("; "));
  check((await stop()) === 130, "it ends as by Ctrl-C");
  await until(page, "the page says that the program is gone", () => !document.querySelector(".banner").hidden);

  // Without changes the page draws nothing until the next input.
  const drawn = () => state(page, () => redpoll.map.drawn);
  const whileWaiting = async (ms) => {
    const before = await drawn();
    await page.waitForTimeout(ms);
    return (await drawn()) - before;
  };
  await page.waitForTimeout(1_500);
  check((await whileWaiting(700)) === 0, "a page that stands still draws nothing");
  await page.mouse.move(box.x + 30, box.y + 30);
  check((await whileWaiting(300)) > 0, "it draws again when the mouse moves");
  await shot(page, "gone");
});

await test("a viewer that comes late gets complete histories", async () => {
  const { url, stop } = await start("run", "line-3", "--web", "127.0.0.1:0", "--paused");
  const first = await open(url);
  await until(first, "the mesh is there", () => window.redpoll?.store.nodes.length === 4);
  await first.keyboard.press("Space");
  await until(first, "four seconds", () => redpoll.store.t > 4_000_000);
  await first.keyboard.press("Space");
  await until(first, "the run stands still", () => redpoll.store.clock.paused);
  const late = await open(url);
  await until(late, "the same moment", (t) => window.redpoll?.store.t >= t, await state(first, () => redpoll.store.t));
  const histories = (page) =>
    state(page, () => [...redpoll.store.flows.values()].map((flow) => flow.ends.map((ring) => Array.from({ length: ring.length }, (_, place) => ring.at(place).t))));
  const [known, got] = [await histories(first), await histories(late)];
  check(known.length === 1 && known[0][0].length > 20, `a history: ${known[0]?.[0]?.length}`);
  for (const [side, times] of got[0].entries()) {
    check(times.every((t, place) => place === 0 || t > times[place - 1]), "times go up");
    check(times[0] === known[0][side][0], `from the start: ${times[0]}, not ${known[0][side][0]}`);
  }
  await stop();
});

await test("a page that is opened after the end shows the run from its start", async () => {
  const { url, stop, child } = await start("run", "line-3", "--duration", "8 s", "--web", "127.0.0.1:0");
  await new Promise((resolve) => child.stdout.on("data", (text) => /The page stays/.test(text) && resolve()));
  const page = await open(url);
  await until(page, "frames of the start", () => window.redpoll?.store.frames.length > 20 && redpoll.store.frames.at(0).start < 1_000_000);
  check(await state(page, () => redpoll.store.t < 7_000_000), "it runs");
  await until(page, "the end", () => redpoll.store.clock.ended);
  check(await state(page, () => redpoll.store.frames.at(0).start < 1_000_000), "it has not begun again");
  await stop();
});

await test("nothing scrolls sideways; a first glance has a sentence, a legend and a button", async () => {
  const { url, stop } = await start("run", "office", "--web", "127.0.0.1:0", "--paused");
  for (const width of short ? [390] : [390, 768, 1440]) {
    for (const colorScheme of short ? ["light"] : ["light", "dark"]) {
      const page = await open(url, { viewport: { width, height: 844 }, colorScheme });
      await until(page, "the mesh is there", () => window.redpoll?.store.nodes.length === 15 && redpoll.map.drawn > 3);
      await until(page, "a sentence", () => document.querySelector(".sentence").textContent.includes("1 border router, 10 routers, 4 leaves"));
      await until(page, "a button", () => document.querySelector(".begin")?.offsetWidth > 0);
      const sentence = await page.locator(".sentence").textContent();
      check(sentence.includes("the border router, node-1, joins") && sentence.includes("leaf-12 sends to node-1"), sentence);
      check((await page.locator(".legend li:not([hidden])").count()) === 13, "a legend");
      const wide = await state(page, () => document.documentElement.scrollWidth);
      check(wide <= width, `the page is ${wide} px wide at ${width} px`);
      await shot(page, `glance-${width}-${colorScheme}`);
      await page.close();
    }
  }
  const page = await open(url);
  await page.locator(".begin").click();
  await until(page, "the run goes on, and the button is gone", () => window.redpoll.store.t > 100_000 && document.querySelector(".begin").hidden);
  await stop();
});

await test("the air time by message type is shown, also that of an earlier moment", async () => {
  const { url, stop } = await start("run", "office", "--set", "routing=rpl", "--web", "127.0.0.1:0", "--paused");
  const page = await open(url);
  await until(page, "the mesh is there", () => window.redpoll?.store.nodes.length === 15);
  await page.keyboard.press("Space");
  await page.locator("#tab-air").click();
  const table = () =>
    page.evaluate(() =>
      [...document.querySelectorAll(".air tbody tr:not([hidden])")].map((row) => {
        const [recent, all] = [...row.querySelectorAll("td")].map((cell) => parseFloat(cell.textContent));
        return { name: row.querySelector("th").textContent, recent, all, bar: parseFloat(row.querySelector(".air-bar").style.width) };
      }),
    );
  await until(page, "data", () => [...document.querySelectorAll(".air tr:not([hidden])")].some((row) => /^data/.test(row.textContent)));
  const rows = await table();
  for (const name of ["DIO, multicast", "DIS", "DAO", "DAO-ACK", "link acknowledgements", "data"]) {
    check(rows.some((row) => row.name === name && row.all > 0), `${name}: ${JSON.stringify(rows)}`);
  }
  check(!rows.some((row) => row.name.startsWith("fragment")), "a type without frames is left out");
  for (const column of ["recent", "all", "bar"]) {
    const sum = rows.reduce((sum, row) => sum + row[column], 0);
    check(Math.abs(sum - 100) < 0.5, `${column} adds up to ${sum} %`);
  }
  await shot(page, "air");
  // At the beginning, before the first segment of TCP, RPL has a larger share.
  const control = (rows) => rows.filter((row) => /^D(IO|IS|AO)/.test(row.name)).reduce((sum, row) => sum + row.all, 0);
  await page.evaluate(() => redpoll.playhead.goTo(1_500_000));
  await page.waitForTimeout(300);
  const early = await table();
  check(control(early) > control(rows), `RPL: ${control(early)} % at first, then ${control(rows)} %`);
  check(page.errors.length === 0, page.errors.join("; "));
  await stop();
});

await test("the packets are filtered and taken apart; time goes back and forth", async () => {
  const { url, stop } = await start("run", "line-3", "--web", "127.0.0.1:0", "--paused");
  const page = await open(url, { colorScheme: "dark" });
  await until(page, "the mesh is there", () => window.redpoll?.store.nodes.length === 4);
  check(await state(page, () => document.documentElement.dataset.theme === "dark"), "it is dark");
  await page.keyboard.press("Space");
  await until(page, "frames", () => redpoll.store.frames.length > 400);
  await page.keyboard.press("Space");
  await until(page, "the run stands still", () => redpoll.store.clock.paused);
  // The numbers of shown and hidden frames add up, and no outcome is cut off.
  const counts = await state(page, () => {
    const text = document.querySelector(".packets-bar").textContent.replaceAll(",", "");
    return text.match(/acknowledgements \((\d+) hidden\)(\d+) of (\d+)/)?.slice(1).map(Number);
  });
  check(counts?.[0] > 0 && counts[0] + counts[1] === counts[2], `counts: ${counts}`);
  const cut = () => state(page, () => [...document.querySelectorAll(".rows .row:not([hidden]) > span:nth-child(6)")].filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.textContent));
  for (const width of [390, 768, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    for (const word of ["transmitting", "received by", ""]) {
      await page.locator(".filter").fill(word);
      await page.waitForTimeout(200);
      check((await cut()).length === 0, `${width} px: cut off: ${await cut()}`);
    }
  }
  await page.locator(".map-top").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("proto:tcp from:node-4");
  await until(page, "only segments of node-4", () => {
    const rows = [...document.querySelectorAll(".rows .row:not([hidden])")];
    return rows.length > 2 && rows.every((row) => row.children[1].textContent === "node-4" && row.children[3].textContent === "TCP");
  });
  await page.locator(".rows .row:not([hidden])").nth(1).click();
  await until(page, "layers", () => document.querySelector(".layers").textContent.includes("Maximum segment") || document.querySelector(".layers").textContent.includes("Sequence number"));
  const there = await state(page, () => redpoll.playhead.t);
  check(there < (await state(page, () => redpoll.store.t)), "the moment of the packet is shown");
  await shot(page, "packets-dark");
  await page.keyboard.press(",");
  check((await state(page, () => redpoll.playhead.t)) < there, "one frame back");
  await page.keyboard.press("l");
  check(await state(page, () => redpoll.playhead.isLive), "the present again");
  await page.keyboard.press("?");
  await until(page, "help", () => document.querySelector("dialog").open);
  await page.keyboard.press("Escape");
  check(page.errors.length === 0, page.errors.join("; "));
  await stop();
});

await test("without the token a page only looks", async () => {
  const { url, stop } = await start("run", "pair", "--web", "127.0.0.1:0", "--paused");
  const page = await open(url.split("#")[0]);
  await until(page, "the mesh is there", () => window.redpoll?.store.nodes.length === 2);
  await page.evaluate(() => redpoll.selection.set({ node: 1 }));
  await until(page, "that is said", () => document.querySelector(".side").textContent.includes("Read-only"));
  check(!(await page.getByRole("button", { name: /Switch off/ }).isVisible()), "nothing can be changed");
  await stop();
});

await test("the page is ready in less than a second", async () => {
  const { url, stop } = await start("run", "office", "--web", "127.0.0.1:0", "--paused");
  const page = await open(url);
  await until(page, "the first picture", () => window.redpoll?.map.readyMs);
  const took = Math.round(await state(page, () => redpoll.map.readyMs));
  console.log(`        ${took} ms from the request to the first picture of the mesh`);
  judge(took < (short ? 3_000 : 1_000), `took ${took} ms`);
  await stop();
});

if (!short) {
  const folder = mkdtempSync(path.join(tmpdir(), "redpoll-"));
  const file = path.join(folder, "office.recording");

  await test("a recording is shown from any moment", async () => {
    await new Promise((resolve) => spawn(program, ["run", "office", "--record", file], { stdio: "ignore" }).once("exit", resolve));
    const { url, stop } = await start("view", file, "--web", "127.0.0.1:0");
    const page = await open(url);
    await until(page, "frames", () => window.redpoll?.store.frames.length > 100);
    const line = await page.locator(".timeline").boundingBox();
    await page.mouse.click(line.x + line.width * 0.75, line.y + 20);
    await until(page, "later frames", () => redpoll.store.t > 40_000_000 && redpoll.store.frames.length > 50);
    await shot(page, "recording");
    check(page.errors.length === 0, page.errors.join("; "));
    const moment = await open(url.replace("/#", "/?t=30#"));
    await until(moment, "the moment of the address", () => window.redpoll?.store.t >= 29_000_000 && redpoll.store.since > 20_000_000);
    await stop();
  });

  await test("what a mesh in real time does is seen within 100 ms", async () => {
    const forward = ["--join", "forward", "--forward", "18097:leaf-12:80"];
    const { url, stop } = await start("up", "office", ...forward, "--web", "127.0.0.1:0", "--prefix", "fd00:0:0:97::/64");
    const page = await open(url);
    const fetched = fetch("http://127.0.0.1:18097/file").then((response) => response.arrayBuffer()).catch(() => null);
    await until(page, "frames", () => window.redpoll?.store.frames.length > 50);
    const delays = await page.evaluate(async () => {
      const all = [];
      while (all.length < 200) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        all.push(redpoll.delayMs());
      }
      return all.sort((a, b) => a - b);
    });
    const [median, most] = [delays[100], delays[189]];
    console.log(`        ${median.toFixed(0)} ms in the median, ${most.toFixed(0)} ms in 95 of 100 pictures`);
    await shot(page, "up");
    check(page.errors.length === 0, page.errors.join("; "));
    judge(most < 100, `${most.toFixed(0)} ms`);
    await stop();
    await fetched;
  });

  await test("1,000 nodes: 30 pictures a second", async () => {
    const { url, stop } = await start("run", "grid-1000", "--web", "127.0.0.1:0", "--paused");
    const page = await open(url);
    await until(page, "the mesh is there", () => window.redpoll?.store.nodes.length === 1_000);
    await page.keyboard.press("Space");
    await until(page, "traffic", () => redpoll.store.frames.length > 3_000);
    const before = ofBrowser();
    const [rate, each, pictures] = await page.evaluate(async () => {
      const [drawn, drawing, begun] = [redpoll.map.drawn, redpoll.map.drawingMs, performance.now()];
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      const pictures = redpoll.map.drawn - drawn;
      return [(pictures / (performance.now() - begun)) * 1_000, (redpoll.map.drawingMs - drawing) / pictures, pictures];
    });
    const after = ofBrowser();
    const ms = Object.entries(after).map(([name, s]) => [name, ((s - (before[name] ?? 0)) * 1_000) / pictures]);
    const most = ms.sort((a, b) => b[1] - a[1]).slice(0, 3);
    const sum = ms.reduce((sum, [, it]) => sum + it, 0);
    console.log(`        ${rate.toFixed(0)} pictures a second, drawn without a graphics card; ${each.toFixed(1)} ms of script each`);
    console.log(`        a picture takes ${sum.toFixed(1)} ms of processors in the browser: ${most.map(([name, it]) => `${name} ${it.toFixed(1)}`).join(", ")}`);
    await shot(page, "grid-1000");
    check(each < 16, `${each.toFixed(1)} ms of script for each picture`);
    judge(rate >= 30, `${rate.toFixed(1)} pictures a second`);
    await stop();
  });
}

if (!short) {
  // A grid of 100 nodes: all but node-1 send readings, and node-100 serves a page over HTTP.
  const HUNDRED = `
[topology]
kind = "grid"
columns = 10
rows = 10
spacing = "20 m"
[medium]
model = "unit-disk"
transmission_range = "30 m"
interference_range = "30 m"
carrier_sense_range = "50 m"
[nodes.node-1]
role = "border"
[apps.readings]
type = "sensor"
on = "every other node"
to = "node-1:5000"
transport = "udp"
reading = "50 B"
interval = "10 s"
[apps.web]
type = "http-server"
on = "node-100"
port = 80
file = "50 KiB"
`;

  await test("100 nodes in real time: the server takes less than a tenth of a processor", async () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), "redpoll-")), "hundred.toml");
    writeFileSync(file, HUNDRED);
    const forward = ["--join", "forward", "--forward", "18098:node-100:80"];
    const { url, stop, child } = await start("up", file, ...forward, "--web", "127.0.0.1:0", "--prefix", "fd00:0:0:98::/64");
    const all = (used) => Object.values(used).reduce((sum, it) => sum + it, 0);
    const during = async (seconds) => {
      const before = processor(child.pid);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
      const after = processor(child.pid);
      const share = (a, b) => ((a ?? 0) - (b ?? 0)) / seconds;
      return [share(after["live view"], before["live view"]), share(all(after), all(before))];
    };
    const get = () => fetch("http://127.0.0.1:18098/file").then((response) => response.arrayBuffer()).catch(() => null);
    const fetched = get();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const [, alone] = await during(10);
    const page = await open(url);
    await until(page, "100 nodes", () => window.redpoll?.store.nodes.length === 100);
    await until(page, "frames", () => redpoll.store.frames.length > 50);
    const [server, watched] = await during(10);
    const percent = (share) => `${(share * 100).toFixed(1)} %`;
    console.log(`        the server's thread ${percent(server)} of a processor; all of the program ${percent(watched)}, ${percent(alone)} before anybody looked`);
    await shot(page, "hundred");
    check(server < 0.1, `the server takes ${percent(server)}`);
    check(page.errors.length === 0, page.errors.join("; "));
    await stop();
    await fetched;
  });

  /** Whether instructions can be counted; otherwise `price` returns processor seconds. */
  const counts = spawnSync("valgrind", ["--version"]).status === 0;
  async function price(more) {
    const args = ["run", "office", "--duration", counts ? "60 s" : "600 s", ...more];
    const count = ["--tool=callgrind", "--callgrind-out-file=/dev/null", program];
    const child = counts ? spawn("valgrind", [...count, ...args]) : spawn(program, args);
    children.add(child);
    let [text, used] = ["", 0];
    const look = () => {
      if (child.exitCode !== null) return;
      try {
        used = Object.values(processor(child.pid)).reduce((sum, it) => sum + it, 0);
      } catch {}
    };
    const hear = (chunk) => {
      text += chunk;
      if (!text.includes("The page stays") || child.killed) return;
      look();
      child.kill("SIGINT");
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    const timer = setInterval(() => child.killed || look(), 5);
    await new Promise((resolve) => child.once("exit", resolve));
    clearInterval(timer);
    children.delete(child);
    return counts ? Number(text.match(/Collected : (\d+)/)[1]) : used;
  }

  await test("a run with a page that nobody looks at takes at most 2 % more", async () => {
    // The smallest of several measurements, because other programs only increase the value.
    const [without, withPage] = [[], []];
    for (let turn = 0; turn < (counts ? 1 : 5); turn++) {
      without.push(await price([]));
      withPage.push(await price(["--web", "127.0.0.1:0"]));
    }
    const more = Math.min(...withPage) / Math.min(...without) - 1;
    console.log(`        ${(more * 100).toFixed(2)} % more ${counts ? "instructions (callgrind)" : "time of a processor, the least of five runs each (with valgrind: instructions)"}`);
    judge(more < 0.02, `${(more * 100).toFixed(2)} % more`);
  });
}

await end();
