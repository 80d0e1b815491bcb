// What is shown: ranges, words, what was kept or put aside; with steps back. The brushes set the same ranges.

const buildFilters = () => {
  const words = element("input", { type: "search", id: "words", oninput: (event) => change({ text: event.target.value }, "words") });
  const options = axisColumns().map((column) => [column.key, titleOf(column)]);
  const key = { chosen: options[0][0] };
  const [low, high] = ["From", "To"].map((name) => element("input", { type: "text", inputmode: "decimal", "aria-label": name, placeholder: name.toLowerCase(), size: 7 }));
  const add = (event) => {
    event.preventDefault();
    const read = (input, otherwise) => (input.value.trim() === "" ? otherwise : readEnd(columnOf.get(key.chosen), input.value));
    const range = [read(low, -Infinity), read(high, Infinity)];
    if (range.some(Number.isNaN)) return announce("A range needs numbers, or names of the column");
    setRange(key.chosen, range);
    return announce(`Range added: ${describeRange(key.chosen, range)}`);
  };
  const form = element("form", { class: "group", onsubmit: add }, choice("Range of", options, key.chosen, (chosen) => (key.chosen = chosen)), low, high, element("button", { type: "submit" }, "Add"));
  document.getElementById("filters").append(
    element("label", {}, "Words ", words),
    form,
  );
  document.getElementById("actions").append(
    element("span", { id: "shown" }),
    element("span", { class: "group" }, button("Keep these", keepSelected, { id: "keep" }), button("Exclude these", excludeSelected, { id: "exclude" }), button("Undo", undo, { id: "undo" }), button("Reset", reset, { id: "reset" }), button("Save as CSV", saveSelection, { id: "save-csv" })),
  );
};

// Numbers are in the unit that is shown; a name is its place in the column's order.
const readEnd = (column, text) => {
  if (column.isNumber) return Number(text.replaceAll(",", "")) * (column.factor || 1);
  const index = column.names.findIndex((name) => name.toLowerCase() === text.trim().toLowerCase());
  return index < 0 ? NaN : index + 1;
};

const describeRange = (key, range) => {
  const column = columnOf.get(key);
  const end = (value) => (column.isNumber ? formatBrief(value / (column.factor || 1)) : column.names[value - 1]);
  const [low, high] = column.isNumber ? range : [Math.max(1, Math.ceil(range[0])), Math.min(column.names.length, Math.floor(range[1]))];
  const unit = column.unit ? ` ${column.unit}` : "";
  if (!column.isNumber && low > high) return `${column.label}: none`;
  if (low === -Infinity) return `${column.label} up to ${end(high)}${unit}`;
  if (high === Infinity) return `${column.label} from ${end(low)}${unit}`;
  return low === high ? `${column.label} ${end(low)}${unit}` : `${column.label} ${end(low)} to ${end(high)}${unit}`;
};

// What is picked, wherever the reader picked it; it leads to what is said of it.
const pickedChip = () => {
  if (state.picked === null) return null;
  const values = objectives.map((column) => formatValue(column, state.picked)).join(", ");
  return button(`Picked #${numberOf(state.picked)}: ${shorten(values, 60)}`, showPicked, { class: "chip", "data-key": "picked" });
};

const showPicked = () => document.getElementById("picked").scrollIntoView({ block: "center" });

const drawFilters = () => {
  const words = document.getElementById("words");
  if (words.value !== state.text) words.value = state.text;
  const chips = [...state.ranges].map(([key, range]) => button(`${describeRange(key, range)} ×`, () => setRange(key, null), { class: "chip", "data-key": `range-${key}`, title: "Take this range away" }));
  const count = selectedRows().length;
  const aside = rowCount - d3.sum(state.kept);
  const told = `${formatCount(count, "design")} of ${rowCount.toLocaleString("en-US")}${aside ? `, ${aside.toLocaleString("en-US")} put aside` : ""}. `;
  refill(document.getElementById("shown"), told, ...chips, pickedChip());
  document.getElementById("undo").disabled = !history.length;
  for (const id of ["keep", "exclude"]) document.getElementById(id).disabled = !isBrushed();
};
