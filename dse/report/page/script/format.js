// Numbers as the reports write them: four significant digits, thousands apart.

const MISSING = "–";

const writers = d3.range(8).map(
  (digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfEven" }),
);

const formatNumber = (value) => {
  if (!Number.isFinite(value)) return MISSING;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e9) return value.toExponential(3).replace(/e([+-])(\d)$/, "e$10$2");
  return writers[Math.min(7, Math.max(0, 3 - Math.floor(Math.log10(size))))].format(value);
};

const formatBrief = (value) => {
  const text = formatNumber(value);
  return text.includes(".") && !text.includes("e") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
};

const formatCell = (column, row) => {
  const value = column.values[row];
  if (column.role === "number") return String(value);
  if (column.isNumber) return formatNumber(value / column.factor);
  return value ? column.names[value - 1] : MISSING;
};

const withUnit = (column, value) => {
  const text = formatBrief(value / column.factor);
  return column.unit && text !== MISSING ? `${text} ${column.unit}` : text;
};

const formatValue = (column, row) => (column.isNumber && column.role !== "number" ? withUnit(column, column.values[row]) : formatCell(column, row));

const titleOf = (column) => (column.unit ? `${column.label} [${column.unit}]` : column.label);
const formatShare = (share) => `${Math.abs(share) < 0.0995 && share ? (100 * share).toFixed(1) : Math.round(100 * share)} %`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const formatCount = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
