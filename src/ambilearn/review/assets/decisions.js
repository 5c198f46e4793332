// What the user has decided: kept in memory, in the browser's storage, and undone step by step.

class Decisions {
  /**
   * `given` are the labels that came with the page, by row (null: undecided). What is stored
   * goes before what was given, so that a given label can also be taken back.
   */
  constructor(key, given) {
    this.key = key;
    this.given = given;
    this.history = [];
    this.kept = true; // whether the browser keeps what we store
    this.unsaved = false; // whether something has changed since the last download
    this.load();
  }

  load() {
    this.labels = new Map();
    this.given.forEach((label, row) => label !== null && this.labels.set(row, label));
    try {
      localStorage.setItem(`${this.key}:test`, "1"); // some private windows read, but do not write
      localStorage.removeItem(`${this.key}:test`);
      const stored = JSON.parse(localStorage.getItem(this.key) ?? "[]");
      for (const [row, label] of Array.isArray(stored) ? stored : []) {
        const sound = row in this.given && (label === null || typeof label === "string");
        if (sound) this.labels.set(row, label === null ? null : normalizedLabel(label));
      }
    } catch {
      this.kept = false;
    }
  }

  labelOf(row) {
    return this.labels.get(row) ?? null;
  }

  /** Decide several rows in one step: pairs of row and label, null for undecided. */
  decide(pairs) {
    const changes = pairs.filter(([row, label]) => this.labelOf(row) !== label);
    if (!changes.length) return;
    this.history.push(changes.map(([row]) => [row, this.labelOf(row)]));
    this.apply(changes);
  }

  /** Take back the last step; returns the rows that changed. */
  undo() {
    const before = this.history.pop() ?? [];
    this.apply(before);
    return before.map(([row]) => row);
  }

  apply(pairs) {
    for (const [row, label] of pairs) this.labels.set(row, label);
    if (!pairs.length) return;
    this.unsaved = true;
    try {
      localStorage.setItem(this.key, JSON.stringify([...this.labels]));
    } catch {
      this.kept = false;
    }
  }

  /** Take over what another tab with the same data has stored. */
  reload() {
    this.history = [];
    this.load();
  }
}
