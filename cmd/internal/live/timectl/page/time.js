"use strict";
// The window of the time control: it shows the state that the server reports, and sends commands.

const token = location.hash.slice(1);
const headers = { Authorization: "Bearer " + token };
const $ = (id) => document.getElementById(id);

let state = null; // the last answer
let source = ""; // "archive" or "host"
let chosen = false; // by the user
let dragging = false;
let ended = false;

function current() {
  return state?.tools.find((t) => t.source === source);
}

function message(text) {
  $("message").textContent = text;
}

function end() {
  if (ended) return;
  ended = true;
  message("The time control has ended. This window can be closed.");
  for (const e of document.querySelectorAll("button, input")) e.disabled = true;
  window.close(); // allowed in a window without tabs
}

let commands = 0;

// Only the last command has a message: answers may come in another order.
async function command(line) {
  const n = ++commands;
  try {
    const r = await fetch("do", { method: "POST", headers, body: JSON.stringify({ source, line }) });
    const text = r.ok ? "" : await r.text();
    if (n === commands) message(text);
  } catch {
    end();
  }
}

function set(input, text) {
  if (document.activeElement !== input) input.value = text;
}

// The position as a part of a thousand.
function part(t) {
  return t.end > t.start ? ((t.position - t.start) / (t.end - t.start)) * 1000 : 0;
}

function draw() {
  if (!chosen) {
    source = state.first;
    const busy = state.tools.filter((t) => t.followers > 0);
    if (busy.length > 0 && !busy.some((t) => t.source === source)) source = busy[0].source;
  }
  const t = current();
  document.body.className = source === "host" ? "live" : "";
  for (const b of document.querySelectorAll("#sources button")) {
    b.setAttribute("aria-selected", String(b.dataset.source === source));
  }
  $("tools").textContent = t.followers === 1 ? "1 tool" : t.followers + " tools";
  $("clock").textContent = t.known ? t.clock : "no tool has come yet";
  $("zone").textContent = t.zone;
  $("from").textContent = t.known ? t.from : "";
  $("to").textContent = t.known ? t.to : "";
  $("position").disabled = !t.known;
  if (!dragging) $("position").value = String(part(t));
  set($("delta"), String(t.delta));
  set($("speed"), String(t.speed));
  $("fast").checked = t.mode === "fast";
  const moving = t.mode === "step" ? "stopped" : t.state;
  for (const b of document.querySelectorAll("#buttons button")) {
    const on = { play: "forward", back: "backward", stop: "stopped" }[b.dataset.line];
    if (on) b.setAttribute("aria-pressed", String(on === moving));
  }
}

async function watch() {
  let after = -1;
  let failures = 0;
  while (!ended) {
    try {
      const r = await fetch("state?after=" + after, { headers });
      if (r.status === 403) {
        message(await r.text());
        return;
      }
      state = await r.json();
      after = state.n;
      failures = 0;
      draw();
    } catch {
      if (++failures === 3) end();
      await new Promise((done) => setTimeout(done, 300));
    }
  }
}

for (const b of document.querySelectorAll("#buttons button")) {
  b.addEventListener("click", () => command(b.dataset.line));
}
for (const b of document.querySelectorAll("#sources button")) {
  b.addEventListener("click", () => {
    source = b.dataset.source;
    chosen = true;
    message("");
    draw();
  });
}

let sent = 0;
let waiting = 0;
function moveTo() {
  clearTimeout(waiting);
  const t = current();
  const at = t.start + (Number($("position").value) / 1000) * (t.end - t.start);
  const go = () => {
    sent = Date.now();
    command("at " + at.toFixed(6));
  };
  if (Date.now() - sent > 100) go();
  else waiting = setTimeout(go, 100);
}
$("position").addEventListener("input", () => {
  dragging = true;
  moveTo();
});
$("position").addEventListener("change", () => {
  dragging = false;
});

for (const name of ["delta", "speed", "goto"]) {
  const input = $(name);
  input.addEventListener("change", () => {
    const value = input.value.trim();
    if (value !== "") command(name + " " + value);
    if (name === "goto") input.value = "";
  });
}
$("fast").addEventListener("change", () => command($("fast").checked ? "fast" : "normal"));
$("settings").addEventListener("submit", (e) => {
  e.preventDefault();
  document.activeElement?.blur();
});

const keys = {
  " ": "pause", b: "back", n: "next", p: "prev", ArrowRight: "next", ArrowLeft: "prev", PageDown: "skip 10", PageUp: "skip -10",
  Home: "first", End: "last", "+": "faster", "=": "faster", "-": "slower", "]": "longer", "[": "shorter", f: "hurry",
};
document.addEventListener("keydown", (e) => {
  if (e.target instanceof HTMLInputElement || e.ctrlKey || e.metaKey || e.altKey || ended) return;
  if (e.key === " " && e.target instanceof HTMLButtonElement) e.target.blur();
  if (keys[e.key]) {
    e.preventDefault();
    command(keys[e.key]);
  } else if (e.key === "q") command("quit").then(end);
});

window.addEventListener("pagehide", () => {
  if (!ended) fetch("closed", { method: "POST", headers, keepalive: true });
});

watch();
