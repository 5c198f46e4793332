// CSV as RFC 4180 has it. Text is always quoted, so that nothing in a label needs a special case.

/** A label in the form that labels of tables are read in: _utils/labels.py. */
function normalizedLabel(text) {
  const visible = text.replace(/[\u200b\u2060\ufeff]/g, "").replaceAll("\u00a0", " ");
  return visible.normalize("NFC").trim();
}

/** The candidates of a row, to compare: normalized, each once, in one order. */
function candidateKey(text, separator) {
  const labels = normalizedLabel(text).split(separator).map(normalizedLabel);
  return JSON.stringify([...new Set(labels)].sort());
}

function quoted(text) {
  return `"${text.replaceAll('"', '""')}"`;
}

/** Text of the corrections file: one line per decided row, in the order of the table. */
function correctionsCsv(rows, decisions) {
  const lines = rows
    .filter((row) => decisions.labelOf(row.index) !== null)
    .map((row) => `${row.index},${quoted(row.raw)},${quoted(decisions.labelOf(row.index))}\n`);
  return `row,candidates,label\n${lines.join("")}`;
}

/** Cells of a CSV text, as an array of records. */
function parseCsv(text) {
  const records = [];
  let record = [];
  let cell = "";
  let inQuotes = false;
  const endRecord = () => {
    record.push(cell);
    if (record.length > 1 || record[0] !== "") records.push(record); // empty lines are no records
    record = [];
    cell = "";
  };
  const start = text.startsWith("\ufeff") ? 1 : 0;
  for (let i = start; i < text.length; i++) {
    const sign = text[i];
    if (inQuotes) {
      if (sign !== '"') cell += sign;
      else if (text[i + 1] === '"') cell += text[++i];
      else inQuotes = false;
    } else if (sign === '"' && cell === "") inQuotes = true;
    else if (sign === ",") {
      record.push(cell);
      cell = "";
    } else if (sign === "\n" || sign === "\r") endRecord();
    else cell += sign;
  }
  if (inQuotes) throw new Error("A quotation mark is opened in this file and never closed.");
  if (cell !== "" || record.length) endRecord();
  return records;
}

/** Decisions in a corrections file, as pairs of row and label. A file of another table is an error. */
function readCorrections(text, rows, separator) {
  const [header, ...records] = parseCsv(text);
  const position = (name) => {
    const found = header ? header.indexOf(name) : -1;
    if (found < 0) {
      throw new Error(`This is no corrections file: its header has no column “${name}”.`);
    }
    return found;
  };
  const seen = new Set();
  const known = new Map(rows.map((row) => [row.index, row]));
  const [rowAt, candidatesAt, labelAt] = ["row", "candidates", "label"].map(position);
  return records.map((record, i) => {
    const row = /^\d+$/.test(record[rowAt]) ? known.get(Number(record[rowAt])) : undefined;
    if (row === undefined) {
      throw new Error(`Line ${i + 2}: this table has no row “${record[rowAt]}”.`);
    }
    if (candidateKey(record[candidatesAt] ?? "", separator) !== candidateKey(row.raw, separator)) {
      throw new Error(
        `The file belongs to another table: row ${row.index} has the candidates ` +
          `“${record[candidatesAt] ?? ""}” there and “${row.raw}” here.`,
      );
    }
    if (seen.has(row)) throw new Error(`Line ${i + 2}: row ${row.index} occurs a second time.`);
    seen.add(row);
    const label = normalizedLabel(record[labelAt] ?? "");
    if (!label) throw new Error(`Line ${i + 2}: row ${row.index} has no label.`);
    return [row.index, label];
  });
}
