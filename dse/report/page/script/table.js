// All selected designs as a table: sorted by a heading, a page at a time, the front first.

const tabled = { key: null, up: true, page: 0, front: frontRows.length > 0, columns: [] };
const PAGE_ROWS = 12;

const buildTable = () => {
  const parameters = columnsOf("parameter").filter((column) => column.shown);
  tabled.columns = [...objectives, ...d3.sort(columnsOf("metric").filter((column) => column.shown), (column) => column.shown), ...(parameters.length ? parameters : columnsOf("parameter"))];
  tabled.key = objectives[0].key;
  tabled.up = objectives[0].sign > 0;
};

const sortedRows = () => {
  const column = columnOf.get(tabled.key);
  const rows = selectedRows().filter((row) => !tabled.front || isOnFront(row));
  const value = (row) => (column.isNumber ? column.values[row] : column.values[row] || NaN);
  const order = (a, b) => {
    const [first, second] = [value(a), value(b)];
    if (Number.isNaN(first) || Number.isNaN(second)) return Number.isNaN(first) - Number.isNaN(second) || a - b;
    return (tabled.up ? first - second : second - first) || a - b;
  };
  return rows.sort(order);
};

const drawTable = () => {
  const rows = sortedRows();
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  tabled.page = Math.min(tabled.page, pages - 1);
  const shown = rows.slice(tabled.page * PAGE_ROWS, (tabled.page + 1) * PAGE_ROWS);
  const front = tick("only the front", tabled.front, (on) => turn({ front: on, page: 0 }));
  front.querySelector("input").dataset.key = "only-front";
  const controls = element("p", { class: "controls" },
    frontRows.length ? front : null,
    button("Earlier", () => turn({ page: tabled.page - 1 }), { disabled: tabled.page === 0, "data-key": "earlier" }),
    element("span", {}, `${formatCount(rows.length, "design")}, page ${tabled.page + 1} of ${pages}`),
    button("Later", () => turn({ page: tabled.page + 1 }), { disabled: tabled.page === pages - 1, "data-key": "later" }),
  );
  const table = element("table", {}, element("caption", {}, "Designs that are selected"), element("thead", {}, tableHead()), element("tbody", {}, ...shown.map(tableRow)));
  const scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Designs that are selected" }, table);
  const before = document.querySelector("#designs-table .scroll")?.scrollLeft ?? 0;
  refill(document.getElementById("designs-table"), controls, scroll);
  scroll.scrollLeft = before;
};

const turn = (changes) => {
  Object.assign(tabled, changes);
  drawTable();
};

const tableHead = () => {
  const heads = [columnOf.get("number"), ...(tabled.front ? [] : [kindColumn]), ...tabled.columns].map((column) => {
    const sorted = tabled.key === column.key;
    const told = column.unit ? element("small", {}, column.unit) : null;
    const sort = () => turn({ key: column.key, up: sorted ? !tabled.up : !(column.sign < 0), page: 0 });
    const press = button(column.label, sort, { "data-key": `sort-${column.key}` });
    if (told) press.append(told);
    return element("th", { scope: "col", class: column.isNumber ? "n" : null, "aria-sort": sorted ? (tabled.up ? "ascending" : "descending") : null }, press);
  });
  return element("tr", {}, heads[0], element("th", { scope: "col" }, "pin"), ...heads.slice(1));
};

const tableRow = (row) => {
  const trial = numberOf(row);
  const cells = tabled.columns.map((column) => element("td", { class: column.isNumber ? "n" : "name" }, column.isNumber ? formatCell(column, row) : shorten(shortNotation(formatCell(column, row)), 40)));
  const pinned = state.pinned.includes(row);
  const pin = button(pinned ? letterOf(row) : "Pin", () => togglePin(row), { "aria-pressed": String(pinned), "aria-label": `${pinned ? "Unpin" : "Pin"} trial ${trial}`, "data-key": `pin-${row}` });
  const kind = tabled.front ? [] : [element("td", {}, kindTitle(kindOf(row)))];
  const classes = [trial === page.knee ? "knee" : "", state.picked === row ? "picked-row" : "", within[row] ? "" : "beyond"].filter(Boolean).join(" ");
  return element("tr", { class: classes || null, "data-trial": trial }, element("th", { scope: "row", class: "n" }, trialButton(row)), element("td", {}, pin), ...kind, ...cells);
};
