// From raw values to what is drawn: tables that grow, rates of counters, gaps.

import type { Cell, Meta, Table } from "./source";
import { isUtilization, parseUnit, rateOf, type Unit } from "./units";

export function emptyTable(): Table {
  return { t: [], series: new Map() };
}

// fill adds to the last sample of a table what another one knows of it.
export function fill(a: Table, before: Table["before"]): void {
  const last = a.t.length - 1;
  if (!before || a.t[last] !== before.t) return;
  for (const [name, x] of before.values) {
    let cells = a.series.get(name);
    if (!cells) a.series.set(name, (cells = new Array<Cell>(a.t.length).fill(null)));
    cells[last] ??= x;
  }
}

// append adds the samples of b, which are later, to a, and drops what is older than since.
export function append(a: Table, b: Table, since: number): void {
  const last = a.t.length ? a.t[a.t.length - 1] : -Infinity;
  let k = 0;
  while (k < b.t.length && b.t[k] <= last) k++;
  if (k === b.t.length) return;
  const before = a.t.length;
  for (let i = k; i < b.t.length; i++) a.t.push(b.t[i]);
  for (const [name, cells] of b.series) {
    let mine = a.series.get(name);
    if (!mine) a.series.set(name, (mine = new Array<Cell>(before).fill(null)));
    for (let i = k; i < b.t.length; i++) mine.push(cells[i]);
  }
  for (const mine of a.series.values()) while (mine.length < a.t.length) mine.push(null);
  if (a.rest || b.rest) {
    a.rest ??= { count: new Array<Cell>(before).fill(null), sum: new Array<Cell>(before).fill(null) };
    for (let i = k; i < b.t.length; i++) {
      a.rest.count.push(b.rest?.count[i] ?? null);
      a.rest.sum.push(b.rest?.sum[i] ?? null);
    }
  }
  // Dropping is done in larger steps, since it moves all that stays.
  let old = 0;
  while (old < a.t.length && a.t[old] < since) old++;
  if (old > 16 && old > a.t.length / 8) {
    a.t.splice(0, old);
    a.rest?.count.splice(0, old);
    a.rest?.sum.splice(0, old);
    for (const [name, mine] of a.series) {
      mine.splice(0, old);
      if (mine.every((v) => v === null)) a.series.delete(name);
    }
  }
}

// join puts what was recorded before the first sample of the ring in front of it.
export function join(past: Table | undefined, ring: Table | undefined): Table {
  if (!past || !past.t.length) return ring ?? emptyTable();
  if (!ring || !ring.t.length) return past;
  let n = past.t.length;
  while (n > 0 && past.t[n - 1] >= ring.t[0]) n--;
  if (n === 0) return ring;
  const out: Table = { t: past.t.slice(0, n).concat(ring.t), series: new Map(), split: n };
  for (const name of new Set([...past.series.keys(), ...ring.series.keys()])) {
    const a = past.series.get(name)?.slice(0, n) ?? new Array<Cell>(n).fill(null);
    const b = ring.series.get(name) ?? new Array<Cell>(ring.t.length).fill(null);
    out.series.set(name, a.concat(b));
  }
  if (past.rest || ring.rest) {
    const both = (key: "count" | "sum") => (past.rest?.[key].slice(0, n) ?? new Array<Cell>(n).fill(null)).concat(ring.rest?.[key] ?? new Array<Cell>(ring.t.length).fill(null));
    out.rest = { count: both("count"), sum: both("sum") };
  }
  return out;
}

// A Line is one instance of a metric, in bytes, seconds and counts, ready to draw. A value is of the moment t, or
// if back is set, as of a rate, of the d seconds before it.
export interface Line {
  t: number[];
  v: (number | null)[];
  d: number[]; // for how many seconds a value counts
  back: boolean;
}

export interface Kind {
  unit: Unit;
  rate: boolean;
  utilization: boolean;
}

// kindOf says in what unit a metric is shown: a counter as its rate unless raw is asked for.
export function kindOf(m: Meta, raw: boolean): Kind {
  const u = parseUnit(m.units);
  const rate = m.sem === "counter" && !raw;
  const unit = rate ? rateOf(u) : u;
  return { unit, rate, utilization: isUtilization(unit, rate) };
}

const wideGap = 4; // times the usual distance of samples
const hiccup = 2; // seconds that are no gap in any case

// usual is the median distance of the samples from a up to b.
export function usual(t: number[], a = 0, b = t.length): number {
  if (b - a < 2) return 0;
  const d: number[] = [];
  const stride = Math.max(1, Math.floor((b - a) / 64));
  for (let i = a + stride; i < b; i += stride) d.push((t[i] - t[i - stride]) / stride);
  d.sort((a, b) => a - b);
  return d[d.length >> 1];
}

const distances = new WeakMap<Table, { n: number; last: number; first: number; second: number }>();

// distancesOf returns the usual distances of the samples of a table, before and after its split.
function distancesOf(table: Table): { first: number; second: number } {
  const t = table.t;
  let d = distances.get(table);
  if (!d || d.n !== t.length || d.last !== t[t.length - 1]) {
    const split = table.split ?? 0;
    const first = usual(t, 0, split || t.length);
    distances.set(table, (d = { n: t.length, last: t[t.length - 1], first, second: split ? usual(t, split) : first }));
  }
  return d;
}

// peakOf returns the largest value that lineOf has of some cells, without making the line; -Infinity if there is none.
export function peakOf(table: Table, cells: Cell[], k: Kind, from: number, to: number): number {
  const t = table.t;
  const split = table.split ?? 0;
  const { first, second } = distancesOf(table);
  const gapBefore = first > 0 ? Math.max(wideGap * first, hiccup) : Infinity;
  const gapAfter = second > 0 ? Math.max(wideGap * second, hiccup) : Infinity;
  let most = -Infinity;
  let lastT = NaN;
  let lastV = NaN;
  for (let i = 0; i < t.length; i++) {
    const c = cells[i];
    if (typeof c !== "number") continue;
    if (t[i] >= from && t[i] <= to) {
      const dt = t[i] - lastT;
      const v = !k.rate ? c : dt > 0 && dt <= (i <= split ? gapBefore : gapAfter) && c >= lastV ? (c - lastV) / dt : -Infinity;
      if (v > most) most = v;
    }
    lastT = t[i];
    lastV = c;
  }
  return most * k.unit.factor;
}

// lineOf makes a line of cells: rates between neighbours for counters, and a hole where samples
// are missing or a counter went back.
export function lineOf(table: Table, cells: Cell[], k: Kind, from: number, to: number): Line {
  const out: Line = { t: [], v: [], d: [], back: k.rate };
  const t = table.t;
  const split = table.split ?? 0;
  const { first, second } = distancesOf(table);
  let lastT = NaN;
  let lastV = NaN;
  for (let i = 0; i < t.length; i++) {
    const c = cells[i];
    const apart = i <= split ? first : second;
    const gap = apart > 0 ? Math.max(wideGap * apart, hiccup) : 0;
    if (typeof c !== "number") {
      if (c === null && out.t.length && t[i] - lastT > gap) hole(out, t[i]);
      continue;
    }
    const dt = t[i] - lastT;
    const missing = dt > gap && gap > 0;
    const inside = t[i] >= from && t[i] <= to;
    if (k.rate) {
      if (dt > 0 && inside) {
        if (missing || c < lastV) hole(out, t[i]);
        else {
          const v = ((c - lastV) / dt) * k.unit.factor;
          const begins = Math.max(lastT, from);
          if (!out.t.length || out.v[out.v.length - 1] === null) put(out, begins, v, 0);
          put(out, t[i], v, t[i] - begins);
        }
      }
    } else if (inside) {
      if (missing) hole(out, t[i]);
      put(out, t[i], c * k.unit.factor, missing || !(dt > 0) ? apart || 1 : Math.min(dt, t[i] - from || dt));
    }
    lastT = t[i];
    lastV = c;
  }
  return out;
}

function put(l: Line, t: number, v: number | null, d: number): void {
  l.t.push(t);
  l.v.push(v);
  l.d.push(d);
}

// hole ends a line until its next value, which comes not before t.
function hole(l: Line, t: number): void {
  const n = l.t.length;
  if (n && l.v[n - 1] !== null) put(l, (l.t[n - 1] + t) / 2, null, 0);
}

// thin makes one value of those of each stretch of some seconds: their mean in time, or the largest.
export function thin(l: Line, seconds: number, largest = false): Line {
  const out: Line = { t: [], v: [], d: [], back: l.back };
  let bucket = NaN;
  let sum = 0;
  let weight = 0;
  let last = 0;
  let most = -Infinity;
  const flush = () => {
    if (weight > 0) put(out, last, largest ? most : sum / weight, weight);
    sum = weight = 0;
    most = -Infinity;
  };
  for (let i = 0; i < l.t.length; i++) {
    const v = l.v[i];
    if (v === null) {
      flush();
      put(out, l.t[i], null, 0);
      continue;
    }
    if (l.d[i] === 0) {
      put(out, l.t[i], v, 0); // where a line begins
      continue;
    }
    const b = Math.ceil(l.t[i] / seconds - 1e-9);
    if (b !== bucket) flush();
    bucket = b;
    sum += v * l.d[i];
    weight += l.d[i];
    if (v > most) most = v;
    last = l.t[i];
  }
  flush();
  return out;
}

// latestOf returns the value of each instance in the last sample at or before a time, if it is not older than
// age: of counters the rate since the sample before, if that is not further back than reach. An instance
// of which no rate is known yet has null.
export function latestOf(table: Table, k: Kind, at: number, age: number, reach: number): Map<string, number | null> {
  const out = new Map<string, number | null>();
  const t = table.t;
  let i = t.length - 1;
  while (i >= 0 && t[i] > at + 1e-6) i--;
  if (i < 0 || at - t[i] > age) return out;
  const dt = i > 0 ? t[i] - t[i - 1] : 0;
  for (const [inst, cells] of table.series) {
    const c = cells[i];
    if (typeof c !== "number") continue;
    if (!k.rate) out.set(inst, c * k.unit.factor);
    else {
      const b = cells[i - 1];
      out.set(inst, dt > 0 && dt <= reach && typeof b === "number" && c >= b ? ((c - b) / dt) * k.unit.factor : null);
    }
  }
  return out;
}

// meansOf returns the mean of each instance from one time to another: of counters what they grew by, in the time of the samples
// there; of others the mean of their samples. Of what ended or began between them the rest counts as nothing.
export function meansOf(table: Table, k: Kind, from: number, to: number): Map<string, number | null> {
  const out = new Map<string, number | null>();
  const t = table.t;
  let b = t.length;
  while (b > 0 && t[b - 1] > to + 1e-6) b--;
  let a = b;
  while (a > 0 && t[a - 1] >= from - 1e-6) a--;
  if (k.rate && a > 0) a--; // the sample before them, to which the first one is compared
  const dt = b - a > 1 ? t[b - 1] - t[a] : 0;
  for (const [inst, cells] of table.series) {
    let sum = 0;
    let n = 0;
    let last: number | null = null;
    for (let i = a; i < b; i++) {
      const c = cells[i];
      if (typeof c !== "number") continue;
      if (!k.rate) sum += c;
      else if (last !== null && c >= last) sum += c - last;
      last = c;
      n++;
    }
    if (!n) continue;
    if (!k.rate) out.set(inst, (sum / n) * k.unit.factor);
    else out.set(inst, dt > 0 && n > 1 ? (sum / dt) * k.unit.factor : null);
  }
  return out;
}

// textOf returns the last text of an instance at or before a time, or "".
export function textOf(table: Table | undefined, inst: string, at: number): string {
  const cells = table?.series.get(inst);
  if (!table || !cells) return "";
  for (let i = cells.length - 1; i >= 0; i--) if (cells[i] !== null && table.t[i] <= at + 1e-6) return String(cells[i]);
  return "";
}

// lastOf returns the last value of a line, or null if the line ended before since.
export function lastOf(l: Pick<Line, "t" | "v">, since = -Infinity): number | null {
  for (let i = l.t.length - 1; i >= 0 && l.t[i] >= since; i--) if (l.v[i] !== null) return l.v[i];
  return null;
}

// valueAt returns the value of a time: that which counts for it, or the last one before it, if it is not older than age.
export function valueAt(l: Line, at: number, age: number): number | null {
  let a = 0;
  let b = l.t.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (l.t[m] <= at + 1e-6) a = m + 1;
    else b = m;
  }
  if (l.back && a < l.t.length && l.v[a] !== null && l.t[a] - l.d[a] <= at) return l.v[a];
  return a > 0 && at - l.t[a - 1] <= age ? l.v[a - 1] : null;
}
