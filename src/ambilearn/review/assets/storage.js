// Decisions in the storage of the browser.

class StoredDecisions extends Decisions {
  /**
   * `given` are the labels that came with the page, by row (null: undecided). What is stored
   * goes before what was given, so that a given label can also be taken back.
   */
  constructor(key, given) {
    super();
    this.key = key;
    this.given = given;
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

  /** Store all decisions after a step. */
  keep() {
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

function makeDecisions(data) {
  const given = []; // labels that came with the page, by row of the table
  data.rows.forEach((row, position) => (given[rows[position].index] = row[5]));
  return new StoredDecisions(`ambilearn-review:${data.fingerprint}`, given);
}
