// The choice of a scenario: one that is built in, or one that the visitor pastes.

import { fill, h, setText } from "../dom";
import type { LocalConnection, Open } from "./local";

/** The name of a pasted scenario in messages. */
const PASTED = "scenario.toml";
const OTHER = "";

export class Picker {
  readonly element: HTMLElement;
  private choice = h("select", { class: "choice", "aria-label": "Scenario" });
  private text = h("textarea", { spellcheck: "false", rows: 18, "aria-label": "Scenario as TOML" });
  private error = h("p", { class: "error", role: "alert", hidden: true });
  private dialog: HTMLDialogElement;
  private texts = new Map<string, string>();
  private current: Open;

  constructor(
    private connection: LocalConnection,
    first: Open,
    private say: (text: string) => void,
  ) {
    this.current = first;
    this.dialog = h(
      "dialog",
      { class: "help paste", "aria-label": "Your scenario" },
      h("h2", {}, "Your scenario"),
      h("p", { class: "muted" }, "TOML as for redpoll run. It stays in this browser."),
      this.text,
      this.error,
      h(
        "div",
        { class: "action" },
        h("button", { class: "primary", onclick: () => void this.paste() }, "Run"),
        h("button", { onclick: () => this.dialog.close() }, "Cancel"),
      ),
    );
    this.choice.addEventListener("change", () => void this.begin({ name: this.choice.value, paused: true }));
    this.element = h(
      "div",
      { class: "picker" },
      this.choice,
      h("button", { onclick: () => this.edit() }, "Edit"),
      this.dialog,
    );
  }

  /** Lists the scenarios and begins the first. */
  async start(): Promise<void> {
    const all = await this.connection.builtIn();
    this.texts = new Map(all);
    await this.begin(this.current);
  }

  private async begin(open: Open): Promise<boolean> {
    const answer = await this.connection.begin(open);
    if (answer.ok) this.current = open;
    else this.say(answer.text);
    const names = [...this.texts.keys()].map((name) => h("option", { value: name }, name));
    if (this.current.text !== undefined) names.push(h("option", { value: OTHER }, "yours"));
    fill(this.choice, ...names);
    this.choice.value = this.current.text === undefined ? this.current.name : OTHER;
    return answer.ok;
  }

  private edit(): void {
    this.text.value = this.current.text ?? this.texts.get(this.current.name) ?? "";
    this.error.hidden = true;
    this.dialog.showModal();
  }

  private async paste(): Promise<void> {
    const answer = await this.connection.begin({ name: PASTED, text: this.text.value, paused: true });
    this.error.hidden = answer.ok;
    setText(this.error, answer.text);
    if (!answer.ok) return;
    this.dialog.close();
    this.current = { name: PASTED, text: this.text.value, paused: true };
    fill(this.choice, ...[...this.texts.keys()].map((name) => h("option", { value: name }, name)), h("option", { value: OTHER }, "yours"));
    this.choice.value = OTHER;
  }
}
