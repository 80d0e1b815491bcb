// Pinned designs side by side: their values, where time, memory and money go, and in what they differ.

const comparing = { all: false };

const buildCompare = () => {
  const best = objectives.map((column) => d3.least(frontRows, (a, b) => column.sign * (column.values[a] - column.values[b])));
  const marked = [page.robust, page.knee].map((trial) => rowOfTrial.get(trial));
  // Of one objective there is one best: beside it the best of other kinds.
  const others = objectives.length === 1 ? page.families.map((trial) => rowOfTrial.get(trial)) : [];
  const first = [...marked, ...best, ...others].filter((row) => row !== undefined);
  state.pinned = [...new Set(first)].slice(0, 4 - (objectives.length === 1));
};

const drawCompare = () => {
  const place = document.getElementById("compare-body");
  const rows = state.pinned;
  if (!rows.length) {
    refill(place, element("p", { class: "note" }, "Pin designs, in the chart (P) or by the buttons of the tables, to see them beside each other."));
    return;
  }
  const all = tick("everything", comparing.all, (on) => {
    comparing.all = on;
    drawCompare();
  });
  all.querySelector("input").dataset.key = "compare-all";
  const controls = element("p", { class: "controls" }, all, button("Unpin all", () => change({ pinned: [] }), { "data-key": "unpin-all" }));
  const scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Pinned designs side by side" }, compareTable(rows));
  refill(place, controls, scroll);
};

const compareTable = (rows) => {
  const heads = rows.map((row) => element("th", { scope: "col", class: "n" }, `${letterOf(row)} `, trialButton(row), " ", button("×", () => togglePin(row), { class: "link", "aria-label": `Unpin trial ${numberOf(row)}`, "data-key": `unpin-${row}` })));
  const table = element("table", {}, element("caption", {}, "Pinned designs side by side"), element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "design"), ...heads)));
  for (const [title, lines] of compareGroups(rows)) {
    const shown = lines.filter(([, cells]) => comparing.all || new Set(cells).size > 1 || rows.length === 1);
    if (!shown.length) continue;
    const body = element("tbody", {}, element("tr", { class: "group" }, element("th", { colspan: rows.length + 1, scope: "colgroup" }, title)));
    for (const [name, cells] of shown) {
      const differs = new Set(cells).size > 1;
      body.append(element("tr", { class: differs && comparing.all ? "differs" : null }, element("th", { scope: "row" }, name), ...cells.map((cell) => element("td", { class: "n" }, cell))));
    }
    table.append(body);
  }
  return table;
};

// [title, [[name, a text for each design]]]
const compareGroups = (rows) => {
  const designs = rows.map((row) => designsOf(numberOf(row)));
  const first = designs.map((parts) => parts[0] ?? null);
  const numbers = columns.filter((column) => column.role === "objective" || (column.role === "metric" && (column.shown || comparing.all)));
  return [
    ["Values", [...numbers.map((column) => [titleOf(column), rows.map((row) => formatCell(column, row))]), ...intervalLine(first)]],
    ...d3.range(Math.max(1, ...designs.map((parts) => parts.length))).flatMap((index) => resultGroups(designs.map((parts) => parts[index] ?? null))),
    ["Cost [M$]", partLines(first.map((design) => design?.result()), (result) => result.cost, 1e6)],
    ["The designs", comparing.all ? documentLines(rows, first) : aspectLines(rows, first)],
  ];
};

// Of designs of one workload.
const resultGroups = (designs) => {
  const results = designs.map((design) => design?.result() ?? null);
  const workload = designs.find((design) => design?.workload)?.workload;
  const of = workload ? ` of ${shorten(workload, 40)}` : "";
  return [
    [`Time${of} [s]`, partLines(results, (result) => result.breakdown)],
    [`Memory per NPU${of} [GiB]`, comparing.all ? partLines(results, (result) => result.memory_bytes, 2 ** 30) : []],
    [`Use of the network${of}`, networkLines(results)],
    ["Jobs: an iteration beside the others [s] (slowdown)", jobLines(results)],
  ];
};

const intervalLine = (designs) => {
  const text = (design) => (design?.interval && !design.workload ? design.interval.map(formatNumber).join(" to ") : MISSING);
  return designs.some((design) => design?.interval) ? [["nine of ten iterations lie in [s]", designs.map(text)]] : [];
};

const partLines = (results, read, factor = 1) => {
  const parts = results.map((result) => (result && read(result)) || {});
  const names = [...new Set(parts.flatMap(Object.keys))].filter((name) => parts.some((part) => part[name] > 0));
  return names.map((name) => [name, parts.map((part) => (Number.isFinite(part[name]) ? formatNumber(part[name] / factor) : MISSING))]);
};

const jobLines = (results) => {
  const names = [...new Set(results.flatMap((result) => (result?.jobs ?? []).map((job) => job.name)))];
  return names.map((name) => [name, results.map((result) => {
    const job = result?.jobs?.find((each) => each.name === name);
    return job ? `${formatNumber(job.iteration_time_s)} (${formatNumber(job.slowdown)}) on ${job.npus} NPUs` : MISSING;
  })]);
};

const networkLines = (results) => {
  const most = Math.max(0, ...results.map((result) => result?.network?.length ?? 0));
  return d3.range(most).map((index) => [`dimension ${index}`, results.map((result) => {
    const use = result?.network?.[index];
    return use ? `${formatShare(use.utilization)} of ${use.dimension}` : MISSING;
  })]);
};

// What people say about a design; of several workloads, about the first one.
const aspectLines = (rows, designs) => {
  if (designs.includes(null)) return documentLines(rows, designs);
  const names = [...new Set(designs.flatMap((design) => Object.keys(design.aspects)))];
  return names.map((name) => [name, designs.map((design) => design.aspects[name] ?? MISSING)]);
};

// Leaves of documents; of designs without one on the page, parameters.
const documentLines = (rows, designs) => {
  if (designs.includes(null)) return columnsOf("parameter").map((column) => [column.label, rows.map((row) => formatCell(column, row))]);
  const documents = rows.map((row) => flatten(row));
  const names = [...new Set(documents.flatMap((document) => [...document.keys()]))];
  return names.map((name) => [name, documents.map((document) => document.get(name) ?? MISSING)]);
};

const flatten = (row) => {
  const found = new Map();
  const walk = (value, path) => {
    if (isScalar(value)) found.set(path, shorten(String(value ?? MISSING), 60));
    else for (const [key, below] of Object.entries(value)) walk(below, Array.isArray(value) ? `${path} ${Number(key) + 1}` : path ? `${path}.${key}` : key);
  };
  const designs = designsOf(numberOf(row));
  for (const design of designs) walk(design.document(), designs.length > 1 ? design.workload : "");
  return found;
};
