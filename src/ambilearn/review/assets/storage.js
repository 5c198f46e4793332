// Decisions in the storage of the browser.

// Some loads of a file in Chromium 156 have a localStorage of their own, which the next load does
// not see. What a reload needs is in the storage of the tab, too.
const STORAGES = ["localStorage", "sessionStorage"];

/** What is stored: pairs of row and label, when they were stored, and what the page had given. */
function stored(name, key) {
  try {
    const found = JSON.parse(window[name].getItem(key));
    const labels = Array.isArray(found) ? found : found.labels; // in version 0.1 only a list
    const given = Array.isArray(found.given) ? found.given.filter(Array.isArray) : null;
    return { time: Number(found.time) || 0, labels: labels.filter(Array.isArray), given };
  } catch {
    return { time: 0, labels: [], given: null };
  }
}

class StoredDecisions extends Decisions {
  /**
   * `given` are the labels that came with the page, by row (null: undecided). Stored decisions take
   * precedence, so that a given label can also be taken back; unless another label is given now.
   */
  constructor(key, given) {
    super();
    this.key = key;
    this.given = given;
    const before = this.load();
    if (before) this.#takeNew(new Map(before));
  }

  /** Load what is stored; returns what was given then, null if that is not known. */
  load() {
    this.labels = new Map();
    this.given.forEach((label, row) => label !== null && this.labels.set(row, label));
    try {
      localStorage.setItem(`${this.key}:test`, "1"); // some private windows read, but do not write
      localStorage.removeItem(`${this.key}:test`);
    } catch {
      this.kept = false;
    }
    const [shared, own] = STORAGES.map((name) => stored(name, this.key));
    const { time, labels, given } = own.time > shared.time ? own : shared;
    this.time = time; // when they were stored, in milliseconds
    for (const [row, label] of labels) {
      const sound = row in this.given && (label === null || typeof label === "string");
      if (sound) this.labels.set(row, label === null ? null : normalizedLabel(label));
    }
    if (own.time > shared.time) this.keep(); // also for other tabs
    return given;
  }

  /** Take the labels that were given since the decisions were stored, as a step to undo. */
  #takeNew(before) {
    const now = new Map(this.#labelsGiven());
    const changed = [...new Set([...before.keys(), ...now.keys()])].filter(
      (row) => row in this.given && before.get(row) !== now.get(row),
    );
    const pairs = changed.map((row) => [row, now.get(row) ?? null]);
    this.newlyGiven = pairs.filter(([row, label]) => this.labelOf(row) !== label).length;
    if (this.newlyGiven) this.decide(pairs);
  }

  #labelsGiven() {
    return [...this.given.entries()].filter(([, label]) => (label ?? null) !== null);
  }

  /** Store all decisions after a step. */
  keep() {
    this.time = Math.max(this.time + 1, Date.now());
    const given = this.#labelsGiven();
    const text = JSON.stringify({ time: this.time, labels: [...this.labels], given });
    for (const name of STORAGES) {
      try {
        window[name].setItem(this.key, text);
      } catch {
        this.kept &&= name !== "localStorage";
      }
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
