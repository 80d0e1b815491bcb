// On paper everything is open, and the charts are as wide as the paper.

const PAPER = 1040;
const opened = [];

const beforePrint = () => {
  for (const details of document.querySelectorAll("main section > details:not([open])")) {
    details.open = true;
    opened.push(details);
  }
  recompute();
  drawChart(PAPER);
  drawParallel(PAPER);
};

const afterPrint = () => {
  for (const details of opened.splice(0)) details.open = false;
  redraw();
};

const buildPrint = () => {
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
  // Colours follow the medium and the theme.
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", redraw);
};
