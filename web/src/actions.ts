// Actions that change the mesh: switch a node off, start a transfer, lose frames, attack a node. The
// map adds interferers.

import type { Connection } from "./connection";
import { fill, h, setText } from "./dom";
import { type Command, RADIO } from "./protocol";
import type { Store } from "./store";

export class Actions {
  readonly element: HTMLElement;
  private node = 0;
  private power = h("button", { onclick: () => this.toggle() });
  private to = h("select", { "aria-label": "Receiver of the transfer" });
  private size = h("select", { "aria-label": "Size of the transfer" });
  private neighbour = h("select", { "aria-label": "Neighbour" });
  private share = h("select", { "aria-label": "Share of frames that are lost" });
  private attack = h("select", { "aria-label": "Attack" });
  private attackRow = h("div", { class: "action" }, "Attack it by ", this.attack, h("button", { onclick: () => this.besiege(this.attack.value) }, "Attack"));
  /** Description of the chosen attack. */
  private attackWhat = h("p", { class: "muted" });
  /** Button on the map that ends the attack. */
  readonly truce = h("button", { class: "chip", hidden: true, title: "End the attack", onclick: () => this.besiege(null) });
  private why = h("p", { class: "muted" });
  private form: HTMLElement;

  constructor(
    private store: Store,
    private connection: Connection,
    private say: (text: string, isError?: boolean) => void,
  ) {
    for (const [value, word] of [[2_000, "2 kB"], [20_000, "20 kB"], [100_000, "100 kB"], [1_000_000, "1 MB"]] as const) {
      this.size.append(h("option", { value, selected: value === 20_000 }, word));
    }
    for (const [value, word] of [[0, "no"], [0.05, "5 %"], [0.2, "20 %"], [0.5, "50 %"], [1, "all"]] as const) {
      this.share.append(h("option", { value, selected: value === 0.2 }, word));
    }
    this.form = h(
      "div",
      { class: "actions", role: "group", "aria-label": "Change the mesh" },
      h("div", { class: "action" }, this.power),
      h("div", { class: "action" }, "Send ", this.size, " to ", this.to, h("button", { onclick: () => this.transfer() }, "Start")),
      h("div", { class: "action" }, "Frame loss ", this.share, " with ", this.neighbour, h("button", { onclick: () => this.lose() }, "Set")),
      this.attackRow,
      this.attackWhat,
    );
    this.attack.addEventListener("change", () => this.explain());
    this.element = h("div", {}, this.form, this.why);
  }

  /** Shows the attacks of another run, and hides the button that ends an attack. */
  reset(): void {
    const attacks = this.store.hello?.attacks ?? [];
    const attackers = this.store.nodes.filter((node) => node.role === "attacker").map((node) => node.name);
    const group = (side: string, label: string) => {
      const those = attacks.filter((attack) => attack[2] === side);
      return those.length === 0 ? null : h("optgroup", { label }, ...those.map(([name, what]) => h("option", { value: name, title: what }, name)));
    };
    fill(this.attack, group("host", "from the host beyond the border router"), group("air", `over the air, from ${attackers.join(" and ")}`));
    this.attackRow.hidden = this.attackWhat.hidden = attacks.length === 0;
    this.explain();
    this.truce.hidden = true;
  }

  /** Describes the chosen attack. */
  private explain(): void {
    const what = this.store.hello?.attacks?.find(([name]) => name === this.attack.value)?.[1] ?? "";
    setText(this.attackWhat, what);
  }

  /** Shows the actions for this node. */
  show(node: number): void {
    this.node = node;
    this.attackRow.hidden = this.attackWhat.hidden = (this.store.hello?.attacks ?? []).length === 0 || this.store.nodes[node]?.role === "attacker";
    const option = (index: number) => h("option", { value: index }, this.store.nodes[index]!.name);
    const others = this.store.nodes.map((_, index) => index).filter((index) => index !== node);
    const root = this.store.now.parent.indexOf(-1);
    fill(this.to, ...others.filter((index) => this.store.nodes[index]!.role !== "attacker").map(option));
    if (root >= 0 && root !== node) this.to.value = String(root);
    const near = this.store.links.filter((link) => link.includes(node)).map(([a, b]) => (a === node ? b : a));
    fill(this.neighbour, h("option", { value: -1 }, "all neighbours"), ...near.map(option));
    this.update();
  }

  update(): void {
    const isView = this.store.hello?.mode === "view";
    const may = this.connection.mayCommand && !isView;
    this.form.hidden = !may;
    setText(
      this.why,
      may ? "" : isView ? "This recording cannot be changed." : "Read-only: to make changes, open the address that the terminal shows.",
    );
    const isOff = this.store.now.radio[this.node] === RADIO.off;
    setText(this.power, isOff ? "Switch on (K)" : "Switch off (K)");
    this.power.className = isOff ? "" : "danger";
  }

  toggle(node = this.node): void {
    const isOff = this.store.now.radio[node] === RADIO.off;
    void this.ask(isOff ? { revive: { node } } : { kill: { node } });
  }

  async move(node: number, x: number, y: number): Promise<boolean> {
    return this.ask({ move: { node, x_m: x, y_m: y } });
  }

  interfere(x: number, y: number): void {
    const range = (this.store.hello?.ranges_m?.[0] ?? 20) * 0.8;
    void this.ask({ interfere: { x_m: x, y_m: y, range_m: range, busy: 0.3 } });
  }

  silence(interferer: number): void {
    void this.ask({ silence: { interferer } });
  }

  private async besiege(name: string | null): Promise<void> {
    const node = this.node;
    if (!(await this.ask({ attack: { node, name } }))) return;
    this.truce.hidden = name === null;
    const isAir = this.store.hello?.attacks?.find((attack) => attack[0] === name)?.[2] === "air";
    const attackers = this.store.nodes.filter((other) => other.role === "attacker").map((other) => other.name);
    setText(this.truce, `${name} on ${this.store.nodes[node]?.name}, from ${isAir ? attackers.join(" and ") : "the host"} ✕`);
  }

  private transfer(): void {
    void this.ask({ transfer: { from: this.node, to: Number(this.to.value), bytes: Number(this.size.value) } });
  }

  private async lose(): Promise<void> {
    const share = Number(this.share.value);
    const chosen = Number(this.neighbour.value);
    const other = chosen < 0 ? null : chosen;
    if (await this.ask({ lose: { from: this.node, to: other, share } })) {
      await this.ask({ lose: { from: other, to: this.node, share } });
    }
  }

  private async ask(command: Command): Promise<boolean> {
    const answer = await this.connection.ask({ mesh: command });
    this.say(answer.ok ? answer.text : `Refused: ${answer.text}`, !answer.ok);
    return answer.ok;
  }
}
