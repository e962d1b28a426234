// Keyboard control. The pages work without this script, by mouse.
"use strict";

const form = document.querySelector("form[data-keys]");
const mode = form && form.dataset.keys;
const questions = form ? [...form.querySelectorAll("fieldset.question")] : [];
const typing = (target) => target.matches("textarea, input:not([type=radio]):not([type=checkbox]):not([type=range])");
const answered = (question) => question.querySelector("input:checked") || question.querySelector("input[type=number]")?.value;
const first = (question) => question.querySelector("input:checked, input[type=range], input");

// The question that a number key answers: the one with the focus, otherwise the first without an answer.
const active = () => questions.find((one) => one.contains(document.activeElement)) || questions.find((one) => !answered(one)) || questions[0];

function advance(from) {
  const open = questions.slice(questions.indexOf(from) + 1).concat(questions).find((one) => !answered(one));
  (open ? first(open) : form.querySelector("button[type=submit]")).focus();
}

// A slider next to the number field; it gives no answer until it is moved.
for (const field of document.querySelectorAll(".slider input[type=number]")) {
  const range = document.createElement("input");
  Object.assign(range, { type: "range", min: field.min, max: field.max, step: field.step });
  range.setAttribute("aria-label", field.getAttribute("aria-label"));
  const middle = (Number(field.min) + Number(field.max)) / 2;
  const mirror = () => { range.classList.toggle("untouched", field.value === ""); range.value = field.value === "" ? middle : field.value; };
  range.addEventListener("input", () => { field.value = range.value; range.classList.remove("untouched"); });
  field.addEventListener("input", mirror);
  field.before(range);
  mirror();
}

let sent = false;
for (const one of document.querySelectorAll("form")) {
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

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const { key, target } = event;
  if (!form) {
    if (key.toLowerCase() === "u" && !typing(target)) document.querySelector("[data-undo]")?.click();
  } else if (key === "Enter" && target.matches("textarea")) {
    if (!event.shiftKey) { event.preventDefault(); send(); }
  } else if (typing(target)) {
    if (key === "Enter") { event.preventDefault(); send(); }
  } else if (key === "Enter" && !target.matches("button, a, summary")) {
    event.preventDefault();
    send();
  } else if (key.toLowerCase() === "u") {
    document.querySelector("[data-undo]")?.click();
  } else if (mode === "chat" && /^[1-9]$/.test(key)) {
    const button = form.querySelector(`[data-key="${key}"]`);
    if (button) { event.preventDefault(); send(button); }
  } else if (mode === "chat" && key.length === 1 && key !== " ") {
    form.querySelector("textarea").focus(); // the browser then types the letter into it
  } else if (mode === "scale" && /^[0-9]$/.test(key)) {
    const question = active();
    const radios = question ? [...question.querySelectorAll("input[type=radio]")] : [];
    const byValue = radios.find((one) => one.value === key) || (radios.some((one) => isNaN(one.value)) && radios[key - 1]);
    if (byValue) { event.preventDefault(); byValue.checked = true; advance(question); }
  } else if (mode === "scale" && ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"].includes(key) && !target.matches("input")) {
    const question = active();
    if (question) { event.preventDefault(); first(question).focus(); }
  }
});

document.querySelector(".problems[tabindex]")?.focus();
if (mode === "chat") document.querySelector(".turns li:last-child")?.scrollIntoView({ block: "nearest" });
