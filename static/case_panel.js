// One case, side by side: in a panel over the comparison, or on a page of its own.
// What it shows is protected. The right to it is asked again on opening, on returning to the window or
// the tab, and every ten seconds while visible; what can no longer be read disappears at once, each side
// by itself. Nothing is kept: closing clears.

const EVERY_MS = 10_000;
const LONGEST_MS = 20_000;
const PARTS = ["head", "baseline", "candidate"];

const PLACES = `<div class="dialog-head"><h2>Case</h2><span class="muted small"><kbd>j</kbd> <kbd>k</kbd> next, previous</span><button type="button" class="btn plain icon-only" data-close aria-label="Close the case">\u2715</button></div>
<div class="dialog-body case-file"><div data-part="head"></div><div class="compare"><div data-part="baseline"></div><div data-part="candidate"></div></div><p class="case-state" data-case-state role="status" aria-live="polite"></p></div>`;
const WAITING = '<span class="skeleton short"></span><span class="skeleton"></span>';

const sentences = {
  401: "You are signed out. Sign in again to read this.",
  403: "Your rights do not cover this content any more.",
  404: "This case is no longer available to you.",
};

class CaseFile {
  constructor(root, address) {
    this.root = root;
    this.pending = new Map();
    this.last = new Map();
    this.go(address, false);
    this.timer = setInterval(() => this.check(), EVERY_MS);
  }

  place(part) {
    return this.root.querySelector(`[data-part="${part}"]`);
  }

  /** Show another case, repetition or view in the same place. */
  go(address, fetchNow = true) {
    this.stop();
    this.address = new URL(address, location.href);
    this.last.clear();
    if (!fetchNow) return;
    for (const part of PARTS) this.place(part).innerHTML = WAITING;
    this.say("");
    this.check(true);
  }

  /** Ask for every part anew; a part whose read is under way is waited for. */
  check(always = false) {
    if (!this.root.isConnected) return this.end();
    if (document.hidden && !always) return;
    for (const part of PARTS) if (!this.pending.has(part)) this.read(part);
  }

  async read(part) {
    const control = new AbortController();
    this.pending.set(part, control);
    let late = false;
    const clock = setTimeout(() => {
      late = true;
      control.abort();
    }, LONGEST_MS);
    const address = new URL(this.address);
    address.searchParams.set("part", part);
    try {
      const answer = await fetch(address, { headers: { "HX-Request": "true", Accept: "text/html" }, cache: "no-store", redirect: "manual", signal: control.signal });
      const html = answer.ok ? await answer.text() : "";
      if (this.pending.get(part) !== control) return;
      if (answer.type === "opaqueredirect") this.clear(part, sentences[401]);
      else if (!answer.ok) this.clear(part, sentences[answer.status] ?? `The server answered with an error (${answer.status}).`);
      else this.show(part, html);
    } catch {
      if (this.pending.get(part) !== control) return; // another case was opened, or the panel was closed
      this.clear(part, late ? "Reading took longer than 20 seconds; it is tried again." : "No connection to the server; it is tried again.");
    } finally {
      clearTimeout(clock);
      if (this.pending.get(part) === control) this.pending.delete(part);
    }
  }

  show(part, html) {
    if (this.last.get(part) === html) return;
    const place = this.place(part);
    const open = [...place.querySelectorAll("details")].map((one) => one.open);
    const held = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    place.innerHTML = html;
    place.querySelectorAll("details").forEach((one, index) => (one.open = open[index] ?? false));
    if (held) [...place.querySelectorAll("a[href]")].find((one) => one.getAttribute("href") === held)?.focus({ preventScroll: true });
    this.last.set(part, html);
    if (!this.pending.size || PARTS.every((one) => this.last.has(one))) this.say("");
  }

  clear(part, why) {
    this.last.delete(part);
    const words = document.createElement("p");
    words.className = "unknown";
    words.textContent = why;
    this.place(part).replaceChildren(words);
    this.say(why);
  }

  say(text) {
    const state = this.root.querySelector("[data-case-state]");
    if (state && state.textContent !== text) state.textContent = text;
  }

  stop() {
    for (const control of this.pending.values()) control.abort();
    this.pending.clear();
  }

  end() {
    this.stop();
    clearInterval(this.timer);
    this.last.clear();
    if (open === this) open = null;
  }
}

let open = null;
let opener = null;
let left = null; // the address of the case that was shown when the panel closed
const panel = document.getElementById("case-panel");

function openPanel(link) {
  opener = link;
  left = null;
  panel.innerHTML = PLACES;
  panel.showModal();
  open = new CaseFile(panel.querySelector(".case-file"), link.href);
  open.go(link.href);
}

/** The row's own link, also where the table was replaced meanwhile. */
function returnFocus() {
  const item = new URL(left ?? opener?.href ?? location.href, location.href).searchParams.get("item");
  const row = item && document.getElementById(`case-${item}`)?.querySelector("[data-case]");
  (row ?? (opener?.isConnected ? opener : null))?.focus();
}

function forget() {
  left = open?.address ?? left;
  open?.end();
  panel.replaceChildren();
}

// The close event comes a task after the panel is hidden: too late for a page that is left meanwhile, and
// for a panel that is open again by then.
panel?.addEventListener("beforetoggle", (event) => event.newState === "closed" && forget());
panel?.addEventListener("close", () => {
  if (panel.open) return;
  forget();
  returnFocus();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-case]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const inside = link.closest(".case-file");
  if (!inside && !panel) return;
  if (inside && !panel?.contains(inside)) return; // a page of its own follows its links
  event.preventDefault();
  if (inside) open?.go(link.href);
  else openPanel(link);
});

document.addEventListener("keydown", (event) => {
  if (!["j", "k"].includes(event.key) || event.ctrlKey || event.metaKey || event.altKey || !open) return;
  if (panel && !panel.open) return;
  if (localStorage.getItem("evenhand.shortcuts") === "off") return;
  const step = open.root.querySelector(`[data-case-step="${event.key === "j" ? 1 : -1}"]`);
  if (!step) return;
  event.preventDefault();
  step.click();
}, true);

const back = () => open && !document.hidden && open.check();
document.addEventListener("visibilitychange", back);
window.addEventListener("focus", back);
window.addEventListener("pagehide", () => {
  // A page in the back-forward cache would show what the reader may no longer read.
  if (open && !panel) for (const part of PARTS) open.place(part).replaceChildren();
  else if (panel?.open) {
    forget();
    panel.close();
  }
});
window.addEventListener("pageshow", (event) => event.persisted && open?.check(true));

const page = document.querySelector("main .case-file[data-case-file]");
if (page) open = new CaseFile(page, page.dataset.caseFile);
