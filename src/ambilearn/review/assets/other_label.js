// The small box in which one types any label: all labels of the table, or a new one.

const SUGGESTIONS = 50;

class OtherLabel {
  constructor(dialog, classes, separator) {
    Object.assign(this, { dialog, classes, separator });
    this.input = dialog.querySelector("input");
    this.list = dialog.querySelector("[role=listbox]");
    this.note = dialog.querySelector(".note");
    this.input.addEventListener("input", () => this.suggest());
    this.input.addEventListener("keydown", (event) => this.key(event));
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.take(this.options[this.active]?.label);
    });
    dialog.querySelector(".cancel").addEventListener("click", () => dialog.close());
  }

  /** Ask for a label; `onChosen` gets it. A `suggestion` comes first, `candidates` only when they are typed. */
  open(title, onChosen, { suggestion = null, candidates = [] } = {}) {
    Object.assign(this, { onChosen, suggestion });
    this.candidates = new Set(candidates);
    this.dialog.querySelector("h2").textContent = title;
    this.input.value = "";
    this.suggest();
    this.dialog.showModal();
    this.input.focus();
  }

  suggest() {
    const typed = normalizedLabel(this.input.value);
    const wanted = folded(typed);
    const starting = [];
    const containing = [];
    const place = (label) => (label === this.suggestion ? 0 : this.candidates.has(label) ? 2 : 1);
    const offered = typed ? [...this.classes] : this.classes.filter((label) => !this.candidates.has(label));
    for (const label of offered.sort((a, b) => place(a) - place(b))) {
      const at = folded(label).indexOf(wanted);
      if (at === 0) starting.push({ label });
      else if (at > 0) containing.push({ label });
    }
    this.options = [...starting, ...containing].slice(0, SUGGESTIONS);
    if (typed && !this.classes.includes(typed)) this.options.push({ label: typed, isNew: true });
    // A whole label that was typed goes before longer ones that begin with it.
    this.active = Math.max(0, this.options.findIndex((option) => option.label === typed && !option.isNew));
    const hidden = starting.length + containing.length - SUGGESTIONS;
    this.note.textContent = hidden > 0 ? `${hidden} more labels: type to narrow them down.` : "";
    this.draw();
  }

  draw() {
    this.list.replaceChildren(
      ...this.options.map(({ label, isNew }, i) => {
        const option = make("li", isNew ? "new" : "", [userText("span", "", label)], {
          role: "option",
          id: `label-${i}`,
          "aria-selected": String(i === this.active),
        });
        if (isNew) option.append(make("small", "", "new label"));
        if (label === this.suggestion) option.append(make("small", "", "suggested"));
        option.addEventListener("click", () => this.take(label));
        return option;
      }),
    );
    this.input.setAttribute("aria-activedescendant", `label-${this.active}`);
    this.list.children[this.active]?.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !this.options.length) return;
    event.preventDefault();
    this.active = (this.active + step + this.options.length) % this.options.length;
    this.draw();
  }

  take(label) {
    if (label === undefined) return;
    if (label.includes(this.separator) && !this.classes.includes(label)) {
      this.note.textContent = `A label cannot contain “${this.separator}”, which separates labels.`;
      return;
    }
    this.dialog.close();
    this.onChosen(label);
  }
}
