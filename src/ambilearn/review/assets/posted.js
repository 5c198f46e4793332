// Decisions that are posted to the server.

class PostedDecisions extends Decisions {
  constructor(connection) {
    super();
    this.connection = connection;
    this.key = null; // no storage of its own
    this.before = new Map(); // labels of the method when a row was decided
  }

  apply(pairs) {
    for (const [row, label] of pairs) {
      if (this.labelOf(row) === null && label !== null) this.before.set(row, upToDate(rows[row]).candidates[0].label);
    }
    super.apply(pairs);
  }

  keep(action) {
    this.connection.send(action);
  }

  /** Take over what the server has; actions that wait come on top. */
  replace(labels, steps) {
    this.labels = new Map(labels.map(([row, label]) => [row, label]));
    this.before = new Map(labels.map(([row, , before]) => [row, before]));
    this.history = steps.map(([name, before]) => ({ name, before }));
    for (const action of this.connection.waiting) {
      if (action.kind === "answer") {
        const before = action.labels.map(([row]) => [row, this.labelOf(row)]);
        this.history.push({ name: action.id, before });
        this.apply(action.labels);
      } else if (action.kind === "undo") this.apply(this.history.pop()?.before ?? []);
    }
  }
}

const connection = new Connection(document.body.dataset.review);

function makeDecisions() {
  return new PostedDecisions(connection);
}
