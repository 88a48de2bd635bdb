// What the page draws comes from a Source: the collector itself, or what was recorded of it.

import { headers } from "./access";
import { cell, Samples } from "./samples";

export type Cell = number | string | null;

// Meta says what the values of a metric mean.
export interface Meta {
  name: string;
  pmid: string;
  indom: string; // "" for a metric with one value
  type: string;
  sem: string; // "counter", "instant" or "discrete"
  units: string;
  labels: Record<string, unknown>;
  oneline: string;
  help: string;
}

// A Table has the values of a metric in time: t in seconds since 1970, and for each instance,
// by its name ("" for a metric with one value), as many cells.
export interface Table {
  t: number[];
  series: Map<string, Cell[]>;
  split?: number; // from this sample on they are at another distance
  rest?: Rest;
  before?: { t: number; values: Map<string, Cell> }; // the sample before the first, of instances that were not in it
}

// A Rest has, at each time of a table, the number of the instances that the server has not sent, and the sum of
// their values, of counters that of their rates.
export interface Rest {
  count: Cell[];
  sum: Cell[];
}

// A Wish is what a stream is asked for.
export interface Wish {
  often: string[];
  rare: string[];
  largest: string[]; // metrics of which the largest instances suffice
  top: number; // how many
  keep: number; // seconds for which those that were among them are sent
}

// Times a Source is asked for: seconds since 1970, and the distance of samples.
export interface Span {
  from: number;
  to: number;
  step: number;
}

export interface Source {
  // describe returns what is known of those names that exist.
  describe(names: string[], signal?: AbortSignal): Promise<Meta[]>;
  // read returns values of those names that have some: of a span, or without one of now.
  read(names: string[], span: Span | null, signal?: AbortSignal): Promise<Map<string, Table>>;
  // all describes every metric.
  all(signal?: AbortSignal): Promise<Meta[]>;
}

// A Refused is an answer that is an error.
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const patience = 10_000; // ms until a request is given up
const silent = 25_000; // ms without a byte until a stream is given up; the server sends one each ten seconds

// visible is done when the page is visible: a hidden one asks for nothing.
export function visible(): Promise<void> {
  return new Promise((done) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
    look();
  });
}

function query(params: Record<string, string | undefined>): string {
  const q: string[] = [];
  for (const k in params) {
    const v = params[k];
    if (v !== undefined) q.push(k + "=" + encodeURIComponent(v));
  }
  return q.length ? "?" + q.join("&") : "";
}

// ask gets path, relative to the page, with parameters, and returns the JSON answer.
export async function ask(path: string, params: Record<string, string | undefined>, signal?: AbortSignal, most = patience): Promise<any> {
  const limit = AbortSignal.timeout(most);
  const r = await fetch(path + query(params), {
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
    headers: headers(),
  });
  const text = await r.text();
  let body: any;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Refused(r.status, r.ok ? "the answer is not JSON" : `${r.status} ${r.statusText}`);
  }
  if (!r.ok || (body && body.success === false && body.message)) {
    throw new Refused(r.status, String(body?.message ?? body?.error ?? `${r.status} ${r.statusText}`));
  }
  return body;
}

const urlRoom = 3500; // bytes of names in one request

// chunks divides names so that each part fits into a URL.
export function chunks(names: string[], room = urlRoom): string[][] {
  const out: string[][] = [];
  let part: string[] = [];
  let size = 0;
  for (const n of names) {
    const len = encodeURIComponent(n).length + 3;
    if (part.length && size + len > room) {
      out.push(part);
      part = [];
      size = 0;
    }
    part.push(n);
    size += len;
  }
  if (part.length) out.push(part);
  return out;
}

function metaOf(m: any): Meta {
  return {
    name: String(m.name),
    pmid: String(m.pmid ?? ""),
    indom: !m.indom || m.indom === "none" ? "" : String(m.indom),
    type: String(m.type ?? ""),
    sem: String(m.sem ?? m.semantics ?? ""),
    units: String(m.units ?? "none"),
    labels: m.labels && typeof m.labels === "object" ? m.labels : {},
    oneline: String(m["text-oneline"] ?? ""),
    help: String(m["text-help"] ?? ""),
  };
}

const contextLife = 60; // seconds without a request until the server forgets the context
const indomAge = 3000; // ms between two requests for the instances of a domain

interface Domain {
  names: Map<number, string>;
  asked: number;
}

// An Only is one instance of a domain: of nothing else there are values then, and they have no name.
export interface Only {
  metric: string; // any of the domain
  instance: number;
  pattern: string; // a glob that matches the name it has in archives
}

// A LiveSource is the collector, as /pmapi shows it. Requests that need a context go one after the other.
export class LiveSource implements Source {
  labels: Record<string, unknown> = {};
  hostspec = "";
  private context: Promise<string> | null = null;
  private domains = new Map<string, Domain>();
  private metas = new Map<string, Meta>();

  // What is known of metrics and instances may be shared with another source of the same collector.
  constructor(
    readonly base: string,
    readonly host: string,
    share?: LiveSource,
    readonly only?: Only,
  ) {
    if (share) {
      this.domains = share.domains;
      this.metas = share.metas;
    }
  }

  private open(signal?: AbortSignal): Promise<string> {
    if (!this.context) {
      const made = ask(this.base + "pmapi/context", { hostspec: this.host || undefined, polltimeout: String(contextLife) }, signal).then(async (c) => {
        this.labels = c.labels ?? {};
        this.hostspec = String(c.hostspec ?? "");
        const context = String(c.context);
        if (this.only) {
          const name = this.only.metric;
          await ask(this.base + "pmapi/profile", { context, expr: "del", name }, signal);
          await ask(this.base + "pmapi/profile", { context, expr: "add", name, instance: String(this.only.instance) }, signal);
        }
        return context;
      });
      made.catch(() => this.forget(made));
      this.context = made;
    }
    return this.context;
  }

  private forget(made: Promise<string>): void {
    if (this.context === made) this.context = null;
  }

  // call asks within the context, and once more in a new one if the server no longer knows it.
  private async call(what: string, params: Record<string, string | undefined>, signal?: AbortSignal): Promise<any> {
    for (let again = false; ; again = true) {
      const made = this.open(signal);
      const context = await made;
      try {
        return await ask(this.base + "pmapi/" + what, { ...params, context }, signal);
      } catch (e) {
        if (again || !(e instanceof Refused) || !/context identifier/.test(e.message)) throw e;
        this.forget(made);
      }
    }
  }

  async connect(signal?: AbortSignal): Promise<void> {
    await this.open(signal);
  }

  async describe(names: string[], signal?: AbortSignal): Promise<Meta[]> {
    const missing = names.filter((n) => !this.metas.has(n));
    for (const part of chunks(missing)) {
      try {
        const r = await this.call("metric", { names: part.join(",") }, signal);
        this.learn(r.metrics ?? []);
      } catch (e) {
        if (!(e instanceof Refused) || e.status >= 500) throw e;
        // One unknown name fails them all: ask for each.
        for (const n of part.length > 1 ? part : []) {
          try {
            this.learn((await this.call("metric", { names: n }, signal)).metrics ?? []);
          } catch (e) {
            if (!(e instanceof Refused) || e.status >= 500) throw e;
          }
        }
      }
    }
    return names.flatMap((n) => this.metas.get(n) ?? []);
  }

  private learn(metrics: any[]): void {
    for (const m of metrics) if (m.name && m.pmid) this.metas.set(m.name, metaOf(m));
  }

  async all(signal?: AbortSignal): Promise<Meta[]> {
    const r = await this.call("metric", {}, signal);
    this.learn(r.metrics ?? []);
    return (r.metrics ?? []).filter((m: any) => m.name && m.pmid).map(metaOf);
  }

  // instances returns the instances of the domain of a metric by number: all of them, or those of few.
  private async instances(m: Meta, signal?: AbortSignal, few?: number[]): Promise<Map<number, string>> {
    let d = this.domains.get(m.indom);
    if (few) {
      if (!d) this.domains.set(m.indom, (d = { names: new Map(), asked: 0 }));
      const missing = few.filter((n) => !d!.names.has(n));
      const r = missing.length ? await this.call("indom", { name: m.name, instance: missing.join(",") }, signal) : {};
      for (const i of r.instances ?? []) d.names.set(Number(i.instance), String(i.name));
      return d.names;
    }
    if (!d || Date.now() - d.asked >= indomAge) {
      const names = new Map<number, string>();
      const r = await this.call("indom", { name: m.name }, signal);
      for (const i of r.instances ?? []) names.set(Number(i.instance), String(i.name));
      d = { names, asked: Date.now() };
      this.domains.set(m.indom, d);
    }
    return d.names;
  }

  // labelsOf returns the labels of the instances of a metric.
  async labelsOf(name: string, signal?: AbortSignal): Promise<Map<string, Record<string, string>>> {
    const out = new Map<string, Record<string, string>>();
    const m = (await this.describe([name], signal))[0];
    if (!m?.indom) return out;
    for (const i of (await this.call("indom", { name }, signal)).instances ?? []) out.set(String(i.name), labelTexts(i.labels));
    return out;
  }

  // stream has the server send samples of metrics, often and rarely, until it ends.
  async stream(w: Wish, step: number, share: number, signal: AbortSignal, take: (read: Map<string, Table>) => void): Promise<void> {
    const some = w.largest.length > 0;
    const url = this.base + "stream" + query({
      hostspec: this.host || undefined, names: w.often.join(",") || undefined, rare: w.rare.join(",") || undefined,
      largest: w.largest.join(",") || undefined, top: some ? String(w.top) : undefined, keep: some ? String(w.keep) : undefined,
      instance: this.only ? String(this.only.instance) : undefined, changes: "true", interval: String(step), share: share ? String(share) : undefined,
    });
    if (url.length > 2 * urlRoom) return;
    const quiet = new AbortController();
    let timer = 0;
    const heard = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => quiet.abort(), silent);
    };
    heard();
    try {
      const r = await fetch(url, { headers: headers(), signal: AbortSignal.any([signal, quiet.signal]) });
      if (!r.ok || !r.body) throw new Refused(r.status, r.statusText);
      const samples = new Samples(this.metas, this.only);
      const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        heard();
        text += value;
        for (let i; (i = text.indexOf("\n\n")) >= 0; text = text.slice(i + 2)) {
          if (text.startsWith("data: ")) take(samples.take(JSON.parse(text.slice(6, i))));
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  // read returns the values of now; with top, those of the largest instances.
  async read(names: string[], _span: Span | null, signal?: AbortSignal, top?: number): Promise<Map<string, Table>> {
    const out = new Map<string, Table>();
    const wanted = new Set(names);
    for (const part of chunks(names)) {
      let r: any;
      try {
        r = await this.call("fetch", { names: part.join(","), top: top ? String(top) : undefined }, signal);
      } catch (e) {
        if (e instanceof Refused && /Insufficient|Unknown metric name|bad parameters/.test(e.message)) continue; // none of them exists
        throw e;
      }
      const t = stamp(r.timestamp);
      for (const v of r.values ?? []) {
        if (!wanted.has(v.name)) continue; // another name of the same metric
        const series = new Map<string, Cell[]>();
        let byNumber: Map<number, string> | null = null;
        let fresh = false;
        for (const i of v.instances ?? []) {
          const value = cell(i.value);
          if (i.instance === null || i.instance === undefined || Number(i.instance) === -1 || (this.only && this.only.instance === Number(i.instance))) {
            series.set("", [value]);
            continue;
          }
          const m = this.metas.get(v.name) ?? (await this.describe([v.name], signal))[0];
          if (!m) continue;
          byNumber ??= this.domains.get(m.indom)?.names ?? null;
          if (!byNumber || (!fresh && !byNumber.has(Number(i.instance)))) {
            byNumber = await this.instances(m, signal, v.others ? v.instances.map((x: any) => Number(x.instance)) : undefined);
            fresh = true;
          }
          const name = byNumber.get(Number(i.instance));
          if (name !== undefined) series.set(name, [value]);
        }
        out.set(v.name, { t: [t], series, ...(v.others ? { rest: { count: [Number(v.others)], sum: [null] } } : {}) });
      }
    }
    return out;
  }
}

function labelTexts(v: any): Record<string, string> {
  const out: Record<string, string> = Object.create(null);
  if (v && typeof v === "object") for (const [k, x] of Object.entries(v)) out[k] = typeof x === "string" ? x : JSON.stringify(x);
  return out;
}

function stamp(t: any): number {
  if (t && typeof t === "object") return Number(t.s) + Number(t.us ?? 0) / 1e6;
  return Number(t);
}

interface Series {
  sid: string;
  domain: string; // of its instances, and the source; series of one domain have the same instances
}

// A RecordedSource is what archives have of a host, as /series shows it.
export class RecordedSource implements Source {
  private known = new Map<string, Promise<Series[]>>();
  private found = new Map<string, number>(); // when a name was last asked for
  private metas = new Map<string, Meta>();
  private names = new Map<string, string>(); // of instances, by their identifier

  constructor(
    readonly base: string,
    public hostname: string, // of the label; "" for any
  ) {}

  // available reports whether the server has series at all.
  async available(signal?: AbortSignal): Promise<boolean> {
    try {
      const r = await ask(this.base + "series/ping", {}, signal);
      return r?.success === true;
    } catch {
      return false;
    }
  }

  // series finds the series of a metric. What was not there is looked for again after a while.
  // Others may wait for the same answer: it is not given up with one of them.
  private series(name: string): Promise<Series[]> {
    const at = this.found.get(name) ?? 0;
    let p = this.known.get(name);
    if (!p || Date.now() - at > 60_000) {
      p = this.lookup(name);
      p.catch(() => this.known.delete(name));
      this.known.set(name, p);
      this.found.set(name, Date.now());
    }
    return p;
  }

  private async lookup(name: string): Promise<Series[]> {
    const expr = name + (this.hostname ? `{hostname == ${JSON.stringify(this.hostname)}}` : "");
    const sids: unknown = await ask(this.base + "series/query", { expr });
    if (!Array.isArray(sids) || sids.length === 0) return [];
    const list = sids.map(String);
    const by = new Map<string, Series>(list.map((sid) => [sid, { sid, domain: sid }]));
    for (const part of chunks(list)) {
      const descs: unknown = await ask(this.base + "series/descs", { series: part.join(",") });
      for (const d of Array.isArray(descs) ? descs : []) {
        this.metas.set(name, metaOf({ ...d, name, sem: d.semantics ?? d.sem }));
        const s = by.get(d.series);
        if (s) s.domain = d.source + " " + d.indom;
      }
    }
    return [...by.values()];
  }

  // learn asks for the names of instances, of one series for each domain: of all processes that there ever
  // were it is not asked for each metric, nor before one of them has a value.
  private async learn(unknown: Map<string, Set<string>>, domains: Map<string, string>, signal?: AbortSignal): Promise<void> {
    const asked = new Set<string>();
    for (const [sid, insts] of unknown) {
      const domain = domains.get(sid) ?? sid;
      if (asked.has(domain) && [...insts].every((i) => this.names.has(i))) continue;
      asked.add(domain);
      const list: unknown = await ask(this.base + "series/instances", { series: sid }, signal);
      for (const i of Array.isArray(list) ? list : []) this.names.set(String(i.instance), String(i.name));
    }
  }

  async describe(names: string[]): Promise<Meta[]> {
    await Promise.all(names.map((n) => this.series(n)));
    return names.flatMap((n) => this.metas.get(n) ?? []);
  }

  // labelsOf returns the labels of the instances of a metric.
  async labelsOf(name: string, signal?: AbortSignal): Promise<Map<string, Record<string, string>>> {
    const out = new Map<string, Record<string, string>>();
    const byID = new Map<string, string>();
    for (const s of await this.series(name)) {
      const list: unknown = await ask(this.base + "series/instances", { series: s.sid }, signal);
      for (const i of Array.isArray(list) ? list : []) byID.set(String(i.instance), String(i.name));
    }
    for (const part of chunks([...byID.keys()])) {
      const list: unknown = await ask(this.base + "series/labels", { series: part.join(",") }, signal);
      for (const l of Array.isArray(list) ? list : []) out.set(byID.get(String(l.series)) ?? "", labelTexts(l.labels));
    }
    return out;
  }

  async all(signal?: AbortSignal): Promise<Meta[]> {
    const names: unknown = await ask(this.base + "series/metrics", { match: "*" }, signal);
    return Array.isArray(names) ? names.map((n) => metaOf({ name: String(n) })) : [];
  }

  // read returns values of a span; with a pattern those only of the instance whose name it matches, with top those of the largest instances.
  async read(names: string[], span: Span | null, signal?: AbortSignal, only?: Only, top?: number): Promise<Map<string, Table>> {
    const found = await Promise.all(names.map((n) => this.series(n)));
    const metric = new Map<string, string>();
    const domains = new Map<string, string>();
    found.forEach((list, i) => {
      for (const s of list) {
        metric.set(s.sid, names[i]);
        domains.set(s.sid, s.domain);
      }
    });
    const out = new Map<string, Table>();
    const rows = new Map<string, Map<number, Map<string, Cell>>>(); // by the identifiers of instances
    const unknown = new Map<string, Set<string>>();
    const rests = new Map<string, Map<number, [number, number]>>();
    for (const part of chunks([...metric.keys()])) {
      const times = span
        ? { start: span.from.toFixed(3), finish: span.to.toFixed(3), interval: String(Math.max(1, Math.round(span.step))) }
        : {};
      const values: unknown = await ask(this.base + "series/values", { series: part.join(","), ...times, iname: only?.pattern, top: top ? String(top) : undefined }, signal);
      for (const v of Array.isArray(values) ? values : []) {
        const name = metric.get(v.series);
        if (name === undefined) continue;
        const t = Number(v.timestamp) / 1000;
        if (!Number.isFinite(t)) continue;
        if (v.others !== undefined) {
          let byTime = rests.get(name);
          if (!byTime) rests.set(name, (byTime = new Map()));
          const [n, sum] = byTime.get(t) ?? [0, 0]; // of another source of the same metric
          byTime.set(t, [n + Number(v.others), sum + Number(v.sum)]);
          continue;
        }
        const inst = v.instance && !only ? String(v.instance) : "";
        if (inst && !this.names.has(inst)) {
          let set = unknown.get(v.series);
          if (!set) unknown.set(v.series, (set = new Set()));
          set.add(inst);
        }
        let byTime = rows.get(name);
        if (!byTime) rows.set(name, (byTime = new Map()));
        let row = byTime.get(t);
        if (!row) byTime.set(t, (row = new Map()));
        row.set(inst, this.metas.get(name)?.type === "string" ? unquoted(String(v.value)) : number(String(v.value)));
      }
    }
    await this.learn(unknown, domains, signal);
    for (const [name, byTime] of rows) {
      const t = [...byTime.keys()].sort((a, b) => a - b);
      const series = new Map<string, Cell[]>();
      t.forEach((at, k) => {
        for (const [inst, v] of byTime.get(at)!) {
          const iname = inst ? this.names.get(inst) : "";
          if (iname === undefined) continue;
          let cells = series.get(iname);
          if (!cells) series.set(iname, (cells = new Array<Cell>(t.length).fill(null)));
          cells[k] = v;
        }
      });
      const others = rests.get(name);
      const part = (k: 0 | 1) => t.map((at): Cell => others!.get(at)?.[k] ?? null);
      out.set(name, { t, series, ...(others ? { rest: { count: part(0), sum: part(1) } } : {}) });
    }
    return out;
  }

  // extent returns the first and last time of what is recorded of a metric, or null.
  async extent(name: string, signal?: AbortSignal): Promise<[number, number] | null> {
    const list = await this.series(name);
    if (!list.length) return null;
    const series = list.map((s) => s.sid).join(",");
    const first: unknown = await ask(this.base + "series/values", { series, start: "0", count: "1" }, signal);
    const last: unknown = await ask(this.base + "series/values", { series, count: "1" }, signal);
    const times = (v: unknown) => (Array.isArray(v) ? v.map((x) => Number(x.timestamp) / 1000).filter(Number.isFinite) : []);
    const a = times(first);
    const b = times(last);
    return a.length && b.length ? [Math.min(...a), Math.max(...b)] : null;
  }
}

// unquoted returns a string as it was before /series put it in quotes.
function unquoted(s: string): string {
  try {
    const v: unknown = JSON.parse(s);
    return typeof v === "string" ? v : s;
  } catch {
    return s;
  }
}

function number(s: string): Cell {
  const n = Number(s);
  return s !== "" && Number.isFinite(n) ? n : s;
}
