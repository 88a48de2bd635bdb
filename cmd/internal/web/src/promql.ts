// Queries in the server's PromQL, over what is recorded of all hosts and the values of now.

import { ask, Refused } from "./source";
import type { View } from "./state";
import { parseUnit } from "./units";
import type { Kind } from "./values";

export interface QuerySeries {
  labels: Record<string, string>;
  t: number[];
  v: number[];
}

export interface Answer {
  series: QuerySeries[];
  step: number;
  error: string;
  waiting: boolean;
}

interface Kept extends Answer {
  from: number;
  to: number;
  key: string; // what was asked for, but for the time
  asked: number;
  busy: boolean;
}

const points = 300;
const maxSeries = 500; // of a query
const maxKept = 300; // queries
const soonest = 5; // seconds between two answers

// Queries remembers the answers to queries and asks for them again as time goes on.
export class Queries {
  private kept = new Map<string, Kept>();

  constructor(
    private base: () => string,
    private view: () => View,
    private changed: () => void,
  ) {}

  // get returns the answer for a window, as far as there is one, and has it asked for if it is too old.
  get(expr: string, from: number, to: number): Answer {
    const v = this.view();
    const step = Math.max(v.step, Math.ceil(v.window / points));
    const key = `${v.window} ${step}`;
    let k = this.kept.get(expr);
    if (!k) {
      if (this.kept.size >= maxKept) this.kept.clear();
      this.kept.set(expr, (k = { series: [], step, error: "", waiting: true, from: 0, to: 0, key: "", asked: -Infinity, busy: false }));
    }
    if (!expr.trim()) return { series: [], step, error: "", waiting: false };
    if (!Number.isFinite(from) || !Number.isFinite(to) || !to || document.hidden) return k;
    const now = performance.now() / 1000;
    const moved = v.live ? to - k.to >= Math.max(step, soonest) || to < k.from : Math.abs(to - k.to) > 0.5;
    if (!k.busy && (k.key !== key || moved) && (now - k.asked > soonest || (k.key !== key && now - k.asked > 0.5) || (!v.live && now - k.asked > 0.3))) void this.ask(expr, k, from, to, step, key, now);
    return k;
  }

  private async ask(expr: string, k: Kept, from: number, to: number, step: number, key: string, now: number): Promise<void> {
    k.busy = true;
    k.asked = now;
    // The times of Grafana that depend on the window.
    const query = expr
      .replace(/\$(?:__rate_interval\b|\{__rate_interval\})/g, `${Math.max(4 * step, 60)}s`)
      .replace(/\$(?:__interval_ms\b|\{__interval_ms\})/g, String(step * 1000))
      .replace(/\$(?:__interval\b|\{__interval\})/g, `${Math.max(1, Math.round(step))}s`)
      .replace(/\$(?:__range_s\b|\{__range_s\})/g, String(Math.round(to - from)))
      .replace(/\$(?:__range\b|\{__range\})/g, `${Math.round(to - from)}s`);
    try {
      const start = Math.floor(from / step) * step;
      const r = await ask(this.base() + "api/v1/query_range", { query, start: start.toFixed(3), end: to.toFixed(3), step: String(step) });
      if (r?.status === "error") throw new Error(String(r.error));
      const list: unknown = r?.data?.result;
      k.series = (Array.isArray(list) ? list.slice(0, maxSeries) : []).map((s: any) => {
        const out: QuerySeries = { labels: {}, t: [], v: [] };
        for (const [name, value] of Object.entries(s?.metric ?? {})) out.labels[name] = String(value);
        for (const x of Array.isArray(s?.values) ? s.values : []) {
          const value = Number(x?.[1]);
          if (!Number.isFinite(value)) continue;
          out.t.push(Number(x[0]));
          out.v.push(value);
        }
        return out;
      }).filter((s: QuerySeries) => s.t.length);
      k.error = Array.isArray(list) && list.length > maxSeries ? `only ${maxSeries} of ${list.length} series are shown` : "";
      k.step = step;
    } catch (e) {
      k.series = [];
      k.error = e instanceof Error ? (e.name === "TimeoutError" ? "no answer in time" : e instanceof Refused && e.status === 404 ? "the server has no PromQL" : e.message) : String(e);
    }
    Object.assign(k, { from, to, key, busy: false, waiting: false });
    this.changed();
  }
}

// queryKind is the kind of the values of a query.
export function queryKind(unit: string | undefined): Kind {
  if (unit === "share") return { unit: { space: 0, time: 0, count: 0, factor: 1, text: "share" }, rate: true, utilization: true };
  return { unit: parseUnit(unit ?? "none"), rate: false, utilization: false };
}

// queryLegend names a line of a query.
export function queryLegend(p: { legend?: string; promql?: string }, labels: Record<string, string>, alone: boolean): string {
  if (p.legend) return p.legend.replace(/\{\{\s*([A-Za-z_]\w*)\s*\}\}/g, (_, name: string) => (Object.hasOwn(labels, name) ? labels[name] : ""));
  const own = Object.entries(labels).filter(([k]) => k !== "__name__");
  if (alone || !own.length) return (labels.__name__ ?? p.promql ?? "").slice(0, 200);
  return `${labels.__name__ ?? ""}{${own.map(([k, v]) => `${k}=${JSON.stringify(v)}`).join(", ")}}`;
}
