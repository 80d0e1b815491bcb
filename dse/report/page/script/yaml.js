// A design document as YAML that reads back the same by the rules of YAML 1.1 and 1.2.

const WORDS = /^(y|n|yes|no|on|off|true|false|null|~)$/i;
const isPlain = (text) => /^[A-Za-z_][A-Za-z0-9_./+-]*$/.test(text) && !WORDS.test(text);
// A quantity such as 25 GB/s, whose number nothing takes for one because of its unit.
const isQuantity = (text) => /^[0-9.]+ [A-Za-z][A-Za-z/]*$/.test(text);

// JSON's escapes are YAML's; what JSON leaves as it is, though it ends a line in YAML, is escaped too.
const yamlString = (text) =>
  isPlain(text) || isQuantity(text) ? text : JSON.stringify(text).replace(/[\u007f-\u00a0\u2028\u2029\ufeff]|\p{Cs}/gu, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

// YAML 1.1 knows exponents only with a point and a sign.
const yamlNumber = (value) => {
  const text = JSON.stringify(value);
  const [digits, exponent] = text.split("e");
  if (exponent === undefined) return text;
  return `${digits.includes(".") ? digits : `${digits}.0`}e${/^[+-]/.test(exponent) ? exponent : `+${exponent}`}`;
};

const yamlScalar = (value) => (typeof value === "string" ? yamlString(value) : typeof value === "number" ? yamlNumber(value) : JSON.stringify(value));
const isScalar = (value) => value === null || typeof value !== "object";
const isEmpty = (value) => !isScalar(value) && Object.keys(value).length === 0;

const yamlLines = (value, indent) => {
  const pad = " ".repeat(indent);
  const entries = Array.isArray(value) ? value.map((entry) => ["-", entry]) : Object.entries(value).map(([key, entry]) => [`${yamlString(key)}:`, entry]);
  return entries.flatMap(([head, entry]) => {
    if (isScalar(entry)) return [`${pad}${head} ${yamlScalar(entry)}`];
    if (isEmpty(entry)) return [`${pad}${head} ${Array.isArray(entry) ? "[]" : "{}"}`];
    const below = yamlLines(entry, indent + 2);
    // The first key of an entry stands beside its dash.
    if (head === "-") return [`${pad}- ${below[0].slice(indent + 2)}`, ...below.slice(1)];
    return [`${pad}${head}`, ...below];
  });
};

const yamlText = (document) => (isEmpty(document) ? "{}\n" : `${yamlLines(document, 0).join("\n")}\n`);
