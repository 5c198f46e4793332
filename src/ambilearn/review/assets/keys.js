// The keys.

const onCurrent = (action) => () => current && action(current);
const KEYS = {
  ArrowDown: () => move(1),
  j: () => move(1),
  ArrowUp: () => move(-1),
  k: () => move(-1),
  Home: () => goTo(list.items[0]),
  End: () => goTo(list.items.at(-1)),
  PageDown: () => move(5),
  PageUp: () => move(-5),
  Enter: onCurrent((row) => {
    if (data.blind) say("Choose a label by its number, or type it after o.");
    else choose(row, row.candidates[0].label);
  }),
  Delete: onCurrent((row) => choose(row, null)),
  Backspace: onCurrent((row) => choose(row, null)),
  s: onCurrent(takeSuggestion),
  o: onCurrent(askOther),
  i: onCurrent(zoom),
  e: onCurrent(toggle),
  u: undo,
  "/": () => byId("search").focus(),
  "?": () => openDialog("help"),
};
for (const [key, action] of Object.entries(moreActions.keys ?? {})) KEYS[key] = action;
const MOVING = new Set(["ArrowDown", "ArrowUp", "j", "k", "PageDown", "PageUp"]);
for (let digit = 1; digit <= 9; digit++) {
  KEYS[digit] = onCurrent((row) => {
    const candidate = row.candidates[digit - 1];
    if (candidate) choose(row, candidate.label);
    else say(`Row ${row.index} has no candidate ${digit}.`);
  });
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=radio]), select, textarea");
  if (document.querySelector("dialog[open]") || event.altKey || event.isComposing) return;
  if (typing) {
    const leaving = event.target.id === "search" ? ["Escape", "Enter", "ArrowDown"] : ["Escape"];
    if (!leaving.includes(event.key)) return;
    event.preventDefault();
    goTo(current);
    return;
  }
  const idle = document.body.classList.contains("idle"); // answers are not taken
  if (idle && !MOVING.has(event.key) && !["/", "?"].includes(event.key)) return;
  if (event.ctrlKey || event.metaKey) {
    if (event.key !== "z" || event.shiftKey) return;
    event.preventDefault();
    undo();
    return;
  }
  if (event.target.closest("button") && ["Enter", " "].includes(event.key)) return;
  if (event.target.closest("input") && ["ArrowDown", "ArrowUp"].includes(event.key)) return;
  const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  // A key that is held down moves on; it does not decide a hundred rows.
  if (!event.repeat || MOVING.has(event.key)) action();
});
