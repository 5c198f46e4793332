// What the user has decided, and how it is undone step by step.

class Decisions {
  constructor() {
    this.labels = new Map();
    this.history = []; // of steps {name, before}, where before are pairs of row and label
    this.kept = true; // whether decisions survive the closing of the page
    this.unsaved = false; // whether something has changed since the last download
  }

  labelOf(row) {
    return this.labels.get(row) ?? null;
  }

  /** Decide several rows in one step: pairs of row and label, null for undecided. */
  decide(pairs) {
    const changes = pairs.filter(([row, label]) => this.labelOf(row) !== label);
    if (!changes.length) return;
    const before = changes.map(([row]) => [row, this.labelOf(row)]);
    const name = newName();
    this.history.push({ name, before });
    this.apply(changes);
    this.keep({ id: name, kind: "answer", labels: changes });
  }

  /** Take back the last step; returns the rows that changed. */
  undo() {
    const step = this.history.pop();
    if (!step) return [];
    this.apply(step.before);
    this.keep({ id: newName(), kind: "undo", of: step.name });
    return step.before.map(([row]) => row);
  }

  apply(pairs) {
    for (const [row, label] of pairs) this.labels.set(row, label);
    this.unsaved = true;
  }
}

/** A name that no other step has. */
function newName() {
  return [...crypto.getRandomValues(new Uint32Array(3))].map((n) => n.toString(36)).join("");
}
