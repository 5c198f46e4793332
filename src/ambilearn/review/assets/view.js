// Which rows are shown, and in which order.

const byText = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** "undecided", "accepted" (the most confident candidate) or "corrected" (any other label). */
function statusOf(row, decisions) {
  const label = decisions.labelOf(row.index);
  if (label === null) return "undecided";
  if (data.blind) return "accepted"; // the page does not have the label that is checked
  return label === (decisions.before?.get(row.index) ?? row.candidates[0].label) ? "accepted" : "corrected";
}

/** The label a row has now: the decision, or else the most confident candidate. */
function currentLabel(row, decisions) {
  return decisions.labelOf(row.index) ?? row.candidates[0].label;
}

function byAmbiguity(a, b) {
  return a.margin - b.margin || a.candidates[0].confidence - b.candidates[0].confidence;
}

const SORT_ORDERS = {
  review: (a, b) => a.rank - b.rank || byAmbiguity(a, b),
  ambiguous: byAmbiguity,
  certain: (a, b) => byAmbiguity(b, a),
  table: () => 0,
  label: (a, b, decisions) =>
    byText.compare(currentLabel(a, decisions), currentLabel(b, decisions)) || byAmbiguity(a, b),
  candidates: (a, b) => b.candidates.length - a.candidates.length || byAmbiguity(a, b),
};

function folded(text) {
  return text.normalize("NFKC").toLowerCase();
}

/** Whether a row has all words of a query in its cells or labels; `#17` is the row 17 alone. */
function matcher(query, decisions) {
  const number = /^#(\d+)$/.exec(query.trim());
  if (number) return (row) => row.index === Number(number[1]);
  const words = folded(query).split(/\s+/).filter(Boolean);
  if (!words.length) return () => true;
  return (row) => {
    row.haystack ??= folded(
      [...row.cells, ...row.candidates.map((c) => c.label), row.suggestion ?? ""].join("\n"),
    );
    const decided = folded(decisions.labelOf(row.index) ?? "");
    return words.every((word) => row.haystack.includes(word) || decided.includes(word));
  };
}

/** The rows that pass all filters. */
function filteredRows(rows, decisions, { status, label, query }) {
  if (status === "all" && label === null && !query.trim()) return [...rows];
  const matches = matcher(query, decisions);
  return rows.filter(
    (row) =>
      (status === "all" || statusOf(row, decisions) === status) &&
      (label === null ||
        decisions.labelOf(row.index) === label ||
        row.candidates.some((candidate) => candidate.label === label)) &&
      matches(row),
  );
}

function sortedRows(rows, decisions, sort) {
  const compare = SORT_ORDERS[sort];
  return rows.sort((a, b) => compare(a, b, decisions) || a.index - b.index);
}

function countByStatus(total, decisions) {
  const counts = { all: total, undecided: total, accepted: 0, corrected: 0 };
  for (const [index, label] of decisions.labels) {
    if (label === null || !rowOf.has(index)) continue;
    counts.undecided--;
    counts[statusOf(rowOf.get(index), decisions)]++;
  }
  return counts;
}
