// What makes pages live. Without it they work, and are loaded again by hand.
"use strict";

// --- parts of a page that follow what happens ---

const wanted = (document.body.dataset.live || "").split(" ").filter(Boolean);

async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (answer.redirected && !answer.url.startsWith(location.origin + location.pathname)) {
    location.reload();
    return;
  }
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  localTimes(fresh);
  const focused = place(document.activeElement);
  for (const part of document.querySelectorAll("[data-part]")) {
    const now = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!now) continue;
    if ("keyed" in part.dataset) merge(part, now);
    else if (part.outerHTML !== now.outerHTML && !isUsed(part)) part.replaceWith(now);
  }
  document.body.dataset.live = fresh.body.dataset.live;
  // Whoever uses the keyboard stays where they were.
  if (focused && document.activeElement === document.body) {
    document.querySelector(focused)?.focus({ preventScroll: true });
  }
}

// Where the keyboard is, so that it is found again in what was drawn anew.
function place(element) {
  const part = element?.closest?.("[data-part]");
  if (!part) return null;
  const within = `[data-part="${CSS.escape(part.dataset.part)}"] `;
  if (element.id) return `#${CSS.escape(element.id)}`;
  const href = element.getAttribute("href");
  if (href) return `${within}a[href="${CSS.escape(href)}"]`;
  if (element.dataset.act) return `${within}[data-act="${CSS.escape(element.dataset.act)}"]`;
  const tag = element.tagName.toLowerCase();
  const label = element.getAttribute("aria-label");
  return label ? `${within}${tag}[aria-label="${CSS.escape(label)}"]` : `${within}${tag}`;
}

// Things with an id stay as they are as long as nothing about them changed: somebody may
// be writing into one.
function merge(part, now) {
  const have = new Map([...part.children].map((child) => [child.dataset.id, child]));
  let last = null;
  for (const fresh of [...now.children]) {
    const old = have.get(fresh.dataset.id);
    have.delete(fresh.dataset.id);
    const stays = old && (old.dataset.state === fresh.dataset.state || isUsed(old));
    const child = stays ? old : fresh;
    if (old && !stays) old.replaceWith(fresh);
    else if (child !== old) part.insertBefore(child, last ? last.nextSibling : part.firstChild);
    last = child;
  }
  for (const gone of have.values()) gone.remove();
}

function isUsed(part) {
  const active = document.activeElement;
  const writes = active && part.contains(active) && active.matches("textarea, input, select");
  return writes || [...part.querySelectorAll("textarea")].some((t) => t.value !== t.defaultValue);
}

let planned = null;
function plan() {
  if (planned !== null) return;
  planned = setTimeout(() => {
    planned = null;
    refresh().catch(() => {});
  }, 50);
}

// A stream that is open while somebody looks: browsers hold only a few connections to one
// place, for all tabs together.
function watch(address, events) {
  let source = null;
  let over = false;
  const end = () => {
    over = true;
    source?.close();
  };
  const open = () => {
    if (over || document.hidden || (source && source.readyState !== EventSource.CLOSED)) return;
    source = new EventSource(address());
    for (const [name, heard] of Object.entries(events)) {
      source.addEventListener(name, (event) => heard(event, end));
    }
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source?.close();
    else open();
  });
  open();
}

if (document.querySelector("[data-badge]")) {
  watch(() => "/console/live", {
    change: (event) => {
      const told = event.data.split(" ");
      const live = (document.body.dataset.live || "").split(" ");
      if (told.some((word) => live.includes(word) || word === "inbox")) plan();
    },
    // What happened between the page and the stream, or while it was away.
    open: () => {
      if (wanted.length) plan();
    },
  });
}

// --- what a run writes ---

const logs = document.querySelector("pre[data-logs][data-from]");
if (logs) {
  const MOST = 200000;
  let kept = logs.textContent.length;
  const append = (event) => {
    const piece = document.createElement("span");
    if (event.type === "stderr") piece.className = "err";
    piece.append(...visible(JSON.parse(event.data).text));
    logs.append(piece);
    // The end of it is what people look at; the whole is what `helve logs` shows.
    for (kept += piece.textContent.length; kept > MOST && logs.firstChild !== piece; ) {
      kept -= logs.firstChild.textContent.length;
      logs.firstChild.remove();
    }
    logs.dataset.after = event.lastEventId;
    logs.parentElement.hidden = false;
    logs.scrollTop = logs.scrollHeight;
  };
  const over = (event, end) => {
    // A lost connection is no event of ours; the browser opens it again.
    if (event.type === "error" && event.data === undefined) return;
    end();
    plan();
  };
  watch(() => `${logs.dataset.from}?after=${logs.dataset.after}`, {
    stdout: append,
    stderr: append,
    end: over,
    revoked: over,
    error: over,
  });
}

// The same as the server does: nothing hides.
function visible(text) {
  const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]/u;
  const parts = [""];
  for (const c of text) {
    if (!hidden.test(c) && !(c >= "\u{e0000}" && c <= "\u{e01ef}")) {
      parts[parts.length - 1] += c;
      continue;
    }
    const mark = document.createElement("span");
    mark.className = "hid";
    mark.textContent = "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.push(mark, "");
  }
  return parts;
}

// --- keys ---

const items = () => [...document.querySelectorAll("[data-keys] > article")];

function select(step) {
  const all = items();
  if (!all.length) return;
  const at = all.findIndex((item) => item.getAttribute("aria-current") === "true");
  const next = at < 0 ? 0 : Math.min(Math.max(at + step, 0), all.length - 1);
  for (const item of all) item.removeAttribute("aria-current");
  all[next].setAttribute("aria-current", "true");
  all[next].focus({ preventScroll: true });
  all[next].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !document.querySelector("[data-keys]")) return;
  if (event.target.closest("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const current = document.querySelector("[data-keys] > article[aria-current=true]");
  if (event.key === "j") select(1);
  else if (event.key === "k") select(-1);
  else if (event.key === "a" && current) current.querySelector("[data-act=approve]")?.click();
  else if (event.key === "d" && current) {
    const deny = current.querySelector("[data-deny]");
    if (!deny) return;
    deny.open = true;
    deny.querySelector("textarea").focus();
  } else return;
  event.preventDefault();
});

// --- the rest of a long diff, where it is looked for ---

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-more]");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const section = link.closest("section");
  const answer = await fetch(link.href);
  if (!answer.ok) {
    location.href = link.href;
    return;
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("section[data-file]");
  const rows = fresh?.querySelectorAll("tbody > tr") ?? [];
  let body = section.querySelector("tbody");
  if (!body && fresh) {
    section.replaceWith(fresh);
    return;
  }
  body.append(...rows);
  const more = fresh?.querySelector(".more");
  const old = link.closest(".more");
  if (more) old.replaceWith(more);
  else old.remove();
});

// --- a button that was pressed is not pressed twice ---

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) event.preventDefault();
  else if (form.method === "post") form.dataset.sent = "yes";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// --- times as they are here ---

function localTimes(page) {
  for (const time of page.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime())) time.title = at.toLocaleString();
  }
}
localTimes(document);
