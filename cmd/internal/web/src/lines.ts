// The lines of a chart: which instances of which metrics, their legends, units and values.

import type { PlotPanel, Plot } from "./dashboard";
import type { Feed } from "./feed";
import { compile } from "./pattern";
import { queryKind, queryLegend } from "./promql";
import type { Cell, Meta, Table } from "./source";
import { plain } from "./time";
import { sameKind } from "./units";
import { kindOf, lastOf, lineOf, peakOf, thin, usual, valueAt, type Kind, type Line } from "./values";

export const maxLines = 24; // in a chart; more are not told apart

export interface Drawn extends Line {
  key: string;
  all: Line; // every sample; what is drawn of many is means
  upper: Line | null; // the largest sample of each mean
  rest?: "sum" | "mean"; // what the line is of the instances that are not drawn
  off?: boolean; // it is drawn only if one asks for it
  label: string;
  color: string | undefined;
  axis: 0 | 1;
  kind: Kind;
  last: number | null;
}

export interface Drawing {
  lines: Drawn[];
  kinds: Kind[]; // of the axes, at most two
  more: number; // lines that are left out since there are too many
  other: string[]; // metrics left out since a third unit has no axis
  absent: string[]; // metrics that are not there
  strings: string[]; // metrics that are not numbers
  lost: string[]; // what is wrong with hosts and patterns
  waiting: boolean; // for the first values
  ended: string[]; // metrics that have no values any more
  joint: Joint | null; // where what was recorded and what is seen meet
  means: number; // seconds of which a mean is drawn, 0 if each sample is
}

// A Joint is the time at which the distance of samples changes.
export interface Joint {
  at: number;
  before: number; // seconds between samples
  after: number;
}

// distance is how far samples are from each other, in seconds that one would say.
function distance(t: number[], a: number, b: number): number {
  const d = usual(t, a, b);
  return d >= 0.95 ? Math.round(d) : Math.round(d * 10) / 10;
}

// wantPlots has all that plots need fetched until the returned function is called.
export function wantPlots(feed: Feed, plots: Plot[], history: boolean, part = false): () => void {
  const by = new Map<Feed, Map<string, boolean>>(); // whether the largest instances suffice
  for (const p of plots) {
    if (p.promql !== undefined) continue; // it is asked for as it is drawn
    const f = feed.of(p.host);
    if (!f) continue;
    let names = by.get(f);
    if (!names) by.set(f, (names = new Map()));
    const some = part && !p.instances && !p.match && !p.unmatch && !p.where;
    names.set(p.metric, some && names.get(p.metric) !== false);
    if (p.per) names.set(p.per, false);
  }
  const leave = [...by].flatMap(([f, names]) => [true, false].map((some) => f.want([...names].filter(([, x]) => x === some).map(([n]) => n), history, false, some)));
  return () => leave.forEach((f) => f());
}

// wantLines has the server send so many of the largest instances of what plots draw, until the returned function is called.
export function wantLines(feed: Feed, plots: Plot[], limit: number): () => void {
  const leave = [...new Set(plots.map((p) => feed.of(p.host)))].flatMap((f) => (f ? [f.draws(limit)] : []));
  return () => leave.forEach((f) => f());
}

// sourceOf is the metric or the query of a plot.
export function sourceOf(p: Plot | undefined): string {
  return p?.promql ?? p?.metric ?? "";
}

// wantKey changes when wantPlots has to be called again.
export function wantKey(plots: Plot[]): string {
  return plots.map((p) => `${p.promql ?? ""} ${p.host ?? ""} ${p.metric} ${p.per ?? ""}`).join("\n");
}

// legend writes what stands for an instance of a plot: %i %I, %m %M, %h %H.
export function legend(p: Plot, inst: string, host: string, single: boolean): string {
  const text = p.legend ?? (inst === "" ? "%M" : single ? "%I" : "%m %I");
  if (/^(hot)?proc\./.test(p.metric)) inst = inst.replace(/^0+(?=\d+ )/, "");
  const out = text.replace(/%([iImMhH])/g, (_, c: string) => {
    switch (c) {
      case "i":
        return inst.split(/\s/)[0];
      case "I":
        return inst;
      case "m":
        return p.metric.split(".").slice(-2).join(".");
      case "M":
        return p.metric;
      case "h":
        return /^[\d.]+$|:/.test(host) ? host : host.split(".")[0];
      default:
        return host;
    }
  });
  const named = p.host !== undefined && !/%[hH]/.test(text) ? `${host}: ${out}` : out;
  if (p.legend !== undefined && inst !== "" && !/%[iI]/.test(p.legend) && !p.instances && !p.match) return named + " " + inst;
  return named;
}

// chosenOf reports whether a plot has an instance. It throws an error if a pattern cannot be used.
export function chosenOf(p: Plot, feed: Feed, m: Meta): (inst: string) => boolean {
  const set = p.instances ? new Set(p.instances) : null;
  const match = p.match ? compile(p.match) : null;
  const unmatch = p.unmatch ? compile(p.unmatch) : null;
  const where = p.where ? Object.entries(p.where) : [];
  const labels = where.length ? feed.labelsOf(p.metric) : undefined;
  return (inst) => {
    for (const [label, values] of where) {
      const v = labels?.get(inst)?.[label] ?? labelText(m.labels[label]);
      if (v === undefined || !values.includes(v)) return false;
    }
    if (inst === "") return true;
    // An instance may also be named by what stands before its first space.
    if (set && !set.has(inst) && !set.has(inst.split(/\s/)[0])) return false;
    return (!match || match.test(inst)) && !(unmatch && unmatch.test(inst));
  };
}

// labelText writes the value of a label.
export function labelText(v: unknown): string | undefined {
  return v === undefined || v === null ? undefined : typeof v === "string" ? v : JSON.stringify(v);
}

// draw makes the lines of a panel that has room for some points beside each other, and of some lines at most.
export function draw(c: PlotPanel, page: Feed, from: number, to: number, points = 400, limit = maxLines): Drawing {
  const d: Drawing = { lines: [], kinds: [], more: 0, other: [], absent: [], strings: [], lost: [], waiting: false, ended: [], joint: null, means: 0 };
  const single = c.plots.length === 1;
  const lose = (why: string) => !d.lost.includes(why) && d.lost.push(why);
  for (let n = 0; n < c.plots.length; n++) {
    const p = c.plots[n];
    if (p.promql !== undefined) {
      drawQuery(d, p, n, page, from, to, single, lose);
      continue;
    }
    const feed = page.of(p.host);
    if (!feed) {
      lose("there are too many hosts");
      continue;
    }
    if (feed !== page && feed.status === "lost") lose(`${plain(p.host!)}: ${plain(feed.message)}`);
    const m: Meta | undefined = feed.metas.get(p.metric);
    if (!m) {
      if (feed.absent.has(p.metric)) {
        if (!p.optional) d.absent.push(feed === page ? p.metric : `${p.metric} of ${plain(p.host!)}`);
      } else d.waiting = true;
      continue;
    }
    if (/string|aggregate|event/.test(m.type)) {
      d.strings.push(p.metric);
      continue;
    }
    const table = feed.table(p.metric);
    if (!table) {
      d.waiting = true;
      continue;
    }
    const kind = kindOf(m, p.raw === true);
    let axis = d.kinds.findIndex((k) => sameKind(k.unit, kind.unit));
    if (axis < 0) {
      if (d.kinds.length === 2) {
        d.other.push(p.metric);
        continue;
      }
      axis = d.kinds.push(kind) - 1;
    }
    let divide = 1;
    if (p.per) {
      const t = feed.table(p.per);
      const cells = t?.series.get("");
      const v = t && cells ? lastOf({ t: t.t, v: cells.map((x) => (typeof x === "number" ? x : null)) }) : null;
      if (v === null || v <= 0) {
        if (!feed.absent.has(p.per)) d.waiting = true;
        continue;
      }
      divide = v;
    }
    let has: (inst: string) => boolean;
    try {
      has = chosenOf(p, feed, m);
    } catch (e) {
      lose(e instanceof Error ? e.message : String(e));
      continue;
    }
    // What was recorded and what is seen have other distances: where samples are closer than pixels, means are drawn, of as
    // many seconds in both; elsewhere each sample as long as it counts.
    const split = table.split ?? 0;
    const closest = distance(table.t, split, table.t.length);
    let seconds = closest > 0 && (to - from) / points > 1.5 * closest ? (to - from) / points : 0;
    if (split && table.t[split] > from && table.t[split - 1] < to && table.t[split - 1] >= from) {
      const before = distance(table.t, 0, split);
      if (before > closest && closest > 0) {
        d.joint ??= { at: table.t[split - 1], before, after: closest };
        if (seconds) seconds = Math.max(seconds, before);
      }
    }
    if (seconds > 2) seconds = Math.round(seconds);
    d.means = Math.max(d.means, seconds);
    // A line that has no value since then has ended.
    const ended = to - wideGap * ((split && to < table.t[split] ? distance(table.t, 0, split) : closest) || 1);
    const gone = !feed.past && feed.status === "ok" && to >= feed.now && table.t.length > 0 && table.t[table.t.length - 1] < feed.now - silentFor;
    if (gone && !d.ended.includes(p.metric)) d.ended.push(p.metric);
    // Of many, lines are made only of those that can be among the largest.
    let wanted: [string, Cell[]][] = [...table.series];
    if (table.series.size > (table.rest ? limit : 2 * limit)) {
      const peaks: [number, string, Cell[], number][] = [];
      for (const [inst, cells] of table.series) {
        if (!has(inst)) continue;
        const p = peakOf(table, cells, kind, from, to);
        if (p > -Infinity) peaks.push([p, inst, cells, peaks.length]);
      }
      peaks.sort((a, b) => b[0] - a[0]);
      d.more += Math.max(0, peaks.length - limit);
      // They stay in the order of the table, so that the picture is not made again when one overtakes another.
      wanted = peaks
        .slice(0, limit)
        .sort((a, b) => a[3] - b[3])
        .map(([, inst, cells]): [string, Cell[]] => [inst, cells]);
    }
    for (const [inst, cells] of wanted) {
      if (!has(inst)) continue;
      const all = lineOf(table, cells, kind, from, to);
      if (!all.t.length) continue;
      if (divide !== 1) for (let i = 0; i < all.v.length; i++) if (all.v[i] !== null) all.v[i]! /= divide;
      d.lines.push({
        ...(seconds ? thin(all, seconds) : all),
        all,
        upper: seconds ? thin(all, seconds, true) : null,
        key: n + " " + inst,
        label: plain(legend(p, inst, feed.host, single)),
        color: p.color,
        axis: axis as 0 | 1,
        kind,
        last: gone ? null : lastOf(all, table.rest ? ended : -Infinity),
      });
    }
    if (table.rest) {
      d.more += Number(lastOf({ t: table.t, v: table.rest.count as (number | null)[] }) ?? 0);
      const r = restOf(c, m, table, new Set(wanted.map(([inst]) => inst)), kind, from, to);
      if (r) d.lines.push({ ...(seconds ? thin(r.line, seconds) : r.line), all: r.line, upper: null, key: `${n} \u0001`, label: `${single ? "" : m.name + " "}others, ${r.of}`, color: restColor, axis: axis as 0 | 1, kind, last: lastOf(r.line, ended), rest: r.of, off: r.of === "sum" && !stacks(c) });
    }
  }
  const lines = d.lines.filter((l) => !l.rest);
  if (lines.length > limit) {
    const largest = new Set(lines.sort((a, b) => peak(b.all) - peak(a.all)).slice(0, limit));
    d.more += lines.length - limit;
    d.lines = d.lines.filter((l) => l.rest || largest.has(l));
  }
  return d;
}

const restColor = "#8b8f98";
const silentFor = 25; // seconds without a value, after which the collector has none; a metric that is wanted rarely has one each ten
const wideGap = 4; // samples that a line may lack before it has ended

function stacks(c: PlotPanel): boolean {
  return c.kind === "chart" && (c.style === "stack" || c.style === "share");
}

// additive reports whether a sum of the values of instances means something: of bytes it does, of degrees it does not.
function additive(m: Meta, kind: Kind): boolean {
  const { space, time, count } = kind.unit;
  return kind.rate || (m.sem === "instant" && time === 0 && (space > 0 || (count > 0 && space === 0)));
}

// restOf makes the line of all instances that are not drawn: those that the server has not sent, and others. In a stack only a sum has a place.
function restOf(c: PlotPanel, m: Meta, table: Table, drawn: Set<string>, kind: Kind, from: number, to: number): { line: Line; of: "sum" | "mean" } | null {
  const of = additive(m, kind) ? "sum" : "mean";
  if (of === "mean" && stacks(c)) return null;
  const { t, rest } = table;
  const others = [...table.series].filter(([inst]) => !drawn.has(inst)).map(([, cells]) => cells);
  const cells = t.map((at, i): Cell => {
    let sum = rest!.sum[i];
    let n = Number(rest!.count[i]);
    if (typeof sum !== "number" || at < from || at > to) return null;
    for (const o of others) {
      const x = o[i];
      const before = o[i - 1];
      if (typeof x !== "number" || (kind.rate && !(typeof before === "number" && x >= before))) continue;
      sum += kind.rate ? (x - (before as number)) / (at - t[i - 1]) : x;
      n++;
    }
    return of === "sum" ? sum : n > 0 ? sum / n : null;
  });
  const line = lineOf({ t, series: new Map(), split: table.split }, cells, { ...kind, rate: false }, from, to);
  line.back = kind.rate;
  return line.t.length ? { line, of } : null;
}

// axisOf returns the axis of a unit, or -1 if both have others.
function axisOf(d: Drawing, kind: Kind): number {
  const axis = d.kinds.findIndex((k) => sameKind(k.unit, kind.unit) && k.utilization === kind.utilization);
  return axis >= 0 ? axis : d.kinds.length < 2 ? d.kinds.push(kind) - 1 : -1;
}

// drawQuery adds the lines of a query.
function drawQuery(d: Drawing, p: Plot, n: number, page: Feed, from: number, to: number, single: boolean, lose: (why: string) => void): void {
  const a = page.queries.get(p.promql!, from, to);
  if (a.error) lose(`${plain(p.promql!.slice(0, 200))}: ${plain(a.error)}`);
  if (a.waiting) d.waiting = true;
  if (!a.series.length) return;
  const kind = queryKind(p.unit);
  const axis = axisOf(d, kind);
  if (axis < 0) {
    d.other.push(p.promql!);
    return;
  }
  for (const s of a.series) {
    const all: Line = { t: [], v: [], d: [], back: false };
    for (let i = 0; i < s.t.length; i++) {
      if (s.t[i] < from || s.t[i] > to) continue;
      const k = all.t.length;
      if (k && s.t[i] - all.t[k - 1] > 1.5 * a.step) {
        all.t.push((s.t[i] + all.t[k - 1]) / 2);
        all.v.push(null);
        all.d.push(0);
      }
      all.t.push(s.t[i]);
      all.v.push(s.v[i] * kind.unit.factor);
      all.d.push(a.step);
    }
    if (!all.t.length) continue;
    const label = queryLegend(p, s.labels, single && a.series.length === 1);
    d.lines.push({ ...all, all, upper: null, key: `${n} ${JSON.stringify(s.labels)}`, label: plain(label), color: p.color, axis: axis as 0 | 1, kind, last: lastOf(all) });
  }
}

export function peak(l: Line): number {
  let m = -Infinity;
  for (const v of l.v) if (v !== null && v > m) m = v;
  return m;
}

export interface Stats {
  at: number | null;
  mean: number | null;
  max: number | null;
}

// statsOf says what stands beside a chart: the value at a time (the last one if at is null), the mean in time, and the largest
// sample.
export function statsOf(l: Drawn, at: number | null, age: number): Stats {
  let sum = 0;
  let seconds = 0;
  let max = -Infinity;
  const { v, d } = l.all;
  for (let i = 0; i < v.length; i++) {
    const x = v[i];
    if (x === null) continue;
    sum += x * d[i];
    seconds += d[i];
    if (x > max) max = x;
  }
  return { at: at === null ? l.last : valueAt(l.all, at, age), mean: seconds > 0 ? sum / seconds : null, max: max > -Infinity ? max : null };
}

// align puts lines upon common times, as uPlot wants them: null is a hole, undefined no sample.
export function align(lines: Pick<Line, "t" | "v">[]): { t: number[]; v: (number | null | undefined)[][] } {
  if (!lines.length) return { t: [], v: [] };
  const first = lines[0].t;
  if (lines.every((l) => l.t.length === first.length && l.t.every((x, i) => x === first[i]))) return { t: first, v: lines.map((l) => l.v) };
  const all = new Set<number>();
  for (const l of lines) for (const t of l.t) all.add(t);
  const t = [...all].sort((a, b) => a - b);
  const at = new Map(t.map((x, i) => [x, i]));
  const v = lines.map((l) => {
    const cells = new Array<number | null | undefined>(t.length).fill(undefined);
    l.t.forEach((x, i) => (cells[at.get(x)!] = l.v[i]));
    return cells;
  });
  return { t, v };
}

// stack adds each line to those before it; share makes the sum of all 1 at each time. Those with back have
// values that count for the time before them.
export function stack(v: (number | null | undefined)[][], share: boolean, back: boolean[]): (number | null | undefined)[][] {
  if (!v.length) return v;
  const n = v[0].length;
  const held = v.map((cells, k) => {
    // Between its samples a line keeps its value, so that the sum does not jump.
    let last: number | null = null;
    if (back[k]) {
      const out = new Array<number | null>(cells.length);
      for (let i = cells.length - 1; i >= 0; i--) {
        const c = cells[i];
        out[i] = c === undefined ? last : (last = c);
      }
      return out;
    }
    return cells.map((c) => {
      if (c === undefined) return last;
      return (last = c);
    });
  });
  const out: (number | null)[][] = held.map(() => new Array<number | null>(n).fill(null));
  for (let i = 0; i < n; i++) {
    let total = 0;
    let some = false;
    for (const cells of held) {
      const c = cells[i];
      if (c !== null) {
        total += c;
        some = true;
      }
    }
    if (!some) continue;
    let sum = 0;
    for (let k = 0; k < held.length; k++) {
      sum += held[k][i] ?? 0;
      out[k][i] = share ? (total > 0 ? sum / total : 0) : sum;
    }
  }
  return out;
}
