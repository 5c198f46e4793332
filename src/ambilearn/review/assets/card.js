// One row as a card: image, cells, candidates with bars. User content only ever becomes text.

const CANDIDATES_SHOWN = 9; // as many as there are number keys
// Characters of a text that are shown: a browser takes minutes to lay out a megabyte without a blank.
const TEXT_SHOWN = 1000;
const WHOLE_TEXT_SHOWN = 20_000;
const SAFE_ADDRESSES = new Set(["http:", "https:", "file:", "data:"]);

/** A new element; `content` is text or child elements. */
function make(tag, className, content = [], attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...[content].flat());
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** The beginning of a text, and how long it is, if it is too long to be shown. */
function shortened(text, limit = TEXT_SHOWN) {
  if (text.length <= limit) return text;
  const half = /[\ud800-\udbff]/.test(text[limit - 1]); // of a character, whose other half is cut off
  return `${text.slice(0, half ? limit - 1 : limit)}… (${text.length.toLocaleString("en")} characters)`;
}

/** An element with text of the user, which may run from right to left. */
function userText(tag, className, text, limit = TEXT_SHOWN) {
  return make(tag, className, shortened(text, limit), { dir: "auto" });
}

/** A calibrated confidence as per cent; a score as a number, since it is not a probability. */
function shownConfidence(share) {
  if (!data.calibrated) return share.toFixed(2);
  if (share > 0 && share < 0.005) return "< 1 %";
  if (share < 1 && share >= 0.995) return "> 99 %";
  return `${Math.round(share * 100)} %`;
}

function isSafe(address) {
  try {
    return SAFE_ADDRESSES.has(new URL(address, document.baseURI).protocol);
  } catch {
    return false;
  }
}

/** Whether the table names an image for the row, which perhaps cannot be shown. */
function isPictured(row) {
  return row.image !== null || row.problem !== null;
}

function drawImage(row, onZoom) {
  const missing = () => make("div", "picture missing", make("span", "", `image ${row.problem ?? "cannot be loaded"}`));
  if (row.image === null) return missing();
  const image = make("img", "", [], {
    alt: `Image of row ${row.index}`,
    loading: "lazy",
    decoding: "async",
    referrerpolicy: "no-referrer",
  });
  const button = make("button", "picture", image, { type: "button", tabindex: "-1" });
  button.setAttribute("aria-label", `Enlarge the image of row ${row.index}`);
  image.addEventListener("error", () => {
    row.unloaded = true; // the next card of the row tries again
    button.replaceWith(missing());
  });
  image.addEventListener("load", () => (row.unloaded = false));
  button.addEventListener("click", () => onZoom(row));
  image.src = row.image;
  return button;
}

function drawCells(row, columns) {
  const shown = columns
    .map((name, i) => [name, row.cells[i]])
    .filter(([, value]) => value !== "")
    .slice(0, row.expanded ? Infinity : data.shown);
  const list = make("dl", row.expanded ? "cells expanded" : "cells");
  for (const [name, value] of shown) {
    const wide = value.length > 24 ? "wide" : "";
    const limit = row.expanded ? WHOLE_TEXT_SHOWN : TEXT_SHOWN;
    list.append(make("div", wide, [userText("dt", "", name), userText("dd", "", value, limit)]));
  }
  return list;
}

/** Whether the page shows confidences of a row: not in an audit, nor where the method has none. */
function isScored(row) {
  return !data.blind && row.candidates.some(({ confidence }) => confidence > 0);
}

function drawCandidate(row, i, decision, onChoose) {
  const { label, confidence } = row.candidates[i];
  const chosen = label === decision;
  const fill = make("span", "fill");
  fill.style.width = `${Math.max(0, Math.min(1, confidence)) * 100}%`;
  const note = label === row.givenLabel ? "given" : label === row.suggestion ? "suggestion" : "";
  const name = userText("span", "name", label);
  const parts = [
    make("kbd", "", chosen ? "✓" : i < 9 ? String(i + 1) : "", { "aria-hidden": "true" }),
    note ? make("span", "noted", [name, make("small", "note", note)]) : name,
  ];
  if (isScored(row)) {
    parts.push(make("span", "bar", fill, { "aria-hidden": "true" }));
    parts.push(make("span", "share", shownConfidence(confidence)));
  }
  const button = make(
    "button",
    ["candidate", i === 0 && !data.blind ? "top" : "", chosen ? "chosen" : ""].join(" ").trim(),
    parts,
    { type: "button", "aria-pressed": String(chosen) },
  );
  button.addEventListener("click", () => onChoose(label));
  return button;
}

/** A label that is no candidate and probably right nevertheless. */
function drawSuggestion(row, decision, onChoose) {
  const chosen = row.suggestion === decision;
  const button = make(
    "button",
    `candidate suggestion ${chosen ? "chosen" : ""}`.trim(),
    [
      make("kbd", "", chosen ? "✓" : "s", { "aria-hidden": "true" }),
      userText("span", "name", row.suggestion),
      make("span", "share", chosen ? "not a candidate" : `no candidate fits well${row.doubt === null ? "" : ` (${row.doubt} %)`}`),
    ],
    { type: "button", "aria-pressed": String(chosen) },
  );
  button.addEventListener("click", () => onChoose(row.suggestion));
  return button;
}

/** The label of a decision that is none of the candidates. */
function drawForeign(label) {
  return make("div", "candidate foreign chosen", [
    make("kbd", "", "✓", { "aria-hidden": "true" }),
    userText("span", "name", label),
    make("span", "share", "not a candidate"),
  ]);
}

/**
 * A card, in the place of an `old` one. `actions` are `choose(row, label)`, `other(row)`, `zoom(row)`, `toggle(row)`,
 * `select(row)` and, on a server, `skip(row)` and `similar(row)`; `place` is the position in the list, of `total`.
 */
function drawCard(row, { old, columns, decision, status, current, place, total, actions }) {
  const single = row.candidates.length === 1 && row.givenLabel === null;
  const margin = single ? "one candidate" : `margin ${row.margin.toFixed(2)}`;
  const head = make("div", "head", [
    make("h2", "", `Row ${row.index}`, { id: `row-${row.index}` }),
    make("span", "margin", isScored(row) ? margin : "", {
      title: "How far the first label is ahead of the best other label",
    }),
    make("span", `chip ${status}`, data.blind && status !== "undecided" ? "checked" : status),
  ]);
  if (row.drawn) {
    const title = "Drawn at random, to estimate the share of right labels";
    head.append(make("span", "chip drawn", "random row", { title }));
  }
  if (row.marked) head.append(make("span", "chip marked", "marked"));
  const info = make("div", "info", [head, drawCells(row, columns)]);

  const decided = row.candidates.findIndex((candidate) => candidate.label === decision);
  const count = row.expanded ? row.candidates.length : CANDIDATES_SHOWN;
  const shown = [...row.candidates.keys()].filter((i) => i < count || i === decided);
  const candidates = make(
    "div",
    "candidates",
    shown.map((i) => drawCandidate(row, i, decision, (label) => actions.choose(row, label))),
    { role: "group", "aria-label": `Candidates of row ${row.index}` },
  );
  if (row.suggestion !== null && !row.candidates.some(({ label }) => label === row.suggestion)) {
    candidates.append(drawSuggestion(row, decision, (label) => actions.choose(row, label)));
  }
  if (decision !== null && decided < 0 && decision !== row.suggestion) {
    candidates.append(drawForeign(decision));
  }
  const footer = make("div", "more");
  const other = make("button", "link", "None of these…", { type: "button" });
  other.addEventListener("click", () => actions.other(row));
  footer.append(other);
  const further = { "More like this": actions.similar, Skip: decision === null && actions.skip };
  for (const [text, act] of Object.entries(further)) {
    if (!act) continue;
    const button = make("button", "link", text, { type: "button" });
    button.addEventListener("click", () => act(row));
    footer.append(button);
  }
  const filled = row.cells.filter((cell) => cell !== "").length;
  const long = row.cells.some((cell) => cell.length > 200);
  if (row.candidates.length > CANDIDATES_SHOWN || filled > data.shown || long) {
    const text = row.expanded
      ? "Show less"
      : row.candidates.length > CANDIDATES_SHOWN
        ? `All ${row.candidates.length} candidates`
        : filled > data.shown
          ? `All ${filled} columns`
          : "Whole text";
    const toggle = make("button", "link", text, { type: "button" });
    toggle.setAttribute("aria-expanded", String(Boolean(row.expanded)));
    toggle.addEventListener("click", () => actions.toggle(row));
    footer.append(toggle);
  }
  candidates.append(footer);

  // The picture of the old card is taken over: a new one would flicker.
  const picture = old?.querySelector(".picture:not(.missing)") ?? (isPictured(row) && drawImage(row, actions.zoom));
  const parts = picture ? [picture, info, candidates] : [info, candidates];
  const card = make("article", `card ${status} ${picture ? "pictured" : ""}`, parts, {
    "aria-labelledby": `row-${row.index}`,
    "aria-posinset": String(place + 1),
    "aria-setsize": String(total),
  });
  card.dataset.row = row.index;
  markCurrent(card, current);
  card.addEventListener("pointerdown", () => actions.select(row));
  return card;
}

/** Mark a card as the current one or not; only the current one is reached by Tab. */
function markCurrent(card, current) {
  if (current) card.setAttribute("aria-current", "true");
  else card.removeAttribute("aria-current");
  card.tabIndex = current ? 0 : -1;
  for (const button of card.querySelectorAll("button:not(.picture)")) {
    button.tabIndex = current ? 0 : -1;
  }
}

/** Height of a card that has not been drawn yet, a guess. */
function estimatedHeight(row) {
  const lines = Math.min(row.candidates.length, 9) + (row.suggestion === null ? 0 : 1);
  return Math.max(isPictured(row) ? 150 : 90, 66 + 36 * lines);
}
