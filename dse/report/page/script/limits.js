// A slider for each objective, and for price and time: what exceeds a limit turns grey, the best within is named.

const LIMITED = ["cost.total", "iteration_time", "time_to_train"];
const STEPS = 200;

const limitColumns = () => columns.filter((column) => column.isNumber && (column.role === "objective" || LIMITED.includes(column.key)));

const limitExtents = new Map();
const limitScale = (column) => {
  const [low, high] = limitExtents.get(column.key);
  const log = column.log && low > 0;
  return log ? d3.scaleLog([low, high], [0, STEPS]) : d3.scaleLinear([low, high], [0, STEPS]);
};

const buildLimits = () => {
  const feasible = everyRow.filter(isFeasible);
  const place = document.getElementById("limits");
  for (const column of limitColumns()) {
    const extent = finiteExtent(column.values, feasible);
    if (!(extent[1] > extent[0])) continue;
    limitExtents.set(column.key, extent);
    place.append(limitSlider(column));
  }
  place.append(element("div", { id: "within", class: "within" }));
  place.hidden = limitExtents.size === 0;
};

const limitSlider = (column) => {
  const most = column.sign > 0;
  const input = element("input", {
    type: "range", min: 0, max: STEPS, step: 1, value: most ? STEPS : 0, "data-limit": column.key,
    oninput: (event) => setLimit(column, Number(event.target.value)),
  });
  return element("label", {}, element("span", {}, `${capital(column.label)} at ${most ? "most" : "least"} `, element("b", {})), input);
};

// At its end a slider is no limit.
const setLimit = (column, step) => {
  const limits = new Map(state.limits);
  if (step === (column.sign > 0 ? STEPS : 0)) limits.delete(column.key);
  else limits.set(column.key, limitScale(column).invert(step));
  change({ limits }, `limit ${column.key}`);
};

const drawLimits = () => {
  for (const input of document.querySelectorAll("#limits input")) {
    const column = columnOf.get(input.dataset.limit);
    const limit = state.limits.get(column.key);
    const told = limit === undefined ? "any" : withUnit(column, limit);
    input.value = limit === undefined ? (column.sign > 0 ? STEPS : 0) : limitScale(column).invert ? limitScale(column)(limit) : 0;
    input.setAttribute("aria-valuetext", told);
    input.parentElement.querySelector("b").textContent = told;
  }
  refill(document.getElementById("within"), ...describeWithin());
};

// For each objective that has no limit of its own, or for all of them, the best feasible design within the limits.
const describeWithin = () => {
  if (!state.limits.size) return [];
  const rows = everyRow.filter((row) => state.kept[row] && within[row] && isFeasible(row));
  if (!rows.length) return [element("p", {}, "No feasible design that was tried is within these limits.")];
  const free = objectives.filter((column) => !state.limits.has(column.key));
  const asked = free.length ? free : objectives;
  const counted = element("p", {}, `${formatCount(rows.length, "feasible design")} within.`);
  return [counted, ...asked.map((column) => bestWithin(column, rows))];
};

const bestWithin = (column, rows) => {
  const best = d3.least(rows, (a, b) => column.sign * (column.values[a] - column.values[b]) || otherLoss(column, a, b));
  const others = objectives.filter((other) => other !== column).map((other) => formatValue(other, best));
  const told = [formatValue(column, best), ...others].join(", ");
  return element("p", {}, `${column.sign > 0 ? "Lowest" : "Highest"} ${column.label} within: `, trialButton(best), ` ${told}`);
};

const otherLoss = (column, a, b) => {
  for (const other of objectives) {
    const difference = other.sign * (other.values[a] - other.values[b]);
    if (other !== column && difference) return difference;
  }
  return 0;
};
