// The live page of the administrator: the parts marked with data-live are taken from the server every few seconds, and
// never one that has the focus, so that nothing being typed is wiped. Buttons that copy a link.
"use strict";

const SECONDS = 5;

async function refresh() {
  let page;
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch { return; }
  for (const part of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(part.id);
    if (fresh && !part.contains(document.activeElement) && part.innerHTML !== fresh.innerHTML) part.replaceWith(fresh);
  }
}

addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not allowed without https: select the text and copy it the old way
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    button.focus();
  }
  document.querySelector("#copied").textContent = button.dataset.copied;
});

setInterval(() => { if (!document.hidden) refresh(); }, SECONDS * 1000);
