// Puts the page together: every view once, then again at each change.

const openSection = () => {
  const id = decodeURIComponent(location.hash.slice(1));
  const details = id && document.getElementById(id)?.querySelector(":scope > details");
  if (details) details.open = true;
};

const pickAndShow = (row) => {
  pick(row);
  onceDrawn(showPicked);
};

// Numbers of trials in the sections pick their designs.
const linkTrials = () => {
  for (const name of document.querySelectorAll(".trial[data-trial]")) {
    if (name.closest("summary")) continue;
    const row = rowOfTrial.get(Number(name.dataset.trial));
    if (row === undefined) continue;
    name.replaceWith(button(name.textContent, () => pickAndShow(row), { class: "link" }));
  }
};

const start = () => {
  for (const part of document.querySelectorAll(".needs-script")) part.hidden = false;
  buildChart();
  buildLimits();
  buildCompare();
  buildFilters();
  buildParallel();
  buildTable();
  buildPrint();
  for (const view of [() => drawChart(), drawLimits, drawPicked, drawCompare, drawFilters, () => drawParallel(), drawTable]) onChange(view);
  recompute();
  for (const view of views) view();
  document.documentElement.dataset.ready = "true";
};

addEventListener("hashchange", openSection);
openSection();
if (rowCount) {
  start();
  linkTrials();
}
