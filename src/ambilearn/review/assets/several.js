// One label for several rows: choose the label, look at the preview, confirm.

const PREVIEWED = 200;

moreActions.skip = (row) => {
  connection.send({ id: newName(), kind: "skip", row: row.index });
  reviewOrder = [...reviewOrder.filter((each) => each !== row), row];
  const place = list.positionOf(row);
  say(`Row ${row.index} is skipped. It comes again at the end.`);
  goTo(following(place + 1) ?? row);
};

moreActions.mark = (row) => {
  row.marked = !row.marked;
  list.redrawItem(row);
  showMarks();
  goTo(row);
};

moreActions.keys = {
  n: () => current && moreActions.skip(current),
  m: () => current && moreActions.mark(current),
  b: () => askSeveral(),
};

function showMarks() {
  const marked = rows.filter((row) => row.marked).length;
  byId("several").textContent = marked ? `Label ${number(marked)} marked…` : "Several rows…";
}

/** The marked rows, or else all undecided rows that are shown. */
function chosenRows() {
  const marked = rows.filter((row) => row.marked);
  return marked.length ? marked : list.items.filter((row) => decisions.labelOf(row.index) === null);
}

function askSeveral() {
  const chosen = chosenRows();
  if (!chosen.length) return say("Every row that is shown is decided.");
  const title = `One label for ${number(chosen.length)} ${chosen.length > 1 ? "rows" : "row"}`;
  otherLabel.open(title, (label) => preview(chosen, label));
  return undefined;
}

/** Show what will change; rows can be left out. */
function preview(chosen, label) {
  const boxes = chosen.slice(0, PREVIEWED).map((row) => {
    const box = make("input", "", [], { type: "checkbox" });
    box.checked = true;
    box.row = row;
    box.addEventListener("change", count);
    const cell = row.cells.find((each) => each !== "") ?? "";
    const now = currentLabel(upToDate(row), decisions);
    const text = userText("span", "", `Row ${row.index}: ${now} → ${label}`);
    return make("li", "", make("label", "", [box, text, userText("small", "", cell, 60)]));
  });
  const rest = chosen.slice(PREVIEWED);
  if (rest.length) boxes.push(make("li", "", `and ${number(rest.length)} more rows`));
  byId("preview-rows").replaceChildren(...boxes);
  byId("preview-title").textContent = `Label ${shortened(label, 60)}`;
  const taken = () => [
    ...[...byId("preview-rows").querySelectorAll("input")].filter((box) => box.checked).map((box) => box.row),
    ...rest,
  ];
  function count() {
    const n = taken().length;
    byId("preview-take").textContent = `Set ${number(n)} ${n === 1 ? "label" : "labels"}`;
    byId("preview-take").disabled = n === 0;
  }
  count();
  byId("preview-take").onclick = () => {
    const settled = taken();
    byId("preview").close();
    decisions.decide(settled.map((row) => [row.index, label]));
    for (const row of chosen) row.marked = false;
    showMarks();
    showRows();
    say(`${number(settled.length)} ${settled.length === 1 ? "row" : "rows"}: ${label}`);
    goTo(following(0) ?? current);
  };
  openDialog("preview");
}
