// Keyboard control of the viewer. The pages work without this script, by mouse.
"use strict";

const keys = document.getElementById("keys");
const entries = [...document.querySelectorAll("[data-entry]")];
const typing = (target) => target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
const targets = (key) => [...document.querySelectorAll("[data-key]")].filter((one) => one.dataset.key.split(" ").includes(key));

for (const one of document.querySelectorAll("button[data-key]")) one.hidden = false;
document.querySelector('button[data-key="?"]')?.addEventListener("click", () => keys.showModal());

// On a narrow screen the form would hide the list.
const filters = document.querySelector("details.folding");
if (filters && matchMedia("(max-width: 60rem)").matches) filters.open = false;

// The entry with the focus, and another one by steps from it.
const focusable = (entry) => entry.querySelector("th a") || entry;
const at = () => entries.findIndex((one) => one.contains(document.activeElement));
function move(step) {
  const now = at();
  const next = now < 0 ? (step > 0 ? 0 : entries.length - 1) : Math.min(Math.max(now + step, 0), entries.length - 1);
  focusable(entries[next]).focus();
  entries[next].scrollIntoView({ block: "nearest" });
}

function fold() {
  const all = [...document.querySelectorAll("main details:not(.folding):not(.choose)")];
  const open = all.some((one) => !one.open);
  for (const one of all) one.open = open;
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || keys.open) return;
  const { key, target } = event;
  if (typing(target)) {
    if (key === "Escape") target.blur();
    return;
  }
  const [found] = targets(key);
  if (key === "/" && found) {
    if (filters) filters.open = true;
    found.focus();
    found.select();
  } else if (key === "?") {
    keys.showModal();
  } else if (key === "f") {
    fold();
  } else if (found) {
    found.click();
  } else if (entries.length && ["j", "ArrowDown"].includes(key)) {
    move(1);
  } else if (entries.length && ["k", "ArrowUp"].includes(key)) {
    move(-1);
  } else {
    return;
  }
  event.preventDefault();
});

document.querySelector(".message.current")?.scrollIntoView({ block: "center" });
