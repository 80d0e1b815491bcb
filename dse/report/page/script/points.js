// The cloud of trials on a canvas: one shape for each kind, faint where it is not selected, grey beyond a limit.

const SHAPES = {
  cut: (pen, x, y, r) => pen.strokeRect(x - r, y - r, 2 * r, 2 * r),
  infeasible: (pen, x, y, r) => {
    pen.beginPath();
    pen.moveTo(x - r, y - r);
    pen.lineTo(x + r, y + r);
    pen.moveTo(x + r, y - r);
    pen.lineTo(x - r, y + r);
    pen.stroke();
  },
  dominated: (pen, x, y, r) => {
    pen.beginPath();
    pen.arc(x, y, r, 0, 2 * Math.PI);
    pen.fill();
  },
};
SHAPES.front = SHAPES.dominated;

// Row -> colour: of its kind, or of a column's value.
const colouring = () => {
  const kinds = Object.fromEntries(["front", "dominated", "infeasible", "cut"].map((kind) => [kind, variable(kind)]));
  const column = columnOf.get(state.colour);
  if (!column) return { of: (row) => kinds[kindOf(row)], column: null };
  if (!column.isNumber && !column.ordered) {
    const scheme = d3.schemeTableau10;
    const of = (row) => (column.values[row] ? scheme[(column.values[row] - 1) % scheme.length] : kinds.dominated);
    return { of, column, swatches: column.names.map((name, index) => [scheme[index % scheme.length], name]) };
  }
  const rows = everyRow.filter((row) => selected[row] && isFeasible(row));
  const [low, high] = column.isNumber ? finiteExtent(column.values, rows) : [1, column.names.length];
  const shade = d3.scaleSequential(d3.interpolateViridis).domain([low, high]);
  const of = (row) => (Number.isFinite(column.values[row]) ? shade(column.values[row]) : kinds.dominated);
  const steps = column.isNumber ? d3.range(5).map((step) => low + ((high - low) * step) / 4) : d3.range(1, column.names.length + 1);
  const swatches = steps.map((value) => [shade(value), column.isNumber ? withUnit(column, value) : column.names[value - 1]]);
  return { of, column, swatches };
};

const sizeCanvas = (canvas, width, height) => {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
};

// How strongly a row shows: 0 put aside.
const strength = (row) => {
  if (!state.kept[row] || !state.kinds.has(kindOf(row))) return 0;
  if (!selected[row]) return 0.12;
  return within[row] ? 1 : 0.3;
};

const drawCloud = (pen, place, colours) => {
  const grey = variable("rest");
  pen.lineWidth = 1.3;
  for (const kind of ["cut", "infeasible", "dominated"]) {
    for (const row of everyRow) {
      if (kindOf(row) !== kind) continue;
      const shown = strength(row);
      const at = shown && place(row);
      if (!at) continue;
      pen.globalAlpha = shown * (kind === "dominated" ? 0.75 : 0.9);
      pen.fillStyle = pen.strokeStyle = within[row] ? colours.of(row) : grey;
      SHAPES[kind](pen, at[0], at[1], 3);
    }
  }
  pen.globalAlpha = 1;
};
