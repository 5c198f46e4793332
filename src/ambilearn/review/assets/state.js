// The state of the page: its data, the list of rows, and which of them is the current one.

const data = JSON.parse(document.getElementById("data").textContent);
const rows = data.rows.map((row, position) => {
  const [cells, raw, labels, confidences, image, , suggestion, problem, rank, given, margin, doubt] = row;
  return {
    index: data.numbers?.[position] ?? position, // in the table, of which the page may have only some rows
    rank, // place in the order of `ambilearn clean`, or 0
    cells,
    raw,
    image: image !== null && isSafe(image) ? image : null,
    problem: image !== null && !isSafe(image) ? "not allowed" : problem, // why it cannot be shown
    candidates: labels.map((label, i) => ({ label: data.classes[label], confidence: confidences[i] })),
    suggestion: suggestion === null ? null : data.classes[suggestion], // perhaps, if no candidate is right
    doubt, // probability that no candidate is right, in percent, if there is a suggestion
    givenLabel: given === null ? null : data.classes[given], // in a table with one label per row
    // Where no candidate has any confidence, a person chose another label: nothing is ambiguous.
    margin: margin ?? (confidences.length > 1 && confidences[0] > 0 ? confidences[0] - confidences[1] : 1),
  };
});
const rowOf = new Map(rows.map((row) => [row.index, row]));
const decisions = makeDecisions(data);
let reviewOrder = null; // rows in the order of the server; without one, `rank` decides
let upToDate = (row) => row; // a page on a server updates a row when it is needed

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en").format;
const settings = { status: "all", label: null, query: "", sort: "review" };
const otherLabel = new OtherLabel(byId("other"), data.classes, data.separator);
const knownLabels = new Set(data.classes);
let current = null; // the row that the keys act upon
const moreActions = {}; // of a page on a server

const list = new VirtualList(byId("scroller"), byId("list"), {
  estimate: estimatedHeight,
  draw: (row, place, old) =>
    drawCard(upToDate(row), {
      old,
      columns: data.columns,
      decision: decisions.labelOf(row.index),
      status: statusOf(row, decisions),
      current: row === current,
      place,
      total: list.items.length,
      actions: { choose, other: askOther, zoom, toggle, select, ...moreActions },
    }),
});

/**
 * Show what passes the filters now. The current row stays; if it is not among them, the one at
 * `place` becomes the current one.
 */
function showRows(place = 0) {
  const items = wantedRows();
  list.show(items);
  if (!list.has(current)) select(items[Math.min(place, items.length - 1)] ?? null);
  if (current) list.reveal(list.positionOf(current));
  byId("empty").hidden = items.length > 0;
  showCounts();
}

function wantedRows() {
  if (settings.sort === "review" && reviewOrder) return filteredRows(reviewOrder, decisions, settings);
  if (settings.sort !== "table") rows.forEach(upToDate);
  return sortedRows(filteredRows(rows, decisions, settings), decisions, settings.sort);
}

function showCounts() {
  learnLabels();
  const counts = countByStatus(rows.length, decisions);
  for (const output of document.querySelectorAll("[data-count]")) {
    output.textContent = number(counts[output.dataset.count]);
  }
  const decided = counts.accepted + counts.corrected;
  const progress = byId("progress");
  progress.setAttribute("aria-valuenow", String(decided));
  progress.setAttribute("aria-valuetext", `${decided} of ${rows.length} rows decided`);
  for (const status of ["accepted", "corrected"]) {
    progress.querySelector(`.${status}`).style.width = `${(counts[status] / rows.length) * 100}%`;
  }
  byId("decided").textContent = `${number(decided)} of ${number(rows.length)} decided`;
  byId("shown").textContent =
    list.items.length === rows.length ? "" : `${number(list.items.length)} shown`;
  byId("undo").disabled = decisions.history.length === 0;
  byId("download").disabled = decided === 0;
  byId("forget").disabled = decided === 0;
  byId("not-kept").hidden = decisions.kept;
  const empty = decided === rows.length && settings.status === "undecided";
  byId("empty-text").textContent = empty
    ? `Every row is decided. ${decisions.key === null ? "Finish the review" : "Download the labels"} to use them.`
    : "No row passes these filters.";
}

/** Offer labels that somebody typed wherever labels are offered. */
function learnLabels() {
  for (const label of decisions.labels.values()) {
    if (label === null || knownLabels.has(label)) continue;
    knownLabels.add(label);
    byId("label").append(new Option(shortened(label), String(data.classes.push(label) - 1)));
  }
}

function say(text) {
  byId("message").textContent = shortened(text);
}

function openDialog(id) {
  byId(id).showModal();
  byId(id).querySelector(".close").focus();
  byId(id).scrollTop = 0; // the button is at the end of a long text
}

function showProblem(title, text) {
  byId("problem-title").textContent = title;
  byId("problem-text").textContent = text;
  openDialog("problem");
}

/** Make a row the current one and let it have the focus, so that it is read out. */
function goTo(row, { reveal = true } = {}) {
  if (!row) return;
  select(row);
  const node = reveal ? list.reveal(list.positionOf(row)) : list.nodes.get(row);
  node?.focus({ preventScroll: true });
}

function select(row) {
  const before = list.nodes.get(current);
  current = row;
  if (before) markCurrent(before, false);
  if (list.nodes.has(row)) markCurrent(list.nodes.get(row), true);
}

function move(step) {
  const position = list.positionOf(current) ?? 0;
  goTo(list.items[Math.max(0, Math.min(list.items.length - 1, position + step))]);
}

/** The next undecided row below a position, or else the next row. */
function following(position) {
  const below = list.items.slice(position);
  return below.find((row) => decisions.labelOf(row.index) === null) ?? below[0];
}

// What a person does: decide, look closer, save and load.

function choose(row, label) {
  const position = list.positionOf(row);
  decisions.decide([[row.index, label]]);
  if (settings.status !== "all") showRows(position);
  else {
    list.redrawItem(row);
    showCounts();
  }
  say(label === null ? `Row ${row.index} is undecided again.` : `Row ${row.index}: ${label}`);
  const stays = list.has(row);
  if (label === null && stays) goTo(row);
  else goTo(following(stays ? position + 1 : position) ?? current);
}

function takeSuggestion(row) {
  if (row.suggestion === null) return say(`Row ${row.index} has no suggestion.`);
  choose(row, row.suggestion);
  return undefined;
}

function askOther(row) {
  otherLabel.open(`Another label for row ${row.index}`, (label) => choose(row, label), {
    suggestion: row.suggestion,
    candidates: row.candidates.map((candidate) => candidate.label),
  });
}

function undo() {
  const changed = decisions.undo();
  if (!changed.length) return say("There is nothing to undo.");
  showRows();
  const row = rowOf.get(changed[0]);
  say(changed.length > 1 ? `${number(changed.length)} rows restored.` : `Row ${row.index} restored.`);
  if (list.has(row)) goTo(row);
  return undefined;
}

function toggle(row) {
  row.expanded = !row.expanded;
  list.redrawItem(row);
  goTo(row);
}

function zoom(row) {
  if (row.image === null || row.unloaded) return say(`Row ${row.index} has no image.`);
  byId("zoomed").src = row.image;
  byId("zoomed").alt = `Image of row ${row.index}`;
  openDialog("zoom");
  return undefined;
}

function download() {
  const csv = new Blob([correctionsCsv(rows, decisions)], { type: "text/csv;charset=utf-8" });
  const link = make("a", "", [], { href: URL.createObjectURL(csv), download: data.download });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  decisions.unsaved = false;
  say(`Downloaded as ${data.download}.`);
  handBack();
}

async function importFile(file) {
  try {
    const pairs = readCorrections(await file.text(), rows, data.separator);
    decisions.decide(pairs);
    showRows();
    say(`${number(pairs.length)} decisions loaded from ${file.name}.`);
  } catch (error) {
    showProblem("The file was not loaded", shortened(error.message));
  }
}

function askForget() {
  byId("help").close();
  byId("forget-text").textContent = `${byId("decided").textContent}. All these rows become undecided again.`;
  openDialog("forgetting");
}

function forget() {
  byId("forgetting").close();
  decisions.decide([...decisions.labels.keys()].map((row) => [row, null]));
  showRows();
  say("All decisions are forgotten. Undo brings them back.");
}
