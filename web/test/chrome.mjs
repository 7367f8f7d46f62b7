// Shared code of the tests in a real browser: Chromium, the program, and the report of each test.
//
// Options of every test: --shots FOLDER writes pictures, --only WORDS selects tests by their names,
// and --assets FOLDER replaces the page of the program by the files of this folder. Needs Chromium
// (CHROMIUM=/path, otherwise /usr/bin/chromium) and playwright-core, and exits with 77 and a message
// without them.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { cpus, loadavg } from "node:os";
import path from "node:path";

export const options = process.argv.slice(2);
export const value = (name) => (options.includes(name) ? options[options.indexOf(name) + 1] : null);
const shots = value("--shots");
const only = value("--only") ?? "";
const assets = value("--assets");
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

if (!existsSync(browserPath)) skip("Chromium is missing (apt-get install chromium)");
const { chromium } = await import("playwright-core").catch(() => skip("playwright-core is missing (npm ci in web/)"));

export const browser = await chromium.launch({
  executablePath: browserPath,
  args: [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});
export const children = new Set();
let failures = 0;

export function check(is, what) {
  if (!is) throw new Error(what);
}

/** Checks a condition about speed, which a machine that is busy with other work may fail. */
export function judge(is, what, perProcessor = 1.5) {
  if (is || loadavg()[0] <= cpus().length * perProcessor) check(is, what);
  else console.log(`        not judged, the machine is busy: ${what}`);
}

/** Starts the program. Returns the address of its page, and a function that ends the program. */
export function start(program, ...args) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  const stop = () =>
    new Promise((resolve) => {
      child.once("exit", (code) => {
        children.delete(child);
        resolve(code);
      });
      child.kill("SIGINT");
    });
  return new Promise((resolve, reject) => {
    let text = "";
    const hear = (chunk) => {
      text += chunk;
      const url = text.match(/http:\/\/\S+/)?.[0];
      if (url) resolve({ url, stop, child });
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", () => reject(new Error(`${args.join(" ")} ended: ${text}`)));
  });
}

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".wasm": "application/wasm" };

/** Serves the files of a folder below a path, as any web server does. Returns the address of the path. */
export async function serve(folder) {
  const server = createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://localhost").pathname).replace(/^\/below\//, "") || "index.html";
    const file = path.join(folder, path.normalize(`/${name}`));
    if (existsSync(file) && statSync(file).isFile()) response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
    else response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // The server does not keep the process from ending.
  server.unref();
  return `http://127.0.0.1:${server.address().port}/below`;
}

/** Opens a page, and records in `page.errors` its errors and each request that leaves its origin. */
export async function open(url, settings = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...settings });
  const page = await context.newPage();
  if (assets) {
    await context.route(/\/live\.(js|css)$/, (route) => route.fulfill({ path: path.join(assets, new URL(route.request().url()).pathname) }));
  }
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
  const own = `${new URL(url).origin}/`;
  page.on("request", (request) => {
    if (!request.url().startsWith(own) && !/^(data|blob):/.test(request.url())) page.errors.push(`asks for ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Fails if axe-core finds a serious violation, and names the first elements of each. */
export async function isAccessible(page, where) {
  await page.evaluate(readFileSync(AXE, "utf8"));
  const found = await page.evaluate(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} (${node.any.concat(node.all, node.none)[0]?.message})`).join("; ")}`);
  });
  check(found.length === 0, `${where}: ${found.join(" | ")}`);
}

/** Waits until a function of the page's state is true. */
export async function until(page, what, test, argument, timeout = 15_000) {
  await page.waitForFunction(test, argument, { timeout, polling: 30 }).catch(() => check(false, `never: ${what}`));
}

export async function shot(page, name, more = {}) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: path.join(shots, `${name}.png`), ...more });
}

export async function test(name, act) {
  if (!name.includes(only)) return;
  const begun = Date.now();
  try {
    await act();
    console.log(`ok      ${name} (${((Date.now() - begun) / 1_000).toFixed(1)} s)`);
  } catch (error) {
    failures++;
    console.log(`FAILED  ${name}: ${error.message}`);
  }
  // An open page would use processor time in the next test.
  for (const context of browser.contexts()) await context.close();
}

/** Ends the browser and all programs, and exits with 1 if a test has failed. */
export async function end() {
  await browser.close();
  for (const child of children) child.kill("SIGKILL");
  process.exit(failures === 0 ? 0 : 1);
}
