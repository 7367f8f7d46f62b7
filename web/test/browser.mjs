// The simulator in a real browser: `make wasm-test`.
//
//   node test/browser.mjs FOLDER [--digests FILE] [--shots FOLDER] [--only WORDS]
//
// FOLDER is the output of `make wasm`; FILE has a line "NAME DIGEST" for each scenario, from
// `cargo run --example digests`. Ends with 77, and a line that says why, where the browser is
// missing.

import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { cpus, loadavg } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";

const [folder, ...options] = process.argv.slice(2);
const value = (name) => (options.includes(name) ? options[options.indexOf(name) + 1] : null);
const [digests, shots, only] = [value("--digests"), value("--shots"), value("--only") ?? ""];
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

if (!existsSync(browserPath)) skip("Chromium is missing (apt-get install chromium)");
const { chromium } = await import("playwright-core").catch(() => skip("playwright-core is missing (npm ci in web/)"));

/** A web server as simple as any: files of a folder, below a path. */
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const server = createServer((request, response) => {
  const name = new URL(request.url, "http://localhost").pathname.replace(/^\/below\//, "") || "index.html";
  const file = path.join(folder, path.basename(name));
  if (!existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "text/plain" }).end(readFileSync(file));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath: browserPath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let failures = 0;

function check(is, what) {
  if (!is) throw new Error(what);
}

/** A figure of speed says nothing on a machine that others keep busy. */
function judge(is, what) {
  if (is || loadavg()[0] <= cpus().length * 1.2) check(is, what);
  else console.log(`        not judged, the machine is busy: ${what}`);
}

async function open(query = "", settings = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...settings });
  const page = await context.newPage();
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) page.errors.push(`asks for ${request.url()}`);
  });
  await page.goto(`${origin}/below/${query}`);
  return page;
}

async function until(page, what, test, argument, timeout = 15_000) {
  await page.waitForFunction(test, argument, { timeout, polling: 30 }).catch(() => check(false, `never: ${what}`));
}

async function shot(page, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: path.join(shots, `${name}.png`) });
}

async function test(name, act) {
  if (!name.includes(only)) return;
  const begun = Date.now();
  try {
    await act();
    console.log(`ok      ${name} (${((Date.now() - begun) / 1_000).toFixed(1)} s)`);
  } catch (error) {
    failures++;
    console.log(`FAILED  ${name}: ${error.message}`);
  }
  for (const context of browser.contexts()) await context.close();
}

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
  for (const [name, count] of [["line-3", 4], ["sleepy-3", 4]]) {
    const page = await open(`?scenario=${name}&play`);
    await until(page, `frames of ${name}`, () => window.redpoll?.store.frames.length > 20);
    check((await page.evaluate(() => redpoll.store.hello.scenario)) === name, name);
    check((await ask(page, { clock: { seek: 20_000_000 } })).ok, "seek");
    await until(page, "20 s", () => redpoll.store.t >= 20_000_000);
    check(page.errors.length === 0, page.errors.join("; "));
  }
});

await browser.close();
server.close();
process.exit(failures === 0 ? 0 : 1);
