// What a report does beyond reading: tables are sorted, a metric or a dimension is chosen, an agent is highlighted, and
// pictures are copied or saved. Without it, and printed, the page is whole. The page's policy allows this text alone.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
const form = document.getElementById("choose");
const values = (name) => all(`select[name=${name}] option`, form).map((one) => one.value).filter(Boolean);
const chosen = (name) => form.elements[name]?.value ?? "";

// Finds which of these names a text has, each as a whole and the longest first: `length[unit=char]` is not `length`.
function finder(names) {
  if (!names.length) return () => [];
  const escaped = [...names].sort((a, b) => b.length - a.length).map((name) => name.replace(/[^\w ]/g, "\\$&"));
  const pattern = new RegExp(`(?<![\\w-])(?:${escaped.join("|")})(?![\\w-])`, "g");
  return (text) => text.match(pattern) ?? [];
}

// Sorting: numbers by their value, `0.22 [0.09, 0.34]` by its first number, from the highest; empty cells come last.
const NUMBER = /^-?\d[\d,]*(\.\d+)?(e[-+]?\d+)?(?=$|[ %])/;
const key = (row, column) => row.cells[column].textContent.trim();

function sort(head) {
  const body = head.closest("table").tBodies[0];
  const [known, empty] = [[], []];
  for (const row of body.rows) (["", "-"].includes(key(row, head.cellIndex)) ? empty : known).push(row);
  const texts = known.map((row) => key(row, head.cellIndex));
  const numeric = texts.every((text) => NUMBER.test(text));
  const value = (text) => parseFloat(text.match(NUMBER)[0].replaceAll(",", ""));
  const order = numeric ? (a, b) => value(a) - value(b) : (a, b) => a.localeCompare(b, undefined, { numeric: true });
  const before = head.getAttribute("aria-sort");
  const rising = before ? before === "descending" : !numeric;
  const places = texts.map((text, place) => [text, known[place]]).sort(([a], [b]) => (rising ? order(a, b) : order(b, a)));
  body.append(...places.map(([, row]) => row), ...empty);
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", rising ? "ascending" : "descending");
}

for (const head of all("figure th")) {
  const button = made("button", { type: "button", className: "sort" });
  button.append(...head.childNodes);
  button.addEventListener("click", () => sort(head));
  head.append(button);
}

// Choosing: a figure is hidden if its title names others of a kind and not the chosen one, and so is a row.
const kinds = ["metric", "dimension"].map((name) => ({ name, names: values(name), find: finder(values(name)) }));
const other = (found, value) => value && found.length > 0 && !found.includes(value);

function inCells(row, names) {
  const cells = [...row.cells].map((cell) => cell.textContent.trim().replace(/^(rating|preference):/, ""));
  return names.filter((name) => cells.includes(name));
}

function filter() {
  const hidden = { figure: 0, row: 0 };
  for (const figure of all("figure")) {
    const title = figure.querySelector("h3").textContent;
    figure.hidden = kinds.some(({ name, find }) => other(find(title), chosen(name)));
    hidden.figure += figure.hidden;
    for (const row of all("tbody tr", figure)) {
      row.hidden = kinds.some(({ name, names }) => chosen(name) && other(inCells(row, names), chosen(name)));
      hidden.row += row.hidden && !figure.hidden;
    }
  }
  for (const more of all("details.more")) more.hidden = all("figure", more).every((figure) => figure.hidden);
  const counts = Object.entries(hidden).map(([what, count]) => `${count} ${what}${count === 1 ? "" : "s"}`);
  form.querySelector("output").textContent = kinds.some(({ name }) => chosen(name)) ? `hidden: ${counts.join(" and ")} of others` : "";
}

// Highlighting: what has the name of an agent, in text, tables and pictures, where a legend names the marks of a series.
const marks = new Map(values("agent").map((agent) => [agent, []])); // agent -> elements
const owners = new WeakMap(); // element -> agents
let [lit, shining] = [[], ""];

function belongs(element, agents) {
  if (!agents.length) return;
  owners.set(element, [...(owners.get(element) ?? []), ...agents]);
  element.classList.add("agent");
  for (const agent of agents) marks.get(agent).push(element);
}

function light(agents) {
  if (shining === agents.join("\n")) return;
  shining = agents.join("\n");
  for (const one of lit) one.classList.remove("lit");
  lit = agents.flatMap((agent) => marks.get(agent));
  for (const one of lit) one.classList.add("lit");
  for (const svg of all("svg.plot")) svg.classList.toggle("one", svg.querySelector(".lit") !== null);
}

const agentsIn = finder(values("agent"));
for (const name of all(".name")) belongs(name, agentsIn(name.textContent));
for (const text of all("svg.plot text, svg.plot title")) {
  const element = text.tagName === "title" ? text.parentNode : text.querySelector("title") ? null : text;
  const found = element ? agentsIn(text.textContent) : [];
  if (element) belongs(element, found);
  const series = text.closest(".legend") && text.previousElementSibling?.getAttribute("class").match(/\bs\d/);
  if (series && found.length) for (const mark of all(`.${series[0]}`, text.closest("svg"))) belongs(mark, found);
}
const kept = () => (chosen("agent") ? [chosen("agent")] : []);
const under = (event) => owners.get(event.target.closest?.(".agent"));
document.addEventListener("pointerover", (event) => light(under(event) ?? kept()));
document.addEventListener("click", (event) => {
  const [agent] = under(event) ?? [];
  if (!agent || event.target.closest("a, button, summary")) return;
  form.elements.agent.value = chosen("agent") === agent ? "" : agent;
  light(kept());
});

// Pictures, as they are seen: with the colours of the screen's scheme and their own ground.
const styles = document.getElementById("pictures").textContent;
const SIZE = 3; // pixels for each unit of a picture

function drawn(figure) {
  const svg = figure.querySelector("svg"), copy = svg.cloneNode(true), box = svg.viewBox.baseVal;
  for (const name of styles.match(/--[\w-]+(?=:)/g)) {
    copy.style.setProperty(name, getComputedStyle(svg).getPropertyValue(name));
  }
  for (const side of ["width", "height"]) copy.setAttribute(side, SIZE * box[side]);
  const [style, ground] = ["style", "rect"].map((tag) => document.createElementNS(svg.namespaceURI, tag));
  style.textContent = styles;
  for (const side of ["width", "height"]) ground.setAttribute(side, box[side]);
  ground.setAttribute("fill", getComputedStyle(figure).backgroundColor);
  copy.prepend(style, ground);
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

async function painted(figure) {
  const address = URL.createObjectURL(drawn(figure)), image = new Image();
  image.src = address;
  await image.decode();
  const canvas = made("canvas", { width: image.width, height: image.height });
  canvas.getContext("2d").drawImage(image, 0, 0);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function save(figure, blob, ending) {
  const name = figure.querySelector("h3").textContent.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
  const link = made("a", { href: URL.createObjectURL(blob), download: `${name.slice(0, 80)}.${ending}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const copying = ["Copy", (figure) => navigator.clipboard.write([new ClipboardItem({ "image/png": painted(figure) })]), "copied"];
const actions = [
  ...(navigator.clipboard?.write && window.ClipboardItem ? [copying] : []),
  ["Save PNG", async (figure) => save(figure, await painted(figure), "png"), "saved"],
  ["Save SVG", async (figure) => save(figure, drawn(figure), "svg"), "saved"],
];

for (const svg of all("figure > svg")) {
  const figure = svg.parentNode, tools = made("p", { className: "tools" }), told = made("output");
  for (const [words, act, done] of actions) {
    const button = made("button", { type: "button", textContent: words });
    button.setAttribute("aria-label", `${words}: ${figure.querySelector("h3").textContent}`);
    button.addEventListener("click", async () => {
      told.textContent = await act(figure).then(() => done, (error) => `not possible: ${error.message}`);
    });
    tools.append(button);
  }
  tools.append(told);
  svg.after(tools);
}

form.addEventListener("change", () => (filter(), light(kept())));
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = form.elements.length === 1; // the output alone
