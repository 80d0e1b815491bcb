// The design that is picked: what it is, why it is as good as it is, and its document to take away.

const drawPicked = () => {
  const place = document.getElementById("picked");
  if (state.picked === null) {
    refill(place, element("p", { class: "note" }, "Pick a design in the chart or in a table to see what it is."));
    return;
  }
  refill(place, ...describePicked(state.picked));
};

const describePicked = (row) => {
  const trial = numberOf(row);
  const designs = designsOf(trial);
  const mark = markOf(trial);
  const heading = element("h3", {}, `${mark ? `${signOf[mark]} ` : ""}Trial ${trial}`, element("small", {}, ` ${[mark, kindTitle(kindOf(row))].filter(Boolean).join(", ")}`));
  const values = element("dl", { class: "values" });
  for (const column of [...objectives, ...columns.filter((other) => other.shown && other.isNumber)]) {
    if (Number.isFinite(column.values[row])) values.append(element("div", {}, element("dt", {}, column.label), element("dd", {}, ...valueWithInterval(column, row, designs))));
  }
  const pinned = state.pinned.includes(row);
  const buttons = element("p", { class: "buttons" }, button(pinned ? `Unpin (${letterOf(row)})` : "Pin", () => togglePin(row), { "data-key": "pin" }), ...designs.map(saveButton), button("Let go", () => pick(null), { "data-key": "let-go" }));
  const told = designs.length ? designs.map(describeMember) : [parameterList(row)];
  return [heading, values, buttons, ...told.filter(Boolean)];
};

const valueWithInterval = (column, row, designs) => {
  const ends = designs.length === 1 ? intervalOf(designs[0], column) : null;
  const told = formatValue(column, row);
  return ends ? [told, element("small", {}, ` nine of ten in ${ends.map((end) => formatBrief(end / column.factor)).join(" to ")} ${column.unit}`)] : [told];
};

const saveButton = (design) => button(`Save ${design.workload ? `${shorten(design.workload, 24)} ` : ""}as YAML`, () => saveDesign(design), { "data-key": `yaml-${design.workload}` });

const describeMember = (design) => {
  const heading = design.workload ? element("h4", {}, design.workload) : null;
  const code = element("pre", { tabindex: 0 });
  const document = element("details", { class: "part", ontoggle: () => (code.textContent ||= yamlText(design.document())) }, element("summary", {}, "Its document"), code);
  return element("div", {}, heading ?? "", design.reason ? element("p", {}, design.reason) : "", element("p", { class: "note" }, design.headline), document);
};

// Of a design whose document is not on the page: what was chosen for it.
const parameterList = (row) => {
  const list = element("dl", { class: "values" });
  for (const column of columnsOf("parameter")) list.append(element("div", {}, element("dt", {}, column.label), element("dd", {}, formatCell(column, row))));
  const note = element("p", { class: "note" }, "The page has the documents of the front's designs; dse show writes that of any trial.");
  return element("div", {}, list, note);
};
