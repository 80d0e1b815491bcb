(() => {
  "use strict";

  const charts = JSON.parse(document.getElementById("charts").textContent);
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtons: [["zoom2d", "pan2d", "zoomOut2d", "resetScale2d", "toImage"]],
  };
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // Colours are written "@name"; only the keys that hold colours are looked at, so no other text is touched.
  const themed = (value, key) => {
    if (Array.isArray(value)) return value.map((entry) => themed(entry, key));
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, themed(entry, name)]));
    }
    const colour = typeof value === "string" && value.startsWith("@") && /color(scale)?$/.test(key);
    return colour ? variable(value.slice(1)) : value;
  };

  const withTheme = (layout) => {
    const themedLayout = themed(layout, "");
    const ink = variable("ink");
    for (const [key, axis] of Object.entries(themedLayout)) {
      if (/^[xy]axis/.test(key)) {
        Object.assign(axis, { gridcolor: variable("line"), linecolor: variable("line"), tickcolor: variable("line") });
      }
    }
    return {
      ...themedLayout,
      font: { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: ink },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: variable("muted"), activecolor: variable("accent") },
      hoverlabel: { bgcolor: variable("surface"), bordercolor: variable("line"), font: { color: ink }, align: "left" },
    };
  };

  const webgl = () => {
    try {
      const canvas = document.createElement("canvas");
      return Boolean(canvas.getContext("webgl") || canvas.getContext("experimental-webgl"));
    } catch {
      return false;
    }
  };

  let printing = false;
  const draw = () => {
    for (const [name, { data, layout }] of Object.entries(charts)) {
      const place = document.getElementById(`chart-${name}`);
      if (!place) continue;
      if (data.some((trace) => trace.type === "parcoords") && !webgl()) {
        place.style.minHeight = "0";
        place.textContent = "This chart needs WebGL, which this browser does not offer.";
        continue;
      }
      // On paper the page is 1240 wide (see @page), whatever the window was when the charts were drawn.
      const paper = place.closest(".halves") ? 540 : 1140;
      const width = printing || matchMedia("print").matches ? paper : undefined;
      Plotly.react(place, themed(data, ""), { ...withTheme(layout), width }, config);
    }
  };
  draw();
  addEventListener("beforeprint", () => { printing = true; draw(); });
  addEventListener("afterprint", () => { printing = false; draw(); });
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw);

  const open = (id) => {
    const block = document.getElementById(id);
    if (!(block instanceof HTMLDetailsElement)) return;
    block.open = true;
    block.scrollIntoView({ behavior: "smooth", block: "start" });
  };
  const plot = document.getElementById("chart-pareto");
  if (plot && plot.on) plot.on("plotly_click", (event) => open(`design-${event.points[0].customdata}`));
  addEventListener("hashchange", () => open(location.hash.slice(1)));
  if (location.hash) open(location.hash.slice(1));

  for (const chip of document.querySelectorAll(".legend button")) {
    chip.addEventListener("click", () => {
      const shown = chip.getAttribute("aria-pressed") !== "true";
      chip.setAttribute("aria-pressed", String(shown));
      const { data } = charts[chip.dataset.chart];
      for (const trace of data) if (trace.name === chip.dataset.trace) trace.visible = shown;
      draw();
    });
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const numeric = head.classList.contains("n");
        const read = (row) => row.cells[column].dataset.v;
        const compare = (a, b) => {
          if (a === "" || b === "") return (a === "") - (b === "");
          const order = numeric ? Number(a) - Number(b) : a.localeCompare(b, undefined, { numeric: true });
          return up ? order : -order;
        };
        const body = table.tBodies[0];
        body.append(...[...body.rows].sort((a, b) => compare(read(a), read(b))));
      });
    });
  }

  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("pre");
      const range = document.createRange();
      range.selectNodeContents(text);
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      try {
        await navigator.clipboard.writeText(text.textContent);
      } catch {
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
})();
