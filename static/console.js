// Evenhand in the browser: keys, live parts, dialogs, files, toasts. Pages work without it, except
// live updates and dialogs. Everything is driven by attributes; templates/README.md lists them.

const find = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// --- toasts -----------------------------------------------------------------------------------

const TOAST_MS = 8000;
const GLYPHS = { info: "i", good: "\u2713", warn: "!", bad: "!" };

/** Say something at the corner of the page. Errors stay until closed. */
export function toast(text, kind = "info", code = "") {
  const close = make("button", { type: "button", class: "btn plain small", "aria-label": "Close this message" }, "Close");
  const words = make("div", {}, text);
  if (code) words.append(" ", make("code", { class: "code" }, code));
  const box = make("div", { class: `notice ${kind}` }, make("span", { class: "glyph", "aria-hidden": "true" }, GLYPHS[kind]), words, close);
  close.addEventListener("click", () => box.remove());
  find("#toasts")?.append(box);
  if (kind !== "bad") setTimeout(() => box.remove(), TOAST_MS);
}

/** The refusal inside an answer: the API's error form, or the marked sentence of an error page. */
function refusalIn(body, type) {
  if (type.includes("json")) {
    try {
      const error = JSON.parse(body).error ?? {};
      return error.message ? { text: [error.place, error.message].filter(Boolean).join(": "), code: error.code ?? "" } : null;
    } catch {
      return null;
    }
  }
  const marked = new DOMParser().parseFromString(body, "text/html").querySelector("[data-refusal]");
  return marked ? { text: marked.textContent.trim().replace(/\s+/g, " "), code: marked.dataset.code.trim() } : null;
}

function sayRefusal(status, body, type) {
  const refusal = refusalIn(body, type) ?? { text: `The server answered with an error (${status}).`, code: "" };
  toast(refusal.text, "bad", refusal.code);
}

const SIGN_IN = "data-sign-in"; // marks the sign-in page, which answers when a session has ended

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { status, responseText } = detail.xhr;
  if (responseText.includes(SIGN_IN)) {
    detail.shouldSwap = false;
    location.reload();
  }
  // A form that comes back with its errors is shown; a refusal becomes a toast instead.
  if (status === 422 && !responseText.includes("data-refusal")) {
    detail.shouldSwap = true;
    detail.isError = false;
  }
});
document.addEventListener("htmx:responseError", ({ detail: { xhr } }) => {
  if (xhr.status === 401) location.reload();
  else sayRefusal(xhr.status, xhr.responseText, xhr.getResponseHeader("content-type") ?? "");
});
document.addEventListener("htmx:sendError", () => toast("No connection to the server. Nothing was sent.", "bad"));
document.addEventListener("htmx:timeout", () => toast("The server took too long to answer.", "bad"));

// --- focus kept across updates -----------------------------------------------------------------

/** Where the focus is, in words that survive a replaced subtree. */
function focusPlace(root) {
  const active = document.activeElement;
  if (!root.contains(active) || active === root) return null;
  if (active.id) return () => document.getElementById(active.id);
  const row = active.closest("tr[id]");
  if (row && active.matches(".row-link")) return () => find(".row-link", document.getElementById(row.id) ?? undefined);
  const href = active.getAttribute("href");
  return href ? () => all("a[href]", root).find((link) => link.getAttribute("href") === href) : null;
}

let place = null;
document.addEventListener("htmx:beforeSwap", ({ detail }) => (place = detail.target ? focusPlace(detail.target) : null));
document.addEventListener("htmx:afterSettle", () => {
  if (place && document.activeElement === document.body) place()?.focus({ preventScroll: true });
  place = null;
});

// --- details that stay as they were left --------------------------------------------------------

const KEPT = "evenhand.details.";
function restoreDetails(root) {
  for (const details of all("details[data-keep]", root)) {
    const state = sessionStorage.getItem(KEPT + details.dataset.keep);
    if (state !== null) details.open = state === "open";
  }
}
document.addEventListener(
  "toggle",
  ({ target }) => {
    if (target.matches?.("details[data-keep]")) sessionStorage.setItem(KEPT + target.dataset.keep, target.open ? "open" : "closed");
  },
  true,
);

// --- live parts -----------------------------------------------------------------------------------
// <div class="live" id=… data-poll-url=… data-poll-every="2000" data-terminal="false" aria-live="polite">
// The answer's first element replaces the contents and attributes; data-terminal="true" ends it, and
// data-terminal-text is then told as a toast and in the title.

const TRIES = 4;
const LONGEST_WAIT = 30_000;

class Live {
  static started = new WeakSet();

  constructor(element) {
    Live.started.add(element);
    this.element = element;
    this.failures = 0;
    this.state = make("div", { class: "live-state" });
    element.append(this.state);
    this.wait();
  }

  get every() {
    return Math.max(500, Number(this.element.dataset.pollEvery) || 2000);
  }

  get terminal() {
    return this.element.dataset.terminal === "true";
  }

  wait(delay = this.every) {
    clearTimeout(this.timer);
    if (this.terminal || this.stopped) return;
    this.timer = setTimeout(() => this.ask(), delay);
  }

  async ask() {
    clearTimeout(this.timer);
    if (!this.element.isConnected) return this.end();
    if (document.hidden) return; // visibilitychange asks again
    if (this.asking) return;
    this.asking = true;
    try {
      const answer = await fetch(this.element.dataset.pollUrl, {
        headers: { "HX-Request": "true", Accept: "text/html" },
        signal: AbortSignal.timeout(15_000),
      });
      if (answer.status === 401) return location.reload();
      if ([403, 404, 410].includes(answer.status)) return this.stop("This part is no longer available.");
      if (!answer.ok && answer.status !== 286) throw new Error(String(answer.status));
      const html = answer.status === 204 ? "" : await answer.text();
      if (html.includes(SIGN_IN)) return location.reload();
      this.show(html);
      this.failures = 0;
      this.say("");
      this.wait();
    } catch {
      this.failures += 1;
      if (this.failures >= TRIES) this.stop("Stopped updating.");
      else {
        this.say("Not updating; trying again.");
        this.wait(Math.min(LONGEST_WAIT, this.every * 2 ** this.failures));
      }
    } finally {
      this.asking = false;
    }
  }

  show(html) {
    const fresh = new DOMParser().parseFromString(html, "text/html").body.firstElementChild;
    if (!fresh) return;
    const was = this.terminal;
    if (fresh.innerHTML !== this.last) {
      this.last = fresh.innerHTML;
      const focus = focusPlace(this.element);
      this.element.replaceChildren(...fresh.childNodes, this.state);
      restoreDetails(this.element);
      window.htmx?.process(this.element);
      start(this.element);
      if (focus) focus()?.focus({ preventScroll: true });
    }
    for (const { name, value } of [...fresh.attributes]) if (name.startsWith("data-") || name === "class") this.element.setAttribute(name, value);
    if (this.terminal && !was) this.finish();
  }

  finish() {
    const text = this.element.dataset.terminalText;
    if (text) {
      toast(text, this.element.dataset.terminalKind ?? "good");
      if (document.hidden) document.title = `${text} · ${document.title}`;
    }
    this.element.dispatchEvent(new CustomEvent("live:finished", { bubbles: true }));
  }

  stop(text) {
    this.stopped = true;
    clearTimeout(this.timer);
    const again = make("button", { type: "button" }, "Update now");
    again.addEventListener("click", () => {
      this.stopped = false;
      this.failures = 0;
      this.ask();
    });
    const at = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    this.say(`${text.replace(/\.$/, "")} at ${at}.`, again);
  }

  say(text, ...more) {
    if (this.said === text) return;
    this.said = text;
    this.state.replaceChildren(...(text ? [make("span", { class: "chip" }, text, ...more)] : []));
  }

  end() {
    this.state.remove();
    live.delete(this);
  }
}

const live = new Set();
const wake = () => {
  if (!document.hidden) for (const part of live) if (!part.terminal && !part.stopped) part.ask();
};
document.addEventListener("visibilitychange", wake);
window.addEventListener("online", wake);

// --- files --------------------------------------------------------------------------------------

function size(bytes) {
  for (const [limit, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) if (bytes >= limit) return `${(bytes / limit).toPrecision(3)} ${unit}`;
  return `${bytes} B`;
}

function listFiles(input) {
  const field = input.closest(".field") ?? undefined;
  const list = find(".drop-files", field);
  const endings = input.accept.split(",").filter(Boolean);
  if (endings.length && [...input.files].some((file) => file.webkitRelativePath)) {
    // A folder brings everything that lies in it; what is no result file stays outside.
    const kept = new DataTransfer();
    for (const file of input.files) if (endings.some((ending) => file.name.toLowerCase().endsWith(ending.trim()))) kept.items.add(file);
    input.files = kept.files;
  }
  const files = [...input.files];
  const paths = field && find("[data-paths]", field);
  if (paths) paths.value = files.some((file) => file.webkitRelativePath) ? JSON.stringify(files.map((file) => file.webkitRelativePath || file.name)) : "";
  list?.replaceChildren(...files.map((file) => make("li", {}, make("bdi", {}, file.webkitRelativePath || file.name), make("span", { class: "size" }, size(file.size)))));
}

for (const type of ["dragenter", "dragover", "dragleave", "drop"]) {
  document.addEventListener(type, (event) => {
    const area = event.target.closest?.("[data-drop]");
    if (!area) return;
    event.preventDefault();
    area.classList.toggle("over", type === "dragenter" || type === "dragover");
    if (type !== "drop") return;
    const input = find("input[type=file]", area);
    if (!event.dataTransfer.files.length) return;
    const kept = new DataTransfer();
    for (const file of [...event.dataTransfer.files].slice(0, input.multiple ? undefined : 1)) kept.items.add(file);
    input.files = kept.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

// --- dialogs ----------------------------------------------------------------------------------------
// data-open="id" opens a dialog, data-close closes the one around it; the browser returns the focus.
// <dialog data-opens-on-swap> opens when htmx puts something into it.

function openDialog(dialog) {
  if (dialog && !dialog.open) dialog.showModal();
}
document.addEventListener("htmx:afterSwap", ({ detail }) => openDialog(detail.target?.closest?.("dialog[data-opens-on-swap]")));

// --- clicks and changes -------------------------------------------------------------------------------

const OWN = "a, button, input, select, textarea, label, summary, [contenteditable]";

document.addEventListener("click", async (event) => {
  const { target } = event;
  for (const menu of all("details.menu[open]")) if (!menu.contains(target)) menu.open = false;

  const folder = target.closest("[data-folder]");
  if (folder) {
    const input = document.getElementById(folder.dataset.folder);
    input.webkitdirectory = true;
    for (const end of ["change", "cancel"]) input.addEventListener(end, () => { input.webkitdirectory = false; }, { once: true });
    input.click();
  }
  const opener = target.closest("[data-open]");
  if (opener) {
    const menu = opener.closest("details.menu");
    if (menu) {
      find("summary", menu).focus(); // what the dialog gives the focus back to
      menu.open = false;
    }
    if (!(opener.hasAttribute("commandfor") && "commandForElement" in opener)) openDialog(document.getElementById(opener.dataset.open));
  }
  if (target.closest("[data-close]")) target.closest("dialog")?.close();

  const copy = target.closest("[data-copy], [data-copy-text]");
  if (copy) {
    const text = copy.dataset.copyText ?? document.getElementById(copy.dataset.copy)?.textContent ?? "";
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied.");
    } catch {
      toast("The browser did not allow copying. Select the text and copy it by hand.", "warn");
    }
  }

  const row = target.closest("tr");
  const link = row && !target.closest(OWN) && find("a.row-link", row);
  if (link && !String(getSelection())) {
    if (event.ctrlKey || event.metaKey) window.open(link.href, "_blank", "noopener");
    else link.click();
  }
});

document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-drop] input[type=file]")) listFiles(target);
  if (target.matches("[data-shortcuts]")) localStorage.setItem("evenhand.shortcuts", target.checked ? "on" : "off");
  if (target.matches("[data-pick-all]")) {
    for (const box of all("input[data-pick]", target.closest("table"))) box.checked = target.checked;
  }
  if (target.matches("[data-pick], [data-pick-all]")) countPicked(target.closest("form") ?? document);
  if (target.matches("[data-submit-on-change]")) target.form?.requestSubmit();
});

/** The bar above a table with its number of picked rows: <div data-picked hidden><b data-picked-count></b>…</div> */
function countPicked(root) {
  const picked = all("input[data-pick]:checked", root).length;
  const bar = find("[data-picked]", root);
  if (!bar) return;
  bar.hidden = picked === 0;
  find("[data-picked-count]", bar).textContent = picked;
}

// A form that is on its way to another page has been decided: what its fields would still ask comes too late.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  event.target.setAttribute("data-sent", ""); // not `dataset`: a field of that name would stand in its place
  for (const field of all("[hx-get]", event.target)) window.htmx?.trigger(field, "htmx:abort");
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt.form?.hasAttribute("data-sent")) event.preventDefault();
});
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of all("form[data-sent]")) form.removeAttribute("data-sent");
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-theme-form]")) return;
  event.preventDefault();
  const choice = event.submitter?.value ?? "system";
  if (choice === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  for (const button of all("button[name=theme]", form)) button.setAttribute("aria-pressed", String(button.value === choice));
  fetch(form.action, { method: "POST", body: new FormData(form, event.submitter), redirect: "manual" });
});

// --- keys ---------------------------------------------------------------------------------------------

const shortcuts = () => localStorage.getItem("evenhand.shortcuts") !== "off";
const typing = (element) => element.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
const TOGETHER_MS = 1500;
let goUntil = 0;

/** Rows one can walk: of the table that has the focus, else of the first in the open dialog or the page. */
function walkable() {
  const table = document.activeElement.closest("table.data") ?? find("table.data:has(.row-link)", find("dialog[open]") ?? find("#main"));
  return table ? all("tbody tr:has(.row-link)", table) : [];
}

function current(rows) {
  return rows.findIndex((row) => row.contains(document.activeElement));
}

function move(step) {
  const rows = walkable();
  if (!rows.length) return;
  const at = current(rows);
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))];
  find(".row-link", next).focus({ preventScroll: true });
  for (const row of rows) row.classList.toggle("is-current", row === next);
  next.scrollIntoView({ block: "nearest" });
}

function pick() {
  const rows = walkable();
  const row = rows[current(rows)];
  find("input[type=checkbox]", row)?.click();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const menu = document.activeElement.closest("details.menu[open]") ?? find("details.menu[open]");
    if (menu) {
      menu.open = false;
      find("summary", menu).focus();
    } else if (typing(document.activeElement) && document.activeElement.matches("[type=search]")) document.activeElement.blur();
    return;
  }
  if (event.key === "Enter" && event.target.matches("input[data-enter]") && !event.isComposing) {
    event.preventDefault(); // a form of several buttons would press its first one
    document.getElementById(event.target.dataset.enter)?.click();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target) || !shortcuts()) return;
  const { key } = event;
  if (performance.now() < goUntil) {
    goUntil = 0;
    const link = find(`[data-go="${CSS.escape(key)}"]`);
    if (link) {
      event.preventDefault();
      link.click();
    }
    return;
  }
  const dialogOpen = find("dialog[open]");
  if (key === "g" && !dialogOpen) goUntil = performance.now() + TOGETHER_MS;
  else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else if (key === "x") pick();
  else if (key === "/" && !dialogOpen) {
    const field = find("#main [data-find], #main input[type=search]");
    if (!field) return;
    field.focus();
    field.select();
  } else if (key === "?") openDialog(find("#keys"));
  else return;
  event.preventDefault();
});

document.addEventListener("focusin", ({ target }) => {
  const row = target.closest?.("tr.is-current");
  for (const other of all("tr.is-current")) if (other !== row) other.classList.remove("is-current");
});

// --- wide tables ------------------------------------------------------------------------------------------
// A table that scrolls sideways can be scrolled by keys in every browser; one that fits is no stop on the way.

function markScrolling(wrap) {
  const wide = wrap.scrollWidth > wrap.clientWidth + 1 || wrap.scrollHeight > wrap.clientHeight + 1;
  const scrolls = wide && getComputedStyle(wrap).overflowX !== "visible";
  if (scrolls === wrap.hasAttribute("tabindex")) return;
  if (scrolls) {
    wrap.tabIndex = 0;
    wrap.setAttribute("role", "group");
    wrap.setAttribute("aria-label", find("caption", wrap)?.textContent.trim() || "Table");
  } else for (const name of ["tabindex", "role", "aria-label"]) wrap.removeAttribute(name);
}

// Rows that are opened or loaded grow the table inside a frame that keeps its size, so both are watched.
const widths = new ResizeObserver((entries) => {
  for (const wrap of new Set(entries.map(({ target }) => target.closest(".table-wrap")))) if (wrap) markScrolling(wrap);
});

// --- start -----------------------------------------------------------------------------------------------

function start(root) {
  restoreDetails(root);
  for (const element of all("[data-poll-url]", root)) if (!Live.started.has(element)) live.add(new Live(element));
  for (const input of all("[data-drop] input[type=file]", root)) listFiles(input);
  for (const wrap of all(".table-wrap:not([tabindex])", root)) for (const box of [wrap, ...wrap.children]) widths.observe(box);
}

document.addEventListener("htmx:load", ({ detail }) => start(detail.elt));
const switchBox = find("[data-shortcuts]");
if (switchBox) switchBox.checked = shortcuts();
for (const entry of all(".top-nav [aria-current], .tabs [aria-current]")) {
  const [bar, here] = [entry.parentElement.getBoundingClientRect(), entry.getBoundingClientRect()];
  entry.parentElement.scrollLeft += here.left + here.width / 2 - bar.left - bar.width / 2;
}
start(document);
