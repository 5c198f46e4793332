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

moreActions.similar = askSimilar;

moreActions.keys = {
  n: () => current && moreActions.skip(current),
  m: () => current && moreActions.mark(current),
  b: () => askSeveral(),
  l: () => current && askSimilar(current),
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

/** Give a label to a row and to rows like it, which the server finds while the label is typed. */
function askSimilar(row) {
  const known = decisions.labelOf(row.index);
  if (known === null && row.drawn) {
    return say(`Row ${row.index} is a random row: label it first, so that the estimate stays right.`);
  }
  const found = connection.similar(row.index);
  const show = async (label) => {
    const nearest = await found;
    if (nearest === null) return say("The server did not answer.");
    const similar = nearest.map((index) => rows[index]).filter((each) => decisions.labelOf(each.index) === null);
    if (!similar.length) return say(`No other row like row ${row.index} is known.`);
    const fits = (each) => each === row || each.candidates.some((one) => one.label === label);
    return preview(known === null ? [row, ...similar] : similar, label, fits);
  };
  if (known !== null) return show(known);
  const labels = upToDate(row).candidates.map((candidate) => candidate.label);
  const title = `Label of row ${row.index} and of rows like it`;
  otherLabel.open(title, show, { suggestion: labels[0] ?? null });
  return undefined;
}

/** Show what will change; rows can be left out. Only rows that `fits` are chosen at first. */
function preview(chosen, label, fits = () => true) {
  const boxes = chosen.slice(0, PREVIEWED).map((row) => {
    const box = make("input", "", [], { type: "checkbox" });
    box.checked = fits(row);
    box.row = row;
    box.addEventListener("change", count);
    const cell = row.cells.find((each) => each !== "") ?? "";
    const now = currentLabel(upToDate(row), decisions);
    const change = now === label ? label : `${now} → ${label}`;
    const text = userText("span", "", `Row ${row.index}: ${change}`);
    const parts = [box, make("div", "", [text, userText("small", "", cell, 60)])];
    if (row.image !== null && !row.unloaded) {
      const attributes = { src: row.image, alt: "", loading: "lazy", referrerpolicy: "no-referrer" };
      parts.splice(1, 0, make("img", "", [], attributes));
    }
    return make("li", "", make("label", "", parts));
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
