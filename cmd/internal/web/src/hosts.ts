// All hosts at once, as /fleet shows them.

import { ask, chunks } from "./source";
import { fixed, showWith, type Unit } from "./units";

export interface FleetColumn {
  name: string;
  title: string;
  help: string;
  unit: string; // "share", "bytes/s", or ""
  low: number; // a value from which a host is in trouble, 0 if none
  high: number;
}

interface FleetLabel {
  values: string[];
  of: number[]; // by host: an index of values, or -1
}

// A Fleet is the table at a time. Arrays have an element for each host.
export interface Fleet {
  time: number;
  step: number;
  columns: FleetColumn[];
  hosts: string[];
  lower: string[]; // their names in small letters
  trouble: (number | null)[];
  age: (number | null)[]; // seconds since the newest value
  values: Map<string, (number | null)[]>;
  labels: Map<string, FleetLabel>;
  owner: (string | null)[] | null; // null if nothing is known of recordings
  lag: (number | null)[];
  error: (string | null)[];
}

// A Past is the history of a host in a column, or the row of a heat map: values between low and high as bytes, 0 for none.
export interface Past {
  low: number;
  high: number;
  levels: Uint8Array;
}

const maxHosts = 100_000;

// list reads an array of n elements.
function list<T>(v: unknown, n: number, element: (x: unknown) => T): T[] {
  const a = Array.isArray(v) ? v : [];
  return Array.from({ length: n }, (_, i) => element(a[i]));
}

const number = (x: unknown): number | null => (typeof x === "number" && Number.isFinite(x) ? x : null);
const text = (x: unknown): string | null => (typeof x === "string" ? x : null);

// readFleet reads the answer for all hosts.
export function readFleet(v: any): Fleet {
  const hosts = Array.isArray(v?.hosts) ? v.hosts.slice(0, maxHosts).map(String) : [];
  const n = hosts.length;
  const columns: FleetColumn[] = (Array.isArray(v.columns) ? v.columns : []).map((c: any) => ({
    name: String(c?.name ?? ""), title: String(c?.title ?? ""), help: String(c?.help ?? ""), unit: String(c?.unit ?? ""), low: Number(c?.low) || 0, high: Number(c?.high) || 0,
  }));
  const r = v.recording;
  return {
    time: Number(v.time) || 0,
    step: Number(v.step) || 60,
    columns,
    hosts,
    lower: hosts.map((h: string) => h.toLowerCase()),
    trouble: list(v.trouble, n, number),
    age: list(v.age, n, number),
    values: new Map(columns.map((c) => [c.name, list(v.values?.[c.name], n, number)])),
    labels: new Map((Array.isArray(v.labels) ? v.labels : []).map((l: any): [string, FleetLabel] => [String(l?.name), { values: (Array.isArray(l?.values) ? l.values : []).map(String), of: list(l?.of, n, (x) => number(x) ?? -1) }])),
    owner: r ? list(r.owner, n, text) : null,
    lag: list(r?.lag, n, number),
    error: list(r?.error, n, text),
  };
}

// readPasts reads the rows of n hosts; those without values are null.
export function readPasts(v: any, n: number): (Past | null)[] {
  return Array.from({ length: n }, (_, i) => {
    const low = number(v?.low?.[i]);
    const high = number(v?.high?.[i]);
    const b = text(v?.levels?.[i]);
    if (low === null || high === null || b === null) return null;
    try {
      const s = atob(b);
      const levels = new Uint8Array(s.length);
      for (let k = 0; k < s.length; k++) levels[k] = s.charCodeAt(k);
      return { low, high, levels };
    } catch {
      return null;
    }
  });
}

// valueOf returns a value of a row, null if there is none.
export function valueOf(p: Past, i: number): number | null {
  const b = p.levels[i];
  return b ? p.low + ((b - 1) / 254) * (p.high - p.low) : null;
}

// keyOf names the history of a host in a column.
export function keyOf(host: string, column: string): string {
  return column + "\n" + host;
}

// askHistory asks for the history of hosts: for each of them a row for each column, by keyOf.
export async function askHistory(base: string, params: Record<string, string | undefined>, hosts: string[], signal: AbortSignal): Promise<Map<string, Past | null>> {
  const out = new Map<string, Past | null>();
  const q = Object.entries(params).flatMap(([k, v]) => (v === undefined ? [] : [k + "=" + encodeURIComponent(v)]));
  for (const part of chunks(hosts)) {
    const v = await ask(base + "fleet/hosts?" + [...part.map((h) => "host=" + encodeURIComponent(h)), ...q].join("&"), {}, signal);
    const names: string[] = Array.isArray(v?.hosts) ? v.hosts.map(String) : [];
    for (const column in v?.history ?? {}) {
      const rows = readPasts(v.history[column], names.length);
      names.forEach((h, i) => out.set(keyOf(h, column), rows[i]));
    }
  }
  return out;
}

// A Heat is one value for each host and time.
export interface Heat {
  start: number;
  step: number;
  points: number;
  rows: Map<string, Past>;
}

export function readHeat(v: any): Heat {
  const hosts: string[] = Array.isArray(v?.hosts) ? v.hosts.slice(0, maxHosts).map(String) : [];
  const points = Math.min(1000, Math.max(1, Math.floor(Number(v?.points)) || 1));
  const rows = new Map<string, Past>();
  readPasts(v, hosts.length).forEach((p, i) => p && p.levels.length === points && rows.set(hosts[i], p));
  return { start: Number(v?.start) || 0, step: Number(v?.step) || 60, points, rows };
}

// select returns the hosts that have all words of a filter: "alpha" in their name, "label=value", "label!=value" or "label=" for
// those that have the label at all.
export function select(f: Fleet, filter: string): number[] {
  const tests = filter.split(/\s+/).filter(Boolean).map((w): ((i: number) => boolean) => {
    const m = /^([A-Za-z_][A-Za-z0-9_.]*)(!?=)(.*)$/.exec(w);
    if (!m) {
      const part = w.toLowerCase();
      return (i) => f.lower[i].includes(part);
    }
    const not = m[2] === "!=";
    const l = f.labels.get(m[1].replaceAll(".", "_"));
    if (m[1] === "hostname") return (i) => (f.hosts[i] === m[3]) !== not;
    if (!l) return () => not;
    if (m[3] === "") return (i) => l.of[i] >= 0 !== not;
    const n = l.values.indexOf(m[3]);
    return (i) => (n >= 0 && l.of[i] === n) !== not;
  });
  const out: number[] = [];
  for (let i = 0; i < f.hosts.length; i++) if (tests.every((t) => t(i))) out.push(i);
  return out;
}

// order sorts hosts by a column; with "-" before it, the other way round. What is not known comes last.
export function order(f: Fleet, rows: number[], sort: string): number[] {
  const key = sort.replace(/^-/, "");
  const way = sort.startsWith("-") ? -1 : 1;
  const byName = (a: number, b: number) => (f.lower[a] < f.lower[b] ? -1 : f.lower[a] > f.lower[b] ? 1 : a - b);
  if (key === "host") return [...rows].sort((a, b) => way * byName(a, b));
  if (key === "recording") {
    // Errors first, then the longest lag.
    const rank = (i: number) => (f.error[i] ? 1e12 : 0) + (f.lag[i] ?? -1);
    return [...rows].sort((a, b) => way * (rank(b) - rank(a)) || byName(a, b));
  }
  const cells = f.values.get(key) ?? f.trouble;
  return [...rows].sort((a, b) => {
    const x = cells[a];
    const y = cells[b];
    if (x === null || y === null) return x === y ? byName(a, b) : x === null ? 1 : -1;
    return way * (y - x) || byName(a, b);
  });
}

const bytes: Unit = { space: 1, time: -1, count: 0, factor: 1, text: "" };

// shownIn prints a value of a column.
export function shownIn(c: FleetColumn, v: number | null): string {
  if (v === null) return "–";
  if (c.unit === "share") return `${fixed(v * 100, Math.abs(v) < 0.0995 && v !== 0 ? 1 : 0)} %`;
  if (c.unit === "bytes/s") return showWith(v, bytes);
  return fixed(v, 2);
}
