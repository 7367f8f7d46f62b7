// Makes the pictures of README and docs/live.md: `make picture`.
//
//   node test/picture.mjs PROGRAM FOLDER [OPTIONS OF chrome.mjs]
//
// Both show the same moment of the same run: loop.gif is the file that the page's button saves, and
// live.png is the page.

import path from "node:path";
import { check, end, open, options, start, test, until } from "./chrome.mjs";

const [program, folder] = options;
/** The moment, in microseconds: the connection has run for nine seconds. */
const MOMENT = 18_000_000;

await test("the pictures are drawn", async () => {
  const { url, stop } = await start(program, "run", "office", "--set", "routing=rpl", "--web", "127.0.0.1:0", "--paused");
  const page = await open(url, { viewport: { width: 1280, height: 800 }, colorScheme: "light" });
  await until(page, "the mesh is there", () => window.redpoll?.store.nodes.length === 15 && redpoll.map.drawn > 3);
  await page.keyboard.press("Space");
  await until(page, "the moment", (moment) => redpoll.store.t > moment, MOMENT, 60_000);
  await page.keyboard.press("Space");
  await until(page, "the run stands still", () => redpoll.store.clock.paused);
  await page.evaluate((moment) => redpoll.playhead.goTo(moment), MOMENT);
  await page.waitForTimeout(600);
  await page.screenshot({ path: path.join(folder, "live.png") });
  const saved = page.waitForEvent("download", { timeout: 120_000 });
  await page.keyboard.press("e");
  await (await saved).saveAs(path.join(folder, "loop.gif"));
  check(page.errors.length === 0, page.errors.join("; "));
  await stop();
});

await end();
