// Scales of columns: numbers linear or logarithmic, names at equal distances in their order.

const finiteExtent = (values, rows) => {
  let low = Infinity;
  let high = -Infinity;
  for (const row of rows) {
    const value = values[row];
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
};

// The window of an objective is the one near the front, unless all is to be seen, or some were put aside.
const domainOf = (column, rows, near) => {
  if (!column.isNumber) return [-0.5, column.names.length + 0.5];
  if (near && column.window && !anyAside) return column.window;
  const [low, high] = finiteExtent(column.values, rows);
  const margin = 0.05 * (high - low || Math.abs(high) || 1);
  return [low >= 0 ? Math.max(0, low - margin) : low - margin, high + margin];
};

const scaleOf = (column, rows, range, { log = false, near = false } = {}) => {
  let [low, high] = domainOf(column, rows, near);
  if (!column.isNumber) {
    const missing = rows.some((row) => !column.values[row]);
    return d3.scaleLinear([missing ? -0.5 : 0.5, column.names.length + 0.5], range);
  }
  if (log) {
    const positive = rows.filter((row) => column.values[row] > 0);
    const [least] = finiteExtent(column.values, positive);
    if (low <= 0) low = positive.length ? least : 1e-3;
    return d3.scaleLog([low, Math.max(high, low * 1.01)], range);
  }
  return d3.scaleLinear([low, high], range);
};

// [value, text] of each tick.
const ticksOf = (column, scale, count) => {
  const [low, high] = scale.domain();
  if (!column.isNumber) {
    const codes = d3.range(Math.ceil(Math.min(low, high)), Math.floor(Math.max(low, high)) + 1);
    const step = Math.max(1, Math.ceil(codes.length / Math.max(count, 12)));
    return codes.filter((code) => code % step === 0 || step === 1).map((code) => [code, code ? column.names[code - 1] : MISSING]);
  }
  const factor = column.factor || 1;
  const shown = scale.copy().domain([low / factor, high / factor]);
  const ticks = shown.ticks(count);
  const kept = ticks.length > 2 * count ? ticks.filter((tick) => /^[125]/.test(tick.toExponential())) : ticks;
  return kept.map((tick) => [tick * factor, column.role === "number" ? String(tick) : formatBrief(tick)]);
};

// Whether values above zero spread so far that only their orders of magnitude can be told apart.
const spreads = (column, rows, times) => {
  if (!column.isNumber || column.role === "number") return false;
  const [low, high] = finiteExtent(column.values, rows);
  return low > 0 && high > times * low;
};

const shorten = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);
