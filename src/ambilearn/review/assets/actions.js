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
