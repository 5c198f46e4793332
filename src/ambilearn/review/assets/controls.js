// The controls, and the start.

const PRINTED_ROWS = 1000;
let byPointer = false; // whether the last thing the user did was by mouse or finger
addEventListener("pointerdown", () => (byPointer = true), true);
addEventListener("keydown", () => (byPointer = false), true);

/** After a click on a control the keys belong to the rows again; who tabs there stays there. */
function handBack() {
  if (byPointer) goTo(current, { reveal: false });
}

/** Show the rows after a control has changed what is wanted. */
function showWanted(change) {
  Object.assign(settings, change);
  showRows();
  handBack();
}

for (const radio of document.querySelectorAll("[name=status]")) {
  radio.addEventListener("change", () => showWanted({ status: radio.value }));
}
byId("label").append(...data.classes.map((label, i) => new Option(shortened(label), String(i))));
byId("label").addEventListener("change", (event) => {
  const chosen = event.target.value;
  showWanted({ label: chosen === "" ? null : data.classes[Number(chosen)] });
});
byId("sort").addEventListener("change", (event) => {
  current = null;
  showWanted({ sort: event.target.value });
});
byId("search").addEventListener("input", (event) => {
  settings.query = event.target.value;
  showRows();
});
byId("clear-filters").addEventListener("click", () => {
  byId("search").value = byId("label").value = "";
  document.querySelector("[name=status][value=all]").checked = true;
  showWanted({ status: "all", label: null, query: "" });
  goTo(current);
});
byId("undo").addEventListener("click", undo);
byId("download").addEventListener("click", download);
byId("load").addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", (event) => {
  if (event.target.files.length) importFile(event.target.files[0]);
  event.target.value = ""; // the same file may be chosen again
});
byId("show-help").addEventListener("click", () => openDialog("help"));
byId("forget").addEventListener("click", askForget);
byId("forget-now").addEventListener("click", forget);
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.querySelector(".close")?.addEventListener("click", () => dialog.close());
}

addEventListener("storage", (event) => {
  if (event.key !== decisions.key) return;
  decisions.reload();
  showRows();
});
addEventListener("resize", () => {
  if (document.activeElement === document.body) goTo(current); // its card was not drawn before
});
addEventListener("beforeunload", (event) => {
  if ((!decisions.kept && decisions.unsaved) || decisions.connection?.waiting.length) event.preventDefault();
});
addEventListener("beforeprint", () => {
  list.drawAll(PRINTED_ROWS);
  const [printed, all] = [list.nodes.size, list.items.length].map((count) => number(count));
  byId("cut").textContent = printed === all ? "" : `The first ${printed} of ${all} rows.`;
});
addEventListener("afterprint", () => list.update());

if (decisions.key !== null) {
  showRows();
  goTo(following(0), { reveal: Boolean(decisions.labels.size) });
  if (decisions.newlyGiven) {
    const count = decisions.newlyGiven;
    say(`${number(count)} ${count === 1 ? "row follows" : "rows follow"} the new corrections.`);
  }
  document.documentElement.dataset.ready = "true";
}
