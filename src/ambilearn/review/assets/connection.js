// The connection to the server: actions wait until they are confirmed, and are sent in their order.

const RETRY = 1000; // milliseconds
const PART_LENGTH = 500_000; // characters of a request; the server takes four megabytes
// No connection, another address, parts are missing, too many requests, busy, the disk is full.
const MAY_SUCCEED_LATER = new Set([0, 403, 408, 428, 429, 503, 507]);

/** The labels of an answer in parts that are not too long for a request. */
function inParts(labels, limit = PART_LENGTH) {
  const parts = [];
  let length = Infinity;
  for (const pair of labels) {
    const more = JSON.stringify(pair).length + 1;
    if (length + more > limit) {
      parts.push([]);
      length = 0;
    }
    parts.at(-1).push(pair);
    length += more;
  }
  return parts;
}

class Connection {
  /** `onStatus()` is called when something about the connection changes. */
  constructor(key) {
    this.key = `${key}:waiting`;
    this.tab = this.#tabName();
    this.waiting = this.#stored(); // actions that are not confirmed
    this.online = true;
    this.writer = true; // whether this tab is the one in use
    this.refused = null; // why the server rejects this page
    this.unsaved = null; // why the server cannot write the journal
    this.onStatus = () => {};
    this.onRejected = () => {};
  }

  /** Send an action; it is kept until the server has confirmed it. */
  send(action) {
    this.waiting.push(action);
    this.#store();
    this.onStatus();
    this.flush();
  }

  async flush() {
    if (this.sending) return;
    this.sending = true;
    while (this.waiting.length && this.writer) {
      const [action] = this.waiting;
      const reply = await this.#act(action);
      this.unsaved = reply.status === 507 ? reply.body.error : null;
      this.onStatus();
      if (reply.status === 409) this.writer = false;
      else if (MAY_SUCCEED_LATER.has(reply.status)) await pause(RETRY);
      else {
        this.waiting.shift();
        this.#store();
        if (!reply.ok) this.onRejected(reply.body.error ?? "The server rejected an answer.");
      }
      this.onStatus();
    }
    this.sending = false;
  }

  /** Post an action; a large answer in parts, of which only the last one settles rows. */
  async #act(action) {
    const parts = action.kind === "answer" ? inParts(action.labels) : [];
    if (parts.some((part) => JSON.stringify(part).length > 2 * PART_LENGTH)) {
      return { ok: false, status: 413, body: { error: "A label is too long." } }; // the server hangs up
    }
    if (parts.length < 2) return this.post("act", action);
    const last = parts.pop();
    for (const [part, labels] of parts.entries()) {
      const reply = await this.post("part", { id: action.id, part, labels });
      if (!reply.ok) return reply;
    }
    return this.post("act", { ...action, labels: last, parts: parts.length });
  }

  /** Post to the server; the status is 0 if it cannot be reached. */
  async post(what, content = {}) {
    return this.#request(`${what}?tab=${this.tab}`, { method: "POST", body: JSON.stringify(content) });
  }

  /** The state of the review, when it is no longer the one named `since`. */
  async news(since, full) {
    this.listening = new AbortController();
    const { signal } = this.listening;
    return this.#request(`state?tab=${this.tab}&since=${since}${full ? "&full=1" : ""}`, { signal });
  }

  /** Rows like a row, the nearest first. */
  async similar(row) {
    const reply = await this.#request(`similar?tab=${this.tab}&row=${row}`);
    return reply.ok ? reply.body.rows : null;
  }

  async #request(address, options = {}) {
    let reply = { ok: false, status: 0, body: {} };
    try {
      const response = await fetch(address, { ...options, cache: "no-store" });
      reply = { ok: response.ok, status: response.status, body: await response.json() };
    } catch (error) {
      if (error.name === "AbortError") return { ...reply, aborted: true };
      // No connection, or one that ended too early.
    }
    const refused = reply.status === 403 ? reply.body.error : null;
    if (this.online !== reply.status > 0 || this.refused !== refused) {
      this.online = reply.status > 0;
      this.refused = refused;
      this.onStatus();
    }
    return reply;
  }

  /** The name of this tab, which a reload keeps. */
  #tabName() {
    try {
      const name = sessionStorage.getItem("ambilearn-tab") ?? newName();
      sessionStorage.setItem("ambilearn-tab", name);
      return name;
    } catch {
      return newName();
    }
  }

  #stored() {
    try {
      const stored = JSON.parse(localStorage.getItem(this.key) ?? "[]");
      return Array.isArray(stored) ? stored : [];
    } catch {
      return [];
    }
  }

  #store() {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.waiting));
    } catch {
      // Full, or not allowed: the actions are kept in memory.
    }
  }
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
