// Values from which on something is of note.

import type { Level, Threshold } from "./dashboard";
import type { Kind } from "./values";
import { showWith } from "./units";

// reached returns the highest threshold that a value has reached.
export function reached(v: number | null, list: Threshold[] | undefined): Threshold | null {
  let t: Threshold | null = null;
  if (v !== null) for (const x of list ?? []) if (v >= x.value && (!t || x.value >= t.value)) t = x;
  return t;
}

export function describeThreshold(t: Threshold, k: Kind | undefined): string {
  const v = k ? showWith(t.value, k.unit, k.utilization) : String(t.value);
  return t.text ? `${t.text} (${v})` : v;
}

export function inkOf(l: Level): string {
  return getComputedStyle(document.documentElement).getPropertyValue(l === "bad" ? "--bad" : "--warn").trim();
}
