// Files that the reader takes away: made here, handed to the browser, sent nowhere.

const save = (name, type, text) => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
};

const fileName = (what) => `${page.space.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 60) || "study"}-${what}`;

// A cell of a table that a spreadsheet must not take for a formula.
const csvCell = (value) => {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

// Numbers are SI, as in trials.csv: all digits that the page has.
const csvValue = (column, row) => {
  const value = column.values[row];
  if (!column.isNumber) return value ? column.names[value - 1] : "";
  if (!Number.isFinite(value)) return "";
  return column.role === "metric" ? Number(value.toPrecision(7)) : value;
};

const csvText = (rows) => {
  const lines = [columns.map((column) => csvCell(column.key))];
  for (const row of rows) lines.push(columns.map((column) => csvCell(csvValue(column, row))));
  return `${lines.map((cells) => cells.join(",")).join("\n")}\n`;
};

const saveSelection = () => {
  const rows = selectedRows().filter((row) => within[row]);
  save(fileName("selection.csv"), "text/csv", csvText(rows));
  announce(`Saved ${formatCount(rows.length, "design")}`);
};

const saveDesign = (design) =>
  save(fileName(`${design.trial}${design.workload ? `-${design.workload.replace(/[^A-Za-z0-9]+/g, "-")}` : ""}.yaml`), "application/yaml", yamlText(design.document()));
