// The trials of the study as columns, and the designs of its front, as the page holds them.

const page = JSON.parse(document.getElementById("data").textContent);

const readBytes = (text) => {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes.buffer;
};

// Numbers are SI, NaN where missing. Names are codes from 1 in their order, 0 where missing.
const readColumn = (column) => {
  const { f64, f32, u8, u32, ...rest } = column;
  if (f64 || f32) {
    const numbers = f64 ? new Float64Array(readBytes(f64)) : Float64Array.from(new Float32Array(readBytes(f32)));
    return { ...rest, isNumber: true, values: numbers };
  }
  const codes = u8 ? new Uint8Array(readBytes(u8)) : new Uint32Array(readBytes(u32));
  return { ...rest, isNumber: false, values: codes };
};

const columns = page.columns.map(readColumn);
const columnOf = new Map(columns.map((column) => [column.key, column]));
const columnsOf = (role) => columns.filter((column) => column.role === role);
const objectives = columnsOf("objective");
const rowCount = page.rows;
const everyRow = d3.range(rowCount);

const numberOf = (row) => columnOf.get("number").values[row];
const kindColumn = columnOf.get("state");
const kindOf = (row) => kindColumn.names[kindColumn.values[row] - 1];
const isOnFront = (row) => kindOf(row) === "front";
const isFeasible = (row) => isOnFront(row) || kindOf(row) === "dominated";
const rowOfTrial = new Map(everyRow.map((row) => [numberOf(row), row]));
const byFirst = (row) => (objectives[0] ? objectives[0].values[row] : row);
const frontRows = everyRow.filter(isOnFront).sort((a, b) => byFirst(a) - byFirst(b) || a - b);

// Every document (or result) of the front is put together from the values of its leaves.
const assemble = (leaves, index) => {
  const document = {};
  for (const { path, values, at } of leaves) {
    if (at[index] < 0) continue;
    let place = document;
    for (const key of path.slice(0, -1)) {
      // A key such as __proto__ is a key like any other.
      if (!Object.hasOwn(place, key)) Object.defineProperty(place, key, { value: {}, enumerable: true, writable: true });
      place = place[key];
    }
    if (path.length) {
      Object.defineProperty(place, path[path.length - 1], { value: values[at[index]], enumerable: true, writable: true });
    }
  }
  return document;
};

// The designs of a trial: one, or one for each workload of a cluster that is bought; none where it has no document here.
const designsOf = (trial) =>
  page.designs.members.flatMap((member, index) =>
    member.trial === trial
      ? [{ ...member, document: () => assemble(page.designs.documents, index), result: () => assemble(page.designs.results, index) }]
      : [],
  );

const markOf = (trial) => [trial === page.knee ? "knee" : "", trial === page.robust ? "robust pick" : ""].filter(Boolean).join(" and ");
const signOf = { knee: "★", "robust pick": "◆", "knee and robust pick": "★◆" };
