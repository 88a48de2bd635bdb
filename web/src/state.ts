// What one sees, and the link that reproduces it.

import { parseView } from "./pmchart";
import { parseMetric, readDashboard, writeDashboard, chartOf, type Dashboard } from "./dashboard";

export type Page = "overview" | "activity" | "metrics" | "charts";
const pages: Page[] = ["overview", "activity", "metrics", "charts"];

// A View is a moment and a stretch of time before it.
export interface View {
  live: boolean;
  end: number; // seconds since 1970, if not live
  speed: number; // seconds of the past shown in a second; 0 stands still
  window: number; // seconds
  step: number; // seconds between samples
  zone: string; // of the IANA, "local" for the browser's
}

export interface State {
  page: Page;
  view: View;
  host: string; // specification of the collector, "" for the server's own
  metric: string; // chosen among the metrics
  search: string;
  of: string; // whose activity is shown, by the key of a table
  sort: string; // the column by which it is sorted, "" for the first of interest; with "-" before it, smallest first
  filter: string; // words that a row must have
  pid: number; // the process that is looked at, 0 for none
  dashboard: Dashboard;
}

export const windows: [number, string][] = [
  [60, "1 minute"],
  [300, "5 minutes"],
  [900, "15 minutes"],
  [3600, "1 hour"],
  [6 * 3600, "6 hours"],
  [24 * 3600, "1 day"],
  [7 * 24 * 3600, "1 week"],
];
export const steps: [number, string][] = [
  [1, "1 s"],
  [2, "2 s"],
  [5, "5 s"],
  [10, "10 s"],
  [60, "1 min"],
  [600, "10 min"],
];
export const speeds = [0.5, 1, 2, 5, 10, 60, 600];

const empty: Dashboard = { title: "Charts", panels: [] };

export function initial(): State {
  return {
    page: "overview",
    view: { live: true, end: 0, speed: 0, window: 300, step: 1, zone: "local" },
    host: "",
    metric: "",
    search: "",
    of: "process",
    sort: "",
    filter: "",
    pid: 0,
    dashboard: empty,
  };
}

function number(s: string | null, min: number, max: number): number | undefined {
  if (s === null || s === "") return undefined;
  const n = Number(s);
  return Number.isFinite(n) && n >= min && n <= max ? n : undefined;
}

export function goodZone(z: string): boolean {
  if (z === "local") return true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: z });
    return true;
  } catch {
    return false;
  }
}

// readLink makes a state of the part of a link behind #. What it does not say is as in s.
export function readLink(hash: string, s: State): State {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const q = new URLSearchParams(query);
  const page = pages.find((p) => p === path) ?? s.page;
  const end = number(q.get("end"), 0, 1e11);
  const zone = q.get("zone");
  const view: View = {
    live: end === undefined,
    end: end ?? 0,
    speed: end === undefined ? 0 : (number(q.get("speed"), -3600, 3600) ?? 0),
    window: number(q.get("window"), 10, 366 * 86400) ?? s.view.window,
    step: number(q.get("step"), 0.1, 86400) ?? s.view.step,
    zone: zone && goodZone(zone) ? zone : s.view.zone,
  };
  let dashboard = s.dashboard;
  const d = q.get("d");
  if (d) {
    try {
      dashboard = readDashboard(JSON.parse(d));
    } catch {
      // A broken link shows what was there.
    }
  }
  const shown = q.get("view"); // of pmchart
  if (shown) {
    try {
      dashboard = parseView(shown, q.get("name") ?? "View");
    } catch {
      // as above
    }
  }
  const charts = q.getAll("chart").flatMap((c) => parseMetric(c) ?? []);
  if (charts.length) dashboard = { title: "Charts", panels: charts.map((p) => chartOf(p)) };
  return { page: charts.length || shown ? "charts" : page, view, host: q.get("host") ?? s.host, metric: q.get("metric") ?? s.metric, search: q.get("search") ?? s.search, of: q.get("of") ?? "process", sort: q.get("sort") ?? "", filter: q.get("filter") ?? "", pid: number(q.get("pid"), 0, 2 ** 31) ?? 0, dashboard };
}

// link writes what readLink reads.
export function link(s: State): string {
  const q: string[] = [];
  const add = (k: string, v: string | number) => q.push(k + "=" + encodeURIComponent(v));
  const base = initial().view;
  if (s.host) add("host", s.host);
  if (!s.view.live) {
    add("end", Math.round(s.view.end * 1000) / 1000);
    if (s.view.speed) add("speed", s.view.speed);
  }
  if (s.view.window !== base.window) add("window", Math.round(s.view.window * 1000) / 1000);
  if (s.view.step !== base.step) add("step", s.view.step);
  if (s.view.zone !== base.zone) add("zone", s.view.zone);
  if (s.page === "activity" || s.page === "overview") {
    if (s.of !== "process" && s.page === "activity") add("of", s.of);
    if (s.sort) add("sort", s.sort);
    if (s.filter) add("filter", s.filter);
    if (s.pid && s.page === "activity") add("pid", s.pid);
  }
  if (s.page === "metrics") {
    if (s.search) add("search", s.search);
    if (s.metric) add("metric", s.metric);
  }
  if (s.page === "charts" && s.dashboard.panels.length) add("d", JSON.stringify(s.dashboard));
  return "#/" + s.page + (q.length ? "?" + q.join("&") : "");
}

const kept = "pcp.dashboard";

export function remember(d: Dashboard): void {
  try {
    localStorage.setItem(kept, writeDashboard(d));
  } catch {
    // Storage may be full or forbidden; the link still has it.
  }
}

export function remembered(): Dashboard {
  try {
    const s = localStorage.getItem(kept);
    if (s) return readDashboard(JSON.parse(s));
  } catch {
    // as if there were none
  }
  return empty;
}
