// What one sees, and the link that reproduces it.

import { joined, parseView } from "./pmchart";
import { parseMetric, readDashboard, writeDashboard, chartOf, type Dashboard } from "./dashboard";
import { served } from "./served";

export type Page = "overview" | "activity" | "diagnose" | "metrics" | "charts" | "fleet";
const pages: Page[] = ["overview", "activity", "diagnose", "metrics", "charts", "fleet"];

// A View is a moment and a stretch of time before it.
export interface View {
  live: boolean;
  end: number; // seconds since 1970, if not live
  speed: number; // seconds of the past shown in a second; 0 stands still
  window: number; // seconds
  step: number; // seconds between samples
  zone: string; // of the IANA, "local" for the browser's
  kept: number; // samples that the page keeps, 0 for its own choice
  font: string; // family of letters, "" for the page's own
  size: number; // of letters in points, 0 for the page's own
}

export interface State {
  page: Page;
  view: View;
  host: string; // specification of the collector, "" for the server's own
  from: "" | "any" | "archives"; // where its values come from: its collector, that or else its archives, or its archives
  metric: string; // chosen among the metrics
  search: string;
  of: string; // whose activity is shown, by the key of a table
  sort: string; // the column by which it is sorted, "" for the first of interest; with "-" before it, smallest first
  filter: string; // words that a row must have
  pid: number; // the process that is looked at, 0 for none
  item: string; // what else is looked at: an instance of the table, "" for none
  compare: string; // what charts are compared with: seconds before, or "host:" and a name; "" for nothing
  over: "" | "window"; // what the numbers of the activity are of: the end of what is seen, or the mean over it
  heat: string; // the column or metric of the heat map of all hosts, "" for their table
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
    view: { live: true, end: 0, speed: 0, window: 300, step: 1, zone: "local", kept: 0, font: "", size: 0 },
    host: "",
    from: "",
    metric: "",
    search: "",
    of: "process",
    sort: "",
    filter: "",
    pid: 0,
    item: "",
    compare: "",
    over: "",
    heat: "",
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

const longestBefore = 366 * 86400; // seconds

// goodComparison returns what charts can be compared with, or "".
function goodComparison(s: string): string {
  return /^host:./.test(s) || number(s, 1, longestBefore) !== undefined ? s : "";
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
    kept: number(q.get("kept"), 2, 1e5) ?? s.view.kept,
    font: /^[\w .-]{1,80}$/.test(q.get("font") ?? "") ? q.get("font")! : s.view.font,
    size: number(q.get("size"), 6, 24) ?? s.view.size,
  };
  let dashboard = s.dashboard;
  const d = q.get("d");
  if (d) {
    try {
      dashboard = withNotes(readDashboard(JSON.parse(d)));
    } catch {
      // A broken link shows what was there.
    }
  }
  const shown = q.get("view"); // of pmchart
  if (shown) {
    try {
      const name = q.get("name") ?? "View";
      dashboard = joined(parseView(shown, name), name);
    } catch {
      // as above
    }
  }
  const charts = q.getAll("chart").flatMap((c) => parseMetric(c) ?? []);
  if (charts.length) dashboard = { title: "Charts", panels: charts.map((p) => chartOf(p)) };
  return { page: charts.length || shown ? "charts" : page, view, host: q.get("host") ?? s.host, from: (["any", "archives"] as const).find((f) => f === q.get("from")) ?? "", metric: q.get("metric") ?? s.metric, search: q.get("search") ?? s.search, of: q.get("of") ?? "process", sort: q.get("sort") ?? "", filter: q.get("filter") ?? "", pid: number(q.get("pid"), 0, 2 ** 31) ?? 0, item: q.get("item") ?? "", compare: goodComparison(q.get("compare") ?? ""), over: q.get("over") === "window" && !view.live ? "window" : "", heat: q.get("heat") ?? "", dashboard };
}

// link writes what readLink reads.
export function link(s: State): string {
  const q: string[] = [];
  const add = (k: string, v: string | number) => q.push(k + "=" + encodeURIComponent(v));
  const base = initial().view;
  if (s.host) add("host", s.host);
  if (s.host && s.from) add("from", s.from);
  if (!s.view.live) {
    add("end", Math.round(s.view.end * 1000) / 1000);
    if (s.view.speed) add("speed", s.view.speed);
  }
  if (s.view.window !== base.window) add("window", Math.round(s.view.window * 1000) / 1000);
  if (s.view.step !== base.step) add("step", s.view.step);
  if (s.view.zone !== base.zone) add("zone", s.view.zone);
  if (s.view.kept) add("kept", s.view.kept);
  if (s.view.font) add("font", s.view.font);
  if (s.view.size) add("size", s.view.size);
  if (s.compare) add("compare", s.compare);
  if (s.page === "activity" || s.page === "overview") {
    if (s.of !== "process") add("of", s.of);
    if (s.sort) add("sort", s.sort);
    if (s.filter) add("filter", s.filter);
    if (s.over && !s.view.live) add("over", s.over);
    if (s.page === "activity" && s.pid) add("pid", s.pid);
    else if (s.page === "activity" && s.item) add("item", s.item);
  }
  if (s.page === "fleet") {
    if (s.sort) add("sort", s.sort);
    if (s.filter) add("filter", s.filter);
    if (s.heat) add("heat", s.heat);
  }
  if (s.page === "metrics") {
    if (s.search) add("search", s.search);
    if (s.metric) add("metric", s.metric);
  }
  if (s.page === "charts" && s.dashboard.panels.length) add("d", JSON.stringify({ ...s.dashboard, notes: undefined }));
  return "#/" + s.page + (q.length ? "?" + q.join("&") : "");
}

// A Sorting is the order of a table, and the words that its rows must have.
export interface Sorting {
  sort: string;
  filter: string;
}

const keptOrders = "pcp.tables"; // of all tables by their keys, for good
const keptFilters = "pcp.filters"; // for this window of the browser

function readTexts(s: Storage, key: string): Record<string, string> {
  try {
    const v = JSON.parse(s.getItem(key) ?? "{}");
    return v && typeof v === "object" ? v : {};
  } catch {
    return {};
  }
}

// sortingOf returns how a table was left.
export function sortingOf(table: string): Sorting {
  try {
    return { sort: String(readTexts(localStorage, keptOrders)[table] ?? ""), filter: String(readTexts(sessionStorage, keptFilters)[table] ?? "") };
  } catch {
    return { sort: "", filter: "" }; // storage is forbidden
  }
}

// keepSorting remembers how a table is left.
export function keepSorting(table: string, s: Sorting): void {
  try {
    localStorage.setItem(keptOrders, JSON.stringify({ ...readTexts(localStorage, keptOrders), [table]: s.sort }));
    sessionStorage.setItem(keptFilters, JSON.stringify({ ...readTexts(sessionStorage, keptFilters), [table]: s.filter }));
  } catch {
    // Storage may be full or forbidden; the link still has what is seen.
  }
}

// Of two versions of a dashboard, that of this browser gets a name of its own. One that was removed elsewhere stays here.
served.lost = (e, gone) => {
  const s = readShelf();
  const id = Date.now().toString(36) + Math.random().toString(36).slice(2, 6);
  const title = gone ? e.dashboard.title : `${e.dashboard.title} (from this browser)`;
  s.list = [...s.list, { id, dashboard: { ...e.dashboard, title } }].slice(-maxKept);
  if (gone && mine === e.id) mine = id;
  writeShelf(s);
  served.problem = "";
};

const kept = "pcp.dashboards";
const keptBefore = "pcp.dashboard"; // when there was one
const maxKept = 100;

// A Kept dashboard is in the storage of the browser.
export interface Kept {
  id: string;
  dashboard: Dashboard;
}

interface Shelf {
  current: string; // the one that was open last
  list: Kept[];
  copy?: Kept; // what is open, if the server keeps it
}

let mine = ""; // what is open here; "" if it is not kept

function same(a: Dashboard, b: Dashboard): boolean {
  return writeDashboard({ ...a, notes: undefined }) === writeDashboard({ ...b, notes: undefined });
}

function readShelf(): Shelf {
  const shelf: Shelf = { current: "", list: [] };
  try {
    const v = JSON.parse(localStorage.getItem(kept) ?? "null");
    for (const e of Array.isArray(v?.list) ? v.list.slice(0, maxKept) : []) {
      try {
        shelf.list.push({ id: String(e.id), dashboard: readDashboard(e.dashboard) });
      } catch {
        // the others are as good as they were
      }
    }
    shelf.current = String(v?.current ?? "");
    if (v?.copy) shelf.copy = { id: String(v.copy.id), dashboard: readDashboard(v.copy.dashboard) };
    const before = v ? null : localStorage.getItem(keptBefore);
    if (before) {
      const dashboard = readDashboard(JSON.parse(before));
      if (dashboard.panels.length) return { current: "1", list: [{ id: "1", dashboard }] };
    }
  } catch {
    // as if there were none
  }
  return shelf;
}

function writeShelf(s: Shelf): void {
  try {
    localStorage.setItem(kept, JSON.stringify({ ...s, copy: s.copy?.id === mine ? s.copy : undefined, current: mine }));
  } catch {
    // Storage may be full or forbidden; the link still has what is open.
  }
}

// shelf lists the dashboards of this browser, and says which one is open.
export function shelf(): { list: Kept[]; open: string } {
  return { list: [...served.list, ...readShelf().list], open: mine };
}

// withNotes returns a dashboard of a link, which has no notes, as it is kept.
function withNotes(d: Dashboard): Dashboard {
  const s = readShelf();
  return [...s.list, ...served.list, ...(s.copy ? [s.copy] : [])].find((e) => e.dashboard.notes && same(e.dashboard, d))?.dashboard ?? d;
}

// remember keeps what is open as it is now.
export function remember(d: Dashboard): void {
  const s = readShelf();
  if (mine.startsWith("@")) {
    served.put(mine, d);
    writeShelf({ ...s, copy: { id: mine, dashboard: d } });
    return;
  }
  const i = s.list.findIndex((e) => e.id === mine);
  if (i >= 0) s.list[i].dashboard = d;
  else {
    mine = Date.now().toString(36) + Math.random().toString(36).slice(2, 6);
    s.list = [...s.list, { id: mine, dashboard: d }].slice(-maxKept);
  }
  writeShelf(s);
}

// remembered returns what was open last.
export function remembered(): Dashboard {
  const s = readShelf();
  const e = s.list.find((e) => e.id === s.current) ?? (s.copy?.id === s.current ? s.copy : undefined);
  mine = e?.id ?? "";
  return e?.dashboard ?? empty;
}

// shown is told what a link shows: a change of it does not change another one that is kept.
export function shown(d: Dashboard): void {
  const s = readShelf();
  const list = [...s.list, ...served.list, ...(s.copy ? [s.copy] : [])];
  const now = list.find((e) => e.id === mine);
  if (now && same(now.dashboard, d)) return;
  mine = list.find((e) => same(e.dashboard, d))?.id ?? "";
}

// openKept opens a dashboard that is kept.
export function openKept(id: string): Dashboard | null {
  const s = readShelf();
  const e = s.list.find((e) => e.id === id) ?? served.get(id);
  if (!e) return null;
  mine = id;
  writeShelf(id.startsWith("@") ? { ...s, copy: { id, dashboard: e.dashboard } } : s);
  return e.dashboard;
}

// openOther opens a dashboard beside those that are kept.
export function openOther(d: Dashboard): void {
  shown(d);
  remember(d);
}

// forget removes what is open, and returns another one.
export async function forget(): Promise<Dashboard> {
  if (mine.startsWith("@")) await served.remove(mine);
  const s = readShelf();
  s.list = s.list.filter((e) => e.id !== mine);
  const next = s.list[s.list.length - 1] ?? served.list[served.list.length - 1];
  mine = next?.id ?? "";
  writeShelf(s);
  return next?.dashboard ?? empty;
}

// moveBoard has the server keep what is open, or the browser.
export async function moveBoard(d: Dashboard, toServer: boolean): Promise<void> {
  const before = mine;
  if (toServer) {
    const id = await served.add(d);
    const s = readShelf();
    s.list = s.list.filter((e) => e.id !== before);
    mine = id;
    writeShelf({ ...s, copy: { id, dashboard: d } });
    return;
  }
  mine = "";
  remember(d);
  if (before.startsWith("@")) await served.remove(before);
}

// follow is called when the server's dashboards were read. It returns what is open, if that is another version now.
export function follow(d: Dashboard): Dashboard | null {
  if (!mine.startsWith("@")) return null;
  const now = served.get(mine);
  if (!now) {
    if (served.available) {
      // It was removed elsewhere; here it stays.
      mine = "";
      remember(d);
    }
    return null;
  }
  if (same(now.dashboard, d)) return null;
  writeShelf({ ...readShelf(), copy: { id: mine, dashboard: now.dashboard } });
  return now.dashboard;
}
