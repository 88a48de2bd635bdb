// When the page is drawn: once for the samples of all feeds, and seldom while nobody touches it.

const apart = 40; // ms between samples that are drawn at once
const untouched = 60_000; // ms without input until the page rests
const calm = 5000; // ms between two drawings of a page that rests

const waiting = new Set<() => void>();
let timer = 0;
let touched = performance.now();

function draw(): void {
  clearTimeout(timer);
  timer = 0;
  const list = [...waiting];
  waiting.clear();
  for (const f of list) f();
}

function resting(): boolean {
  return performance.now() - touched >= untouched;
}

// soon calls a function together with others that come in this moment.
export function soon(f: () => void): void {
  waiting.add(f);
  timer ||= window.setTimeout(draw, resting() ? calm : apart);
}

function touch(): void {
  const rested = resting();
  touched = performance.now();
  if (rested && timer) draw();
}

for (const what of ["pointermove", "pointerdown", "keydown", "wheel", "scroll", "focus", "visibilitychange"]) addEventListener(what, touch, { capture: true, passive: true });
