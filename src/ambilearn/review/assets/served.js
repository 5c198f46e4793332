// A page on a server: its state comes from there, and changes while a person looks at a row.

let journal = null; // the name of another file that has the answers now
let token = ""; // of the state that the page shows; empty to get everything

function decoded(text, Kind) {
  if (Uint8Array.fromBase64) return new Kind(Uint8Array.fromBase64(text).buffer);
  const signs = atob(text);
  const bytes = new Uint8Array(signs.length);
  for (let i = 0; i < signs.length; i++) bytes[i] = signs.charCodeAt(i); // faster than Uint8Array.from
  return new Kind(bytes.buffer);
}

const starts = new Uint32Array(rows.length); // of the candidates of each row, among all candidates
rows.forEach((row, i) => (starts[i + 1] = starts[i] + row.candidates.length));
let view = null; // confidences, suggestions, random and settled rows of the last state

/**
 * Update a row by the last state. A row that is decided or in hand stays as it was shown; so does one whose answer was
 * undone, until a state comes without this answer, by which its label is certain.
 */
upToDate = (row) => {
  const kept = row.view && row === current;
  if (view === null || row.view === view || kept || decisions.labelOf(row.index) !== null) return row;
  if (view.settled.has(row.index)) return row;
  row.view = view;
  row.given ??= row.candidates.map((candidate) => candidate.label);
  row.candidates = row.given
    .map((label, i) => ({ label, confidence: view.confidences[starts[row.index] + i] / 65535 }))
    .sort((a, b) => b.confidence - a.confidence);
  const [first, second] = row.candidates;
  row.margin = second && first.confidence > 0 ? first.confidence - second.confidence : 1;
  const { place, doubt } = view.suggestions.get(row.index) ?? {};
  const suggestion = data.classes[place] ?? null;
  row.doubt = doubt ?? null;
  row.suggestion = row.given.includes(suggestion) ? null : suggestion;
  row.drawn = view.drawn.has(row.index);
  return row;
};

/** Take over order, confidences and suggestions. The current row and the rows above it keep their places. */
function applyView(state) {
  const [doubtful, classes, percents] = state.suggestions.map((text) => decoded(text, Int32Array));
  view = {
    confidences: decoded(state.confidences, Uint16Array),
    suggestions: new Map(Array.from(doubtful, (row, i) => [row, { place: classes[i], doubt: percents[i] }])),
    drawn: new Set(state.drawn),
    settled: new Set(decoded(state.settled, Int32Array)),
  };
  const last = settings.sort === "review" ? list.positionOf(current) ?? -1 : -1;
  reviewOrder = list.items.slice(0, last + 1);
  const kept = new Uint8Array(rows.length); // faster than to look at each of many rows
  for (const row of reviewOrder) kept[row.index] = 1;
  for (const index of decoded(state.order, Int32Array)) if (!kept[index]) reviewOrder.push(rows[index]);
}

/** Draw the current row anew; it keeps the focus. */
function drawInHand() {
  const focused = list.nodes.get(current)?.contains(document.activeElement);
  list.redrawItem(current);
  if (focused) list.nodes.get(current).focus({ preventScroll: true });
}

function showState(state) {
  const first = token === "";
  const row = current;
  const waits = row && !row.view; // its answer, from before the page was loaded, was undone
  token = state.token;
  const wasWriter = connection.writer;
  connection.writer = state.writer;
  if (state.labels) decisions.replace(state.labels, state.steps);
  if (state.order) applyView(state);
  const isSorted = state.labels || settings.sort === "review";
  if (first) showRows();
  else if (state.order || state.labels) list.reorder(isSorted ? wantedRows() : list.items, current);
  if (!list.has(current)) current = list.items[0] ?? null;
  if (waits && row === current && upToDate(row).view) {
    drawInHand();
    if (state.n_unlearned) row.view = null; // the next fit is better
  }
  showCounts();
  showWorth(state);
  showConnection();
  if (state.writer && !wasWriter && !state.labels) token = ""; // everything may have changed
  connection.flush();
}

/** Get everything from the server, now. */
function refresh() {
  token = "";
  connection.listening?.abort();
}

function showWorth(state) {
  const corrected = document.querySelector("[data-count=corrected]").textContent;
  const parts = [`${corrected} corrected`, `${number(state.n_changed)} other ${state.n_changed === 1 ? "label" : "labels"} changed`];
  if (state.share) {
    const [share, low, high] = state.share.map((each) => Math.round(each * 100));
    parts.push(`about ${share} % of all labels are right (${low} to ${high} %, by ${state.n_random} random rows)`);
  } else parts.push("no estimate before ten random rows");
  byId("worth").textContent = `${parts.join(", ")}.`;
  byId("worth").hidden = state.n_settled === 0;
  byId("sentence").textContent = state.hint ?? "";
  byId("sentence").hidden = !state.hint;
  byId("notice").textContent = state.notice ?? "";
  byId("notice").hidden = !state.notice;
  journal = state.journal;
  byId("learning").textContent = state.problem
    ? `The method cannot be fitted again: ${state.problem}`
    : learning(state);
}

function countAnswers(count) {
  return `${number(count)} ${count === 1 ? "answer is" : "answers are"}`;
}

/** Whether order and fit include all answers. */
function learning({ n_unlearned, has_update, is_fitting }) {
  if (!n_unlearned) return is_fitting ? "Learning: the order of the rows may still change." : "Up to date";
  const missing = `${countAnswers(n_unlearned)} not yet in the ${has_update ? "" : "order and the "}fit`;
  return is_fitting ? `Learning: ${missing}` : missing;
}

const CHANGING = ["list", "undo", "load", "several", "finish", "forget"];

/** Show problems of the connection. Nothing can be decided in a page whose answers are not taken. */
function showConnection() {
  const waiting = connection.waiting.length;
  const text = ended
    ? "The review has ended. You can close this tab."
    : connection.refused ??
      (!connection.online
        ? `No connection. ${waiting ? `${countAnswers(waiting)} kept here and will be sent when the connection is back.` : "Trying again."}`
        : !connection.writer
          ? "This review is open in another tab or window."
          : "");
  byId("connection-text").textContent = text;
  byId("connection").hidden = !text;
  byId("take").hidden = connection.writer || !connection.online || ended;
  const reason = connection.unsaved ? `: ${connection.unsaved}` : "";
  byId("saved").textContent = waiting ? `${number(waiting)} not saved yet${reason}` : "All answers are saved.";
  byId("saved").classList.toggle("failed", Boolean(waiting && reason));
  const idle = ended || !connection.writer;
  document.body.classList.toggle("idle", idle);
  for (const id of CHANGING) byId(id).inert = idle;
  document.documentElement.dataset.waiting = String(waiting);
}

let ended = false;
connection.onStatus = showConnection;
connection.onRejected = (text) => {
  refresh();
  showProblem("An answer was rejected", text);
};

async function listen() {
  while (!ended) {
    const reply = await connection.news(token, token === "" || !connection.writer);
    if (reply.ok) {
      ended = reply.body.ended;
      showState(reply.body);
      if (document.documentElement.dataset.ready !== "true") ready();
      await pause(rows.length / 100); // a new order of many rows keeps keys waiting: not too often
    } else if (!reply.aborted) await pause(RETRY);
  }
  showConnection();
}

function ready() {
  goTo(following(0), { reveal: Boolean(decisions.labels.size) });
  document.documentElement.dataset.ready = "true";
}

byId("take").addEventListener("click", async () => {
  await connection.post("take");
  refresh();
});
byId("several").addEventListener("click", askSeveral);
byId("finish").addEventListener("click", () => {
  byId("finish-text").textContent = `${byId("decided").textContent}. ${byId("worth").hidden ? "" : byId("worth").textContent}`;
  byId("finish-command").textContent = journal === null ? "" : ` with --journal ${journal}`;
  byId("finish-now").disabled = connection.waiting.length > 0;
  openDialog("finishing");
});
byId("finish-now").addEventListener("click", async () => {
  const reply = await connection.post("end");
  byId("finishing").close();
  if (!reply.ok) return say("The server did not answer.");
  ended = true;
  showConnection();
  return undefined;
});
addEventListener("pagehide", () => {
  navigator.sendBeacon(`leave?tab=${connection.tab}`, "{}");
});
addEventListener("online", () => connection.flush());
listen();
