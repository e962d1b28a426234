// Keyboard control and layout. The pages work without this script, by mouse.
"use strict";

const form = document.querySelector("form[data-keys]");
const mode = form && form.dataset.keys;
const questions = form ? [...form.querySelectorAll("fieldset.question")] : [];
const typing = (target) => target.matches("textarea, select, input:not([type=radio]):not([type=checkbox]):not([type=range])");
const answered = (question) => question.querySelector("input:checked") || question.querySelector("input[type=number]")?.value;
const first = (question) => question.querySelector("input:checked, input[type=range], input");

// The question that a number key answers: the one with the focus, otherwise the first without an answer.
const active = () => questions.find((one) => one.contains(document.activeElement)) || questions.find((one) => !answered(one)) || questions[0];

function advance(from) {
  const open = questions.slice(questions.indexOf(from) + 1).concat(questions).find((one) => !answered(one));
  (open ? first(open) : form.querySelector("button[type=submit]")).focus();
}

// A slider next to the number field. It has no thumb and no value until it is moved or clicked.
for (const field of document.querySelectorAll(".slider input[type=number]")) {
  const range = document.createElement("input");
  const unanswered = field.closest(".slider").dataset.unanswered;
  Object.assign(range, { type: "range", min: field.min, max: field.max, step: field.step });
  range.setAttribute("aria-label", field.getAttribute("aria-label"));
  const middle = (Number(field.min) + Number(field.max)) / 2;
  const mirror = () => {
    const empty = field.value === "";
    range.classList.toggle("untouched", empty);
    range.value = empty ? middle : field.value;
    if (empty) range.setAttribute("aria-valuetext", unanswered); else range.removeAttribute("aria-valuetext");
  };
  const choose = () => { field.value = range.value; mirror(); };
  range.addEventListener("input", choose);
  range.addEventListener("click", choose); // a click on the middle changes no value, so there is no input event
  range.addEventListener("keydown", (event) => { if (event.key === " ") { event.preventDefault(); choose(); } });
  field.addEventListener("input", mirror);
  field.before(range);
  mirror();
}

let sent = false;
for (const one of document.querySelectorAll("form:not([data-keys=chat])")) {
  one.addEventListener("submit", (event) => { if (sent) event.preventDefault(); sent = true; document.body.classList.add("busy"); });
}
addEventListener("pageshow", () => { sent = false; document.body.classList.remove("busy"); });

function send(button) {
  if (mode === "scale") {
    const open = questions.find((one) => !answered(one));
    if (open) { first(open).focus(); return; }
  }
  form.requestSubmit(button);
}

// Digits spell the value of a point (1, 10, -2, 1.5). A longer value may follow within a second; pairs go by position.
let spelt = { question: null, text: "", at: 0 };
function spell(question, key) {
  const field = question.querySelector("input[type=number]");
  if (field) {
    field.focus();
    field.select();
    if (/^[0-9]$/.test(key)) { field.value = key; field.dispatchEvent(new Event("input")); }
    return true;
  }
  const radios = [...question.querySelectorAll("input[type=radio]")];
  if (radios.some((one) => isNaN(one.value))) {
    const chosen = radios[Number(key) - 1];
    if (chosen) { chosen.checked = true; advance(question); }
    return Boolean(chosen);
  }
  const goes_on = spelt.question === question && Date.now() - spelt.at < 1000;
  const found = [goes_on ? spelt.text + key : key, key].find((text) => radios.some((one) => one.value.startsWith(text)));
  if (found === undefined) return false;
  spelt = { question, text: found, at: Date.now() };
  const chosen = radios.find((one) => one.value === found);
  if (!chosen) return true;
  chosen.checked = true;
  if (radios.some((one) => one !== chosen && one.value.startsWith(found))) chosen.focus(); else advance(question);
  return true;
}

function instructions(open) {
  const box = document.querySelector("details.instructions");
  if (!box || (!open && !box.open)) return false;
  box.open = open && !box.open;
  (box.open ? box.querySelector(".panel") : box.querySelector("summary")).focus();
  return true;
}

addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.isComposing) return;
  if (mode === "chat" && event.altKey && /^Digit[1-9]$/.test(event.code)) { // by code: on a Mac Alt changes the character
    const button = form.querySelector(`[data-key="${event.code.slice(5)}"]`);
    if (button) { event.preventDefault(); form.requestSubmit(button); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Escape" && instructions(false)) { event.preventDefault(); return; }
  if (key === "?" && !typing(target) && mode !== "chat" && instructions(true)) { event.preventDefault(); return; }
  if (!form) {
    if (key.toLowerCase() === "u" && !typing(target)) document.querySelector("[data-undo]")?.click();
  } else if (key === "Enter" && target.matches("textarea")) {
    if (!event.shiftKey) { event.preventDefault(); send(); }
  } else if (typing(target)) {
    if (key === "Enter") {
      event.preventDefault();
      const question = questions.find((one) => one.contains(target));
      if (question && questions.some((one) => !answered(one))) advance(question); else send();
    }
  } else if (key === "Enter" && !target.matches("button, a, summary")) {
    event.preventDefault();
    send();
  } else if (mode === "chat") {
    if (key.length === 1 && key !== " ") form.querySelector("textarea").focus(); // the browser then types the letter into it
  } else if (key.toLowerCase() === "u") {
    document.querySelector("[data-undo]")?.click();
  } else if (mode === "scale" && /^[0-9.-]$/.test(key)) {
    const question = active();
    if (question && spell(question, key)) event.preventDefault();
  } else if (mode === "scale" && ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"].includes(key) && !target.matches("input")) {
    const question = active();
    if (question) { event.preventDefault(); first(question).focus(); }
  }
});

// The pane follows the scrolling; one that is higher than the window is moved up until its lower edge shows. Questions
// that take most of the window do not stay in view, because they would cover what is judged.
const pane = document.querySelector(".pane");
const answers = document.querySelector("form.answers");
function lay_out() {
  answers?.classList.toggle("stays", answers.offsetHeight < innerHeight * 0.6);
  if (pane) pane.style.setProperty("--pane-top", `${Math.min(16, innerHeight - pane.offsetHeight)}px`);
}
if (pane || answers) {
  lay_out();
  addEventListener("resize", lay_out);
  addEventListener("load", lay_out);
  document.addEventListener("toggle", lay_out, true); // folded tool calls change the height
}

document.querySelector(".problems[tabindex]")?.focus();
