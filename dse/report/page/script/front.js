// The chart of the front: any two columns, the cloud on a canvas, the front's points as elements that can be focused.

const chart = { place: document.getElementById("chart"), at: new Map(), focus: 0, width: 0, height: 0, last: null };
const MARGIN = { top: 14, right: 18, bottom: 52, left: 74 };
const SVG = "http://www.w3.org/2000/svg";
const NEAR = 14;

const axisColumns = () => columns.filter((column) => column.role !== "state");

const buildChart = () => {
  const many = objectives.length > 1;
  state.x = many ? objectives[0].key : "number";
  state.y = many ? objectives[1].key : objectives[0].key;
  [state.logX, state.logY] = [state.x, state.y].map((key) => Boolean(columnOf.get(key).log));
  chart.canvas = element("canvas", { "aria-hidden": "true" });
  chart.svg = d3.create("svg").attr("role", "group").node();
  chart.svg.setAttribute("aria-label", "Chart of all designs. Arrows move between designs of the front, Enter picks, P pins, Escape lets go.");
  chart.tip = element("div", { class: "tip", hidden: true });
  chart.place.append(chart.canvas, chart.svg, chart.tip);
  chart.svg.addEventListener("keydown", moveByKey);
  listenToPointer();
  new ResizeObserver(() => chart.place.clientWidth !== chart.width && redraw()).observe(chart.place);
  buildChartControls();
};

const buildChartControls = () => {
  const options = axisColumns().map((column) => [column.key, titleOf(column)]);
  const colours = [["", "state"], ...columns.filter((column) => column.role !== "number").map((column) => [column.key, titleOf(column)])];
  const axis = (which) => (key) => change({ [which]: key, [`log${which.toUpperCase()}`]: Boolean(columnOf.get(key).log) });
  document.getElementById("chart-controls").append(
    choice("Across", options, state.x, axis("x")),
    choice("Up", options, state.y, axis("y")),
    choice("Colour", colours, state.colour, (colour) => change({ colour })),
    element("span", { id: "chart-ticks", class: "group" }),
    button("Save as SVG", saveChart),
  );
};

// The ticks follow the state: choosing an axis chooses its scale.
const drawTicks = () => {
  refill(
    document.getElementById("chart-ticks"),
    tick("log across", state.logX, (logX) => change({ logX })),
    tick("log up", state.logY, (logY) => change({ logY })),
    tick("near the front", state.near, (near) => change({ near })),
  );
  for (const [index, box] of [...document.querySelectorAll("#chart-ticks input")].entries()) box.dataset.key = `tick-${index}`;
};

const svgElement = (tag, attributes, text) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

const drawChart = (printWidth) => {
  const width = printWidth || chart.place.clientWidth;
  if (!width) return;
  const height = Math.round(Math.max(300, Math.min(520, width * 0.58)));
  Object.assign(chart, { width: chart.place.clientWidth, height });
  const [x, y] = [columnOf.get(state.x), columnOf.get(state.y)];
  const rows = everyRow.filter((row) => state.kept[row] && state.kinds.has(kindOf(row)));
  const left = width < 480 ? 58 : MARGIN.left;
  const scaleX = scaleOf(x, rows, [left, width - MARGIN.right], { log: state.logX, near: state.near });
  const scaleY = scaleOf(y, rows, [height - MARGIN.bottom, MARGIN.top], { log: state.logY, near: state.near });
  const place = (row) => {
    const at = [scaleX(x.values[row]), scaleY(y.values[row])];
    const seen = at[0] >= left - 1 && at[0] <= width - MARGIN.right + 1 && at[1] >= MARGIN.top - 1 && at[1] <= height - MARGIN.bottom + 1;
    return seen ? at : null;
  };
  Object.assign(chart, { left, scaleX, scaleY });
  chart.at = new Map();
  for (const row of rows) {
    const at = place(row);
    if (at) chart.at.set(row, at);
  }
  const colours = colouring();
  drawCloud(sizeCanvas(chart.canvas, width, height), (row) => chart.at.get(row), colours);
  const svg = chart.svg;
  const focused = svg.contains(document.activeElement);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren(
    ...drawFrame(x, y, width, height),
    ...drawBounds(x, y),
    ...drawStairs(x, y),
    ...drawWhiskers(x, y),
    ...drawFrontPoints(colours),
    ...drawRing(),
    ...drawBrush(x, y),
  );
  if (focused) svg.querySelector("[tabindex='0']")?.focus();
  drawLegend(colours, rows.length - chart.at.size);
  drawTicks();
};

const drawFrame = (x, y, width, height) => {
  const [ink, muted, line] = ["ink", "muted", "line"].map(variable);
  const low = height - MARGIN.bottom;
  const text = { fill: muted, "font-size": 12, "font-family": "system-ui, sans-serif" };
  const parts = [];
  for (const [value, told] of ticksOf(x, chart.scaleX, Math.max(3, Math.floor(width / 110)))) {
    const at = chart.scaleX(value);
    parts.push(svgElement("line", { x1: at, x2: at, y1: MARGIN.top, y2: low, stroke: line }));
    parts.push(svgElement("text", { ...text, x: at, y: low + 17, "text-anchor": "middle" }, shorten(told, 14)));
  }
  for (const [value, told] of ticksOf(y, chart.scaleY, 6)) {
    const at = chart.scaleY(value);
    parts.push(svgElement("line", { x1: chart.left, x2: width - MARGIN.right, y1: at, y2: at, stroke: line }));
    parts.push(svgElement("text", { ...text, x: chart.left - 7, y: at + 4, "text-anchor": "end" }, shorten(told, 9)));
  }
  const title = { fill: ink, "font-size": 13, "font-family": "system-ui, sans-serif", "text-anchor": "middle" };
  const better = (column) => (column.role === "objective" ? (column.sign > 0 ? ", lower is better" : ", higher is better") : "");
  const room = width < 480 ? 34 : 60;
  parts.push(svgElement("text", { ...title, x: (chart.left + width - MARGIN.right) / 2, y: height - 10 }, shorten(titleOf(x) + better(x), room)));
  const up = { ...title, transform: `translate(15 ${(MARGIN.top + low) / 2}) rotate(-90)` };
  parts.push(svgElement("text", up, shorten(titleOf(y) + better(y), 44)));
  return parts;
};

// A dashed line at each proven bound, which no design is beyond.
const drawBounds = (x, y) => {
  const muted = variable("muted");
  const dashed = { stroke: muted, "stroke-dasharray": "6 4" };
  const told = { fill: muted, "font-size": 11, "font-family": "system-ui, sans-serif" };
  const [low, high] = [chart.height - MARGIN.bottom, MARGIN.top];
  const right = chart.scaleX.range()[1];
  const parts = [];
  const across = Number.isFinite(x.bound) && chart.scaleX(x.bound);
  if (across >= chart.left && across <= right) {
    const turned = { ...told, transform: `translate(${across + 12} ${high + 4}) rotate(90)` };
    parts.push(svgElement("line", { ...dashed, x1: across, x2: across, y1: low, y2: high }));
    parts.push(svgElement("text", turned, `proven bound ${withUnit(x, x.bound)}`));
  }
  const up = Number.isFinite(y.bound) && chart.scaleY(y.bound);
  if (up >= high && up <= low) {
    parts.push(svgElement("line", { ...dashed, x1: chart.left, x2: right, y1: up, y2: up }));
    parts.push(svgElement("text", { ...told, x: right - 4, y: up - 5, "text-anchor": "end" }, `proven bound ${withUnit(y, y.bound)}`));
  }
  return parts;
};

// The boundary of what a front of two objectives dominates; of one objective, the best so far.
const drawStairs = (x, y) => {
  const line = { fill: "none", stroke: variable("front"), "stroke-width": 1.6, "stroke-opacity": 0.55 };
  let corners = [];
  if (objectives.length === 2 && x.role === "objective" && y.role === "objective" && x !== y) {
    const rows = frontRows.filter((row) => chart.at.has(row)).sort((a, b) => x.sign * (x.values[a] - x.values[b]) || y.values[a] - y.values[b]);
    corners = rows.flatMap((row, index) => (index ? [[chart.at.get(row)[0], chart.at.get(rows[index - 1])[1]], chart.at.get(row)] : [chart.at.get(row)]));
  } else if (objectives.length === 1 && x.role === "number" && y.role === "objective") {
    let best = Infinity;
    let height = null;
    for (const row of everyRow) {
      const loss = y.sign * y.values[row];
      if (!isFeasible(row) || !(loss < best) || !chart.at.has(row)) continue;
      const [across, up] = chart.at.get(row);
      if (height !== null) corners.push([across, height]);
      corners.push([across, up]);
      [best, height] = [loss, up];
    }
    if (height !== null) corners.push([chart.scaleX.range()[1], height]);
  }
  return corners.length ? [svgElement("polyline", { ...line, points: corners.map((corner) => corner.join(",")).join(" ") })] : [];
};

const isTime = (column) => column.key === "iteration_time";

// Where a value of a design lies in nine of ten cases; null where that is not known.
const intervalOf = (design, column) => design?.intervals[column.key] ?? (isTime(column) ? design?.interval : null) ?? null;

// For those that are looked at, lest the chart be all whiskers.
const drawWhiskers = (x, y) => {
  const looked = [...new Set([state.picked, rowOfTrial.get(page.knee)])].filter((row) => chart.at.has(row));
  return looked.flatMap((row) => {
    const design = page.designs.members.find((member) => member.trial === numberOf(row) && !member.workload);
    const [atX, atY] = chart.at.get(row);
    return [...whisker(intervalOf(design, x), chart.scaleX, atY, true), ...whisker(intervalOf(design, y), chart.scaleY, atX, false)];
  });
};

const whisker = (ends, scale, fixed, across) => {
  if (!ends) return [];
  const ink = { stroke: variable("ink"), "stroke-width": 1.3, "stroke-opacity": 0.7, class: "whisker" };
  const [from, to] = ends.map((end) => Math.min(Math.max(scale(end), Math.min(...scale.range())), Math.max(...scale.range())));
  const line = across ? { x1: from, x2: to, y1: fixed, y2: fixed } : { x1: fixed, x2: fixed, y1: from, y2: to };
  const cap = (at) => (across ? { x1: at, x2: at, y1: fixed - 4, y2: fixed + 4 } : { x1: fixed - 4, x2: fixed + 4, y1: at, y2: at });
  return [line, cap(from), cap(to)].map((ends) => svgElement("line", { ...ink, ...ends }));
};

const symbolOf = (row) => {
  const mark = markOf(numberOf(row));
  if (numberOf(row) === page.knee) return [d3.symbolStar, 260];
  if (mark === "robust pick") return [d3.symbolDiamond, 190];
  return [d3.symbolCircle, 72];
};

const drawFrontPoints = (colours) => {
  const rows = frontRows.filter((row) => chart.at.has(row) && strength(row) > 0);
  chart.front = rows;
  chart.focus = Math.min(chart.focus, Math.max(0, rows.length - 1));
  const [surface, ink, knee, grey] = ["surface", "ink", "knee", "rest"].map(variable);
  const later = (row) => (markOf(numberOf(row)) ? 1 : 0) + (state.pinned.includes(row) ? 2 : 0);
  return rows
    .map((row, index) => [row, index])
    .sort((a, b) => later(a[0]) - later(b[0]))
    .map(([row, index]) => {
      const [type, size] = symbolOf(row);
      const mark = markOf(numberOf(row));
      const [x, y] = chart.at.get(row);
      const own = numberOf(row) === page.knee && !state.colour ? knee : within[row] ? colours.of(row) : grey;
      const group = svgElement("g", {
        class: "point",
        role: "button",
        tabindex: index === chart.focus ? 0 : -1,
        transform: `translate(${x} ${y})`,
        "data-row": row,
        "aria-label": describeRow(row),
        "aria-pressed": state.picked === row,
      });
      const path = { d: d3.symbol(type, size)(), fill: own, stroke: mark ? ink : surface, "stroke-width": mark ? 1.3 : 1, opacity: strength(row) };
      group.append(svgElement("path", path));
      if (state.pinned.includes(row)) {
        group.append(svgElement("circle", { r: 9, fill: "none", stroke: ink, "stroke-width": 1.6 }));
        const told = { x: 11, y: -8, fill: ink, "font-size": 13, "font-weight": 700, "font-family": "system-ui, sans-serif" };
        group.append(svgElement("text", told, letterOf(row)));
      }
      return group;
    });
};

const drawRing = () => {
  const at = chart.at.get(state.picked);
  return at ? [svgElement("circle", { cx: at[0], cy: at[1], r: 12, fill: "none", stroke: variable("picked"), "stroke-width": 3, class: "ring" })] : [];
};

const drawBrush = (x, y) => {
  const ends = [x, y].map((column) => state.ranges.get(column.key));
  if (!ends[0] && !ends[1]) return [];
  const [across, up] = [chart.scaleX, chart.scaleY].map((scale, index) => (ends[index] ? ends[index].map((end) => endAt(scale, end)) : scale.range()));
  const box = { x: Math.min(...across), y: Math.min(...up), width: Math.abs(across[1] - across[0]), height: Math.abs(up[1] - up[0]) };
  return [svgElement("rect", { ...box, fill: variable("picked"), "fill-opacity": 0.07, stroke: variable("picked"), class: "brushed" })];
};

// The place of an end of a range, which may be open.
const endAt = (scale, end) => scale(Math.min(Math.max(end, Math.min(...scale.domain())), Math.max(...scale.domain())));
const clampTo = (scale, at) => Math.min(Math.max(at, Math.min(...scale.range())), Math.max(...scale.range()));

// The rows nearest to a place, first the nearest; of those at one place, members of the front come first.
const rowsNear = (x, y) => {
  const near = [];
  for (const [row, at] of chart.at) {
    if (strength(row) < 0.2) continue;
    const distance = Math.hypot(at[0] - x, at[1] - y);
    if (distance <= NEAR) near.push([Math.round(distance * 4), isOnFront(row) ? 0 : 1, row]);
  }
  return near.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
};

// Designs at the very same place take turns.
const pickAt = (x, y) => {
  const near = rowsNear(x, y);
  if (!near.length) return pick(null);
  const same = near.filter(([distance]) => distance === near[0][0]).map(([, , row]) => row);
  const next = same[(same.indexOf(state.picked) + 1) % same.length];
  chart.focus = Math.max(0, chart.front.indexOf(next));
  return pick(next);
};

const placeOf = (event) => {
  const box = chart.svg.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

// A click picks; a drag with a mouse or a pen brushes both columns of the chart.
const listenToPointer = () => {
  let start = null;
  chart.svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = { at: placeOf(event), moved: false, touch: event.pointerType === "touch" };
    if (!start.touch) chart.svg.setPointerCapture(event.pointerId);
  });
  chart.svg.addEventListener("pointermove", (event) => {
    const at = placeOf(event);
    if (!start) return showTip(at);
    if (start.touch || (!start.moved && Math.hypot(at[0] - start.at[0], at[1] - start.at[1]) < 5)) return undefined;
    start.moved = true;
    start.gesture ??= {};
    return brushBetween(start.at, at, start.gesture);
  });
  chart.svg.addEventListener("pointerup", (event) => {
    if (start && !start.moved) pickAt(...placeOf(event));
    start = null;
  });
  chart.svg.addEventListener("pointercancel", () => (start = null));
  chart.svg.addEventListener("pointerleave", () => (chart.tip.hidden = true));
};

const brushBetween = (from, to, gesture) => {
  const ranges = new Map(state.ranges);
  for (const [index, key, scale] of [[0, state.x, chart.scaleX], [1, state.y, chart.scaleY]]) {
    const ends = [from[index], to[index]].map((at) => scale.invert(clampTo(scale, at)));
    ranges.set(key, d3.sort(ends));
  }
  change({ ranges }, gesture);
};

const showTip = ([x, y]) => {
  const near = rowsNear(x, y);
  chart.tip.hidden = !near.length;
  if (!near.length) return;
  const [, , row] = near[0];
  chart.tip.textContent = [describeRow(row), ...describeDesign(row)].join("\n");
  const width = chart.tip.offsetWidth;
  chart.tip.style.left = `${Math.max(0, Math.min(x + 16, chart.width - width - 4))}px`;
  chart.tip.style.top = `${y + 18}px`;
};

const describeDesign = (row) => {
  const design = page.designs.members.find((member) => member.trial === numberOf(row));
  return design ? [design.told.join(", ")] : [];
};

const moveByKey = (event) => {
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -Infinity, End: Infinity }[event.key];
  const row = chart.front?.[chart.focus];
  if (step !== undefined && chart.front?.length) {
    chart.focus = Math.min(chart.front.length - 1, Math.max(0, chart.focus + step));
    focusPoint();
  } else if ((event.key === "Enter" || event.key === " ") && row !== undefined) pick(row);
  else if (event.key.toLowerCase() === "p" && row !== undefined && !event.ctrlKey && !event.metaKey) togglePin(row);
  else if (event.key === "Escape") pick(null);
  else return;
  event.preventDefault();
};

const focusPoint = () => {
  for (const point of chart.svg.querySelectorAll(".point")) {
    const on = Number(point.dataset.row) === chart.front[chart.focus];
    point.setAttribute("tabindex", on ? 0 : -1);
    if (on) point.focus();
  }
};

const drawLegend = (colours, hidden) => {
  const counts = d3.rollup(everyRow, (rows) => rows.length, kindOf);
  const toggle = (kind) => {
    const kinds = new Set(state.kinds);
    if (!kinds.delete(kind)) kinds.add(kind);
    change({ kinds });
  };
  const kinds = ["front", "dominated", "infeasible", "cut"]
    .filter((kind) => counts.has(kind))
    .map((kind) =>
      element("li", {}, element("button", { type: "button", "aria-pressed": String(state.kinds.has(kind)), "data-key": `kind-${kind}`, onclick: () => toggle(kind) },
        legendMark(kind), `${capital(kindTitle(kind))} (${counts.get(kind).toLocaleString("en-US")})`)),
    );
  const marks = [[page.knee, "★ knee"], [page.robust, "◆ robust pick"]].filter(([trial]) => rowOfTrial.has(trial)).map(([, told]) => element("li", {}, told));
  const swatches = (colours.swatches ?? []).map(([colour, name]) => {
    const box = svgElement("svg", { class: "mark", viewBox: "0 0 12 12", "aria-hidden": "true" });
    box.append(svgElement("rect", { width: 12, height: 12, fill: colour }));
    return element("li", {}, box, shorten(name, 40));
  });
  const colour = colours.column ? [element("li", {}, element("b", {}, `${colours.column.label}:`)), ...swatches] : [];
  const outside = hidden > 0 && state.near ? element("p", { class: "note" }, `${formatCount(hidden, "design")} outside this window: see them without "near the front".`) : null;
  refill(document.getElementById("chart-legend"), element("ul", { class: "legend" }, ...kinds, ...marks), colour.length ? element("ul", { class: "legend" }, ...colour) : null, outside);
};

const legendMark = (kind) => {
  const box = svgElement("svg", { class: "mark", viewBox: "0 0 12 12", "aria-hidden": "true" });
  const colour = variable(kind);
  if (kind === "cut") box.append(svgElement("rect", { x: 2, y: 2, width: 8, height: 8, fill: "none", stroke: colour, "stroke-width": 1.6 }));
  else if (kind === "infeasible") box.append(svgElement("path", { d: "M2 2L10 10M10 2L2 10", stroke: colour, "stroke-width": 1.8 }));
  else box.append(svgElement("circle", { cx: 6, cy: 6, r: kind === "front" ? 5 : 3, fill: colour }));
  return box;
};

// The chart as one SVG: the cloud is a picture in it.
const saveChart = () => {
  const copy = chart.svg.cloneNode(true);
  const [width, height] = [copy.getAttribute("width"), copy.getAttribute("height")];
  copy.setAttribute("xmlns", SVG);
  const paper = svgElement("rect", { width, height, fill: variable("surface") });
  const cloud = svgElement("image", { width, height, href: chart.canvas.toDataURL("image/png") });
  copy.prepend(paper, cloud);
  save(fileName("front.svg"), "image/svg+xml", new XMLSerializer().serializeToString(copy));
  announce("Saved the chart");
};
