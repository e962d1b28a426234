// Live dialogues: one's own message and "thinking" appear at once, replies while they are written, and nothing typed is
// lost. Without this script the form is sent as usual, and the page comes back with the reply.
"use strict";

const composer = document.querySelector("form[data-keys=chat]");
const area = composer?.querySelector("textarea");
const draft = `draft:${composer?.action}`;
const said = () => document.querySelector("#said");
const keep_draft = () => sessionStorage.setItem(draft, area.value);

function complain(text) {
  const box = document.querySelector("#problem");
  box.replaceChildren();
  if (!text) return;
  const shown = document.createElement("p");
  Object.assign(shown, { className: "problems", textContent: text });
  shown.setAttribute("role", "alert");
  box.append(shown);
}

function message(role, text) {
  const entry = document.createElement("li");
  const who = document.createElement("span");
  const words = document.createElement("div");
  entry.className = role;
  Object.assign(who, { className: "who", textContent: role === "user" ? said().dataset.you : said().dataset.assistant });
  Object.assign(words, { className: "text", dir: "auto", textContent: text });
  entry.append(who, words);
  return entry;
}

// The last messages, and what went wrong, above the field for a message, which covers the lower edge of the window.
function last_into_view() {
  document.documentElement.style.scrollPaddingBottom = `${composer.offsetHeight + 8}px`;
  for (const column of document.querySelectorAll(".column")) {
    const last = column.querySelector(".thinking") ?? column.querySelector(".turns > li:last-child");
    last?.scrollIntoView({ block: "nearest" });
  }
  document.querySelector("#said .problems")?.scrollIntoView({ block: "nearest" });
}

// What was just sent, and a note that the assistants think; both go away with the next page.
function show_sent(text) {
  for (const column of document.querySelectorAll(".column")) {
    if (text) column.querySelector(".turns").append(message("user", text));
    const note = document.createElement("p");
    Object.assign(note, { className: "note thinking", textContent: said().dataset.thinking });
    column.append(note);
  }
  last_into_view();
}

function follow() {
  const source = new EventSource(said().dataset.live);
  const partial = new Map();
  let done = false;
  source.addEventListener("partial", (event) => {
    const { column, text } = JSON.parse(event.data);
    const list = document.querySelectorAll(".column")[column].querySelector(".turns");
    if (!partial.has(column)) { const entry = message("assistant", ""); list.append(entry); partial.set(column, entry); }
    partial.get(column).querySelector(".text").textContent = text;
    last_into_view();
  });
  source.addEventListener("done", () => { done = true; source.close(); refresh(); });
  source.addEventListener("error", () => { if (!done && source.readyState === EventSource.CLOSED) setTimeout(refresh, 2000); });
}

// Takes the new state from the page, and leaves the text that is being typed.
async function refresh() {
  let page;
  try {
    page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  } catch { setTimeout(refresh, 2000); return; }
  const fresh = page.querySelector("form[data-keys=chat]");
  if (!fresh) { location.reload(); return; }
  const replaced = [said(), document.querySelector("#ending")];
  const had_focus = replaced.some((part) => part.contains(document.activeElement));
  for (const part of replaced) part.replaceWith(page.getElementById(part.id));
  if (had_focus) area.focus(); // the button that was pressed is gone, and the focus with it
  composer.elements.heard.value = fresh.elements.heard.value;
  composer.removeAttribute("aria-busy");
  watch();
  last_into_view();
}

async function send_message(fields, text) {
  if (composer.hasAttribute("aria-busy")) return;
  composer.setAttribute("aria-busy", "true");
  complain("");
  fields.set("live", "1");
  const typed = !fields.has("template") && text !== "";
  if (typed) { area.value = ""; }
  show_sent(text);
  let answer, problem = said().dataset.notSent;
  try {
    answer = await fetch(composer.action, { method: "POST", body: new URLSearchParams(fields) });
    if (answer.status === 202) { if (typed) keep_draft(); follow(); return; }
    if (answer.headers.get("content-type")?.includes("json")) problem = (await answer.json()).problem;
  } catch { /* no connection: `problem` says that nothing was sent */ }
  if (typed) { area.value = area.value ? `${text}\n${area.value}` : text; keep_draft(); }
  composer.removeAttribute("aria-busy");
  await refresh();
  complain(problem);
}

// Forms that ask again, and a page that was opened while an assistant was thinking.
function watch() {
  const again = document.querySelector("form[data-again]");
  again?.addEventListener("submit", (event) => { event.preventDefault(); send_message(new FormData(again), ""); });
  if (said().hasAttribute("data-waiting")) { composer.setAttribute("aria-busy", "true"); follow(); }
}

if (composer) {
  if (!area.value) area.value = sessionStorage.getItem(draft) || "";
  area.addEventListener("input", keep_draft);
  composer.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = new FormData(composer, event.submitter);
    const text = (fields.get("template") || fields.get("text")).trim();
    if (fields.has("template")) fields.delete("text");
    if (text) send_message(fields, text);
  });
  watch();
  last_into_view();
}
