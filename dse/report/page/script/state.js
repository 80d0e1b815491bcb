// What the reader has chosen. Every view reads it, and is drawn again when it changes.

// `ranges`: column key -> [low, high], what is brushed in the chart or on an axis. `kept`: rows not put aside.
const state = {
  picked: null,
  pinned: [],
  ranges: new Map(),
  text: "",
  limits: new Map(),
  kept: new Uint8Array(rowCount).fill(1),
  x: null,
  y: null,
  logX: false,
  logY: false,
  near: true,
  colour: "",
  kinds: new Set(["front", "dominated", "infeasible", "cut"]),
};

const UNDONE = ["pinned", "ranges", "text", "limits", "kept"];
const history = [];
const MOST_UNDONE = 100;
const views = [];
const onChange = (view) => views.push(view);

// Rows that are kept, inside every range, and whose text matches; rows that exceed no limit.
const selected = new Uint8Array(rowCount).fill(1);
const within = new Uint8Array(rowCount).fill(1);

const inside = (value, [low, high]) => value >= low && value <= high;

const matches = (row, words) => {
  const cells = columns.filter((column) => !column.isNumber).map((column) => formatCell(column, row).toLowerCase());
  cells.push(`#${numberOf(row)}`);
  return words.every((word) => cells.some((cell) => cell.includes(word)));
};

const exceeds = (column, value, limit) => !(column.sign < 0 ? value >= limit : value <= limit);

let anyAside = false;

const recompute = () => {
  anyAside = state.kept.includes(0);
  const ranges = [...state.ranges].map(([key, range]) => [columnOf.get(key).values, range]);
  const limits = [...state.limits].map(([key, limit]) => [columnOf.get(key), limit]);
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of everyRow) {
    const held = state.kept[row] && state.kinds.has(kindOf(row)) && ranges.every(([values, range]) => inside(values[row], range));
    selected[row] = held && (!words.length || matches(row, words)) ? 1 : 0;
    within[row] = limits.every(([column, limit]) => !exceeds(column, column.values[row], limit)) ? 1 : 0;
  }
};

const selectedRows = () => everyRow.filter((row) => selected[row]);

let drawing = false;
const redraw = () => {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    recompute();
    for (const view of views) view();
  });
};

// After what was changed is drawn.
const onceDrawn = (act) => requestAnimationFrame(() => requestAnimationFrame(act));

const snapshot = () => ({
  pinned: [...state.pinned],
  ranges: new Map(state.ranges),
  text: state.text,
  limits: new Map(state.limits),
  kept: state.kept,
});

// Applies `changes`; what the reader can take back is remembered. `merge` names a gesture that is undone as one.
let lastGesture = null;
const change = (changes, gesture = null) => {
  if (UNDONE.some((key) => key in changes) && !(gesture && gesture === lastGesture)) {
    history.push(snapshot());
    if (history.length > MOST_UNDONE) history.shift();
  }
  lastGesture = gesture;
  Object.assign(state, changes);
  redraw();
};

const undo = () => {
  const before = history.pop();
  if (!before) return;
  lastGesture = null;
  Object.assign(state, before);
  redraw();
};

const isBrushed = () => state.ranges.size > 0 || state.text.trim() !== "";

const setRange = (key, range, gesture = null) => {
  const ranges = new Map(state.ranges);
  if (range) ranges.set(key, range);
  else ranges.delete(key);
  change({ ranges }, gesture);
};

const keepSelected = () => change({ kept: Uint8Array.from(selected), ranges: new Map(), text: "" });
const excludeSelected = () =>
  change({ kept: state.kept.map((held, row) => (held && !selected[row] ? 1 : 0)), ranges: new Map(), text: "" });
const reset = () =>
  change({ kept: new Uint8Array(rowCount).fill(1), ranges: new Map(), text: "", limits: new Map(), picked: null });

const pick = (row) => {
  change({ picked: row });
  if (row !== null) announce(describeRow(row));
};
const togglePin = (row) => {
  const pinned = state.pinned.includes(row) ? state.pinned.filter((other) => other !== row) : [...state.pinned, row];
  change({ pinned });
  announce(`Trial ${numberOf(row)} ${pinned.includes(row) ? "pinned" : "no longer pinned"}`);
};
const letterOf = (row) => {
  const index = state.pinned.indexOf(row);
  return index < 0 ? "" : index < 26 ? String.fromCharCode(65 + index) : String(index + 1);
};

const describeRow = (row) => {
  const values = objectives.map((column) => `${column.label} ${formatValue(column, row)}`);
  const mark = markOf(numberOf(row));
  return [`Trial ${numberOf(row)}`, mark, kindTitle(kindOf(row)), ...values].filter(Boolean).join(", ");
};

const kindTitles = { front: "on the front", dominated: "dominated", infeasible: "infeasible", cut: "cut, at its bounds" };
const kindTitlesOfOne = { front: "best", dominated: "feasible" };
const kindTitle = (kind) => (objectives.length === 1 && kindTitlesOfOne[kind]) || kindTitles[kind];
const announce = (text) => {
  document.getElementById("said").textContent = text;
};
