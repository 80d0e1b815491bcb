// Parallel coordinates: an axis for each column, a line for each design; what is brushed on an axis is a range.

const parallel = { place: document.getElementById("parallel"), axes: [], shown: 0 };
const MOST_AXES = 9;
const MOST_LINES = 2000;
const HEIGHT = 330;
const PAD = { top: 62, bottom: 14, side: 60 };

// Parameters that tell most along the front, in the order of the space, then the objectives.
const buildParallel = () => {
  const parameters = columnsOf("parameter");
  const room = Math.max(2, MOST_AXES - objectives.length);
  const ranked = d3.sort(parameters.filter((column) => column.shown), (column) => -column.matter).slice(0, room);
  const chosen = ranked.length ? ranked : parameters.slice(0, room);
  parallel.axes = [...parameters.filter((column) => chosen.includes(column)), ...objectives];
  parallel.canvas = element("canvas", { "aria-hidden": "true" });
  parallel.svg = svgElement("svg", { role: "group", "aria-label": "Parallel coordinates: drag along an axis to brush it; the range form above does the same by keyboard." });
  parallel.inner = element("div", { class: "inner" }, parallel.canvas, parallel.svg);
  parallel.place.append(parallel.inner);
  const boxes = axisColumns().filter((column) => column.role !== "number").map((column) => tick(titleOf(column), parallel.axes.includes(column), (on) => showAxis(column, on)));
  document.getElementById("parallel-controls").append(
    element("details", { class: "part" }, element("summary", {}, "Choose the axes"), element("div", { class: "boxes" }, ...boxes)),
    element("span", { id: "lines", class: "note" }),
  );
};

const showAxis = (column, on) => {
  const kept = new Set(parallel.axes);
  if (on) kept.add(column);
  else kept.delete(column);
  parallel.axes = columns.filter((other) => kept.has(other)).sort((a, b) => (a.role === "objective") - (b.role === "objective"));
  redraw();
};

const drawParallel = (printWidth) => {
  const { axes } = parallel;
  const least = axes.length * 84;
  const width = printWidth || Math.max(parallel.place.clientWidth, least);
  if (!width || !axes.length) return;
  const rows = everyRow.filter((row) => state.kept[row] && state.kinds.has(kindOf(row)));
  const across = d3.scalePoint(axes.map((column) => column.key), [PAD.side, width - PAD.side]);
  const scales = new Map(axes.map((column) => [column.key, scaleOf(column, rows, [HEIGHT - PAD.bottom, PAD.top], { log: spreads(column, rows, 4) })]));
  drawLines(sizeCanvas(parallel.canvas, width, HEIGHT), rows, across, scales);
  parallel.svg.setAttribute("width", width);
  parallel.svg.setAttribute("height", HEIGHT);
  parallel.svg.replaceChildren(...axes.map((column, index) => drawAxis(column, index, across(column.key), scales.get(column.key))));
};

// The front's lines are all drawn, above evenly spread ones of the rest; the picked and the pinned are the widest.
const drawLines = (pen, rows, across, scales) => {
  const colours = colouring();
  const rest = rows.filter((row) => !isOnFront(row));
  const step = Math.max(1, Math.ceil(rest.length / MOST_LINES));
  const lit = (row) => selected[row] && within[row];
  const back = rest.filter((row, index) => index % step === 0);
  const draw = (row, alpha, width, colour) => {
    pen.globalAlpha = alpha;
    pen.lineWidth = width;
    pen.strokeStyle = colour;
    pen.beginPath();
    for (const [index, column] of parallel.axes.entries()) {
      const value = column.values[row];
      const y = Number.isFinite(value) ? scales.get(column.key)(value) : HEIGHT - PAD.bottom;
      pen[index ? "lineTo" : "moveTo"](across(column.key), y);
    }
    pen.stroke();
  };
  const grey = variable("rest");
  const faint = Math.max(0.04, Math.min(0.3, 60 / (back.length || 1)));
  for (const row of back) draw(row, lit(row) ? faint : faint / 4, 1, lit(row) ? colours.of(row) : grey);
  const fronts = frontRows.filter((row) => rows.includes(row));
  for (const row of fronts) draw(row, lit(row) ? 0.85 : 0.12, 1.5, lit(row) ? colours.of(row) : grey);
  for (const row of state.pinned) if (state.kept[row]) draw(row, 1, 2.4, variable("ink"));
  if (state.picked !== null && state.kept[state.picked]) draw(state.picked, 1, 3, variable("picked"));
  pen.globalAlpha = 1;
  const told = step > 1 ? `${back.length.toLocaleString("en-US")} of ${rest.length.toLocaleString("en-US")} designs beside the front are drawn.` : "";
  document.getElementById("lines").textContent = told;
};

const drawAxis = (column, index, x, scale) => {
  const group = svgElement("g", { transform: `translate(${x} 0)`, class: "axis", "data-axis": column.key });
  const [ink, muted, surface] = ["ink", "muted", "surface"].map(variable);
  group.append(svgElement("line", { y1: PAD.top, y2: HEIGHT - PAD.bottom, stroke: muted }));
  const text = { "font-size": 11, "font-family": "system-ui, sans-serif", stroke: surface, "stroke-width": 3, "paint-order": "stroke" };
  for (const [value, told] of ticksOf(column, scale, 6)) {
    group.append(svgElement("text", { ...text, x: 5, y: scale(value) + 4, fill: ink }, shorten(shortNotation(told), 15)));
  }
  // Headings of neighbours stand at different heights, so that long ones have room.
  const up = index % 2 ? 38 : 18;
  group.append(svgElement("text", { ...text, "font-size": 12, "font-weight": 600, y: up, fill: ink, "text-anchor": "middle" }, shorten(titleOf(column), 24)));
  const brush = d3.brushY().extent([[-12, PAD.top], [12, HEIGHT - PAD.bottom]]).on("end", (event) => brushed(event, column, scale));
  const place = d3.select(group).append("g").attr("class", "brush").call(brush);
  const range = state.ranges.get(column.key);
  if (range) place.call(brush.move, d3.sort(range.map((end) => endAt(scale, end))));
  return group;
};

// A brush that the reader moved; one that follows a range has no event of a source.
const brushed = (event, column, scale) => {
  if (!event.sourceEvent) return;
  setRange(column.key, event.selection ? d3.sort(event.selection.map((y) => scale.invert(y))) : null);
};

const shortNotation = (text) => {
  if (!/^[a-z_]+\(\d+\)/.test(text)) return text;
  const short = { switch: "SW", ring: "Ring", fully_connected: "FC", mesh: "Mesh", torus: "Torus" };
  return text.replace(/([a-z_]+?)\((\d+)\)_?/g, (whole, name, size) => `${short[name.replace(/^_/, "")] ?? name}${size} `).trim();
};
