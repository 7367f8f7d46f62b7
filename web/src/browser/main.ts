// The page with the simulator in the browser.
//
// Parameters of the page's address: `?scenario=line-3` names a built-in scenario, `&set=KEY=VALUE`
// overrides a key, `&play` starts the run immediately, `&node=NAME` selects a node, and `&embed`
// hides the panel on the right, the packet list and the choice of a scenario.

import "uplot/dist/uPlot.min.css";
import "../style.css";
import { App } from "../app";
import { LocalConnection } from "./local";
import { Picker } from "./picker";

const asked = new URLSearchParams(location.search);
const set = asked.getAll("set").flatMap((text): [string, string][] => {
  const at = text.indexOf("=");
  return at > 0 ? [[text.slice(0, at), text.slice(at + 1)]] : [];
});
const first = { name: asked.get("scenario") ?? "office", set, paused: !asked.has("play") };
const isEmbedded = asked.has("embed");

const connection = new LocalConnection();
const app = new App(document.getElementById("app")!, connection);
const picker = new Picker(connection, first, (text) => app.say(text, true));
document.documentElement.classList.toggle("embed", isEmbedded);
app.start(picker.element);
void picker.start().then(() => app.select(asked.get("node")));
Object.assign(window, { simulator: connection });
