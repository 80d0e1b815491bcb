// Elements: text stays text, whatever it says.

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};

const button = (text, onclick, attributes = {}) => element("button", { type: "button", onclick, ...attributes }, text);

const choice = (label, options, chosen, onchoose) => {
  const select = element("select", { onchange: (event) => onchoose(event.target.value) });
  for (const [value, text] of options) select.append(element("option", { value, selected: value === chosen }, text));
  return element("label", {}, `${label} `, select);
};

const tick = (label, checked, onset) =>
  element("label", { class: "tick" }, element("input", { type: "checkbox", checked, onchange: (event) => onset(event.target.checked) }), ` ${label}`);

// Draws into a place again without taking the keyboard's focus from what had it there.
const refill = (place, ...children) => {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  place.replaceChildren(...children.filter(Boolean));
  if (focused) [...place.querySelectorAll("[data-key]")].find((other) => other.dataset.key === focused)?.focus();
};

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// A number of a trial as a button that picks it.
const trialButton = (row) => {
  const mark = markOf(numberOf(row));
  const text = `${mark ? `${signOf[mark]} ` : ""}#${numberOf(row)}`;
  return button(text, () => pick(row), { class: "link", "data-key": `pick-${row}`, title: mark || null });
};
