// Dashboards of Grafana, as far as their panels ask Prometheus or PCP. The notes list what is left out.

import { maxNotes, maxPanels, maxPlots, maxQuery, variableName, type ChartPanel, type Dashboard, type Panel, type Plot, type PlotPanel, type Reduced, type Style, type Threshold, type Variable } from "./dashboard";

const maxDepth = 3; // rows within rows
const maxTitle = 1000;

type Obj = Record<string, any>;

function isObj(v: unknown): v is Obj {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

function own(o: unknown, ...path: string[]): any {
  for (const k of path) {
    if (!isObj(o) || !Object.hasOwn(o, k)) return undefined;
    o = o[k];
  }
  return o;
}

function str(v: unknown, max = maxTitle): string {
  return typeof v === "string" ? v.slice(0, max) : "";
}

function arr(v: unknown): any[] {
  return Array.isArray(v) ? v : [];
}

// isGrafana reports whether a file seems to be a dashboard of Grafana.
export function isGrafana(v: unknown): boolean {
  const d = own(v, "dashboard") ?? v;
  return isObj(d) && d.format === undefined && (["schemaVersion", "templating", "annotations", "rows", "__inputs", "gnetId"].some((k) => Object.hasOwn(d, k)) || arr(d.panels).some((p) => isObj(p) && typeof p.type === "string" && p.kind === undefined));
}

// units of Grafana and those of queries here.
const units: Record<string, string> = {
  bytes: "byte", decbytes: "byte", kbytes: "Kbyte", mbytes: "Mbyte", gbytes: "Gbyte", Bps: "byte / sec", binBps: "byte / sec", KBs: "Kbyte / sec", MBs: "Mbyte / sec",
  s: "sec", ms: "millisec", "µs": "microsec", ns: "nanosec", m: "min", h: "hour",
  percentunit: "share", percent: "%", short: "none", none: "none", celsius: "temperature (C)", volt: "voltage (V)", amp: "current (A)", watt: "power (W)", kwatt: "power (kW)",
  ops: "count / sec", reqps: "count / sec", rps: "count / sec", wps: "count / sec", iops: "count / sec", cps: "count / sec", pps: "count / sec", opm: "count / min",
};

type Source = "promql" | "pcp" | "unknown" | { other: string };

function sourceOf(ds: unknown): Source {
  const type = typeof ds === "string" ? ds : str(own(ds, "type")) || str(own(ds, "uid"));
  if (!type || /^\$|^-- (Mixed|Dashboard) --$|^default$|^\$\{/.test(type) || type === "-- Mixed --") return "unknown";
  if (/bpftrace/i.test(type)) return { other: type };
  if (/pcp|performancecopilot|vector/i.test(type)) return "pcp";
  if (/prom|thanos|mimir|cortex|victoria/i.test(type)) return "promql";
  return typeof ds === "string" ? "unknown" : own(ds, "type") ? { other: type } : "unknown";
}

// plotOfPCP reads an expression of the data sources of PCP: NAME, NAME[instance], NAME{instance.name == "x"}, or rate of them.
function plotOfPCP(expr: string): Plot | string {
  let s = expr.trim();
  const fn = /^([a-z_]+)\s*\((.*)\)$/s.exec(s);
  if (fn) {
    if (fn[1] !== "rate") return `the function ${fn[1]} is not supported`;
    s = fn[2].trim();
  }
  const m = /^([A-Za-z][\w.]*(?:\.[\w]+)*)\s*(?:\{([^{}]*)\})?\s*(?:\[([^[\]]*)\])?$/s.exec(s);
  if (!m) return "it is not a metric with conditions";
  const p: Plot = { metric: m[1] };
  if (m[3]?.trim() && !/^(samples|interval|start|finish|offset|zone|timezone)\b|:/.test(m[3].trim())) p.instances = m[3].split(",").map((x) => x.trim().replace(/^"(.*)"$/, "$1")).filter(Boolean);
  if (m[2]?.trim()) {
    for (const c of m[2].split(/&&|,/)) {
      const x = /^\s*([\w.]+)\s*(==|=|~~|=~|!~)\s*"((?:[^"\\]|\\.)*)"\s*$/.exec(c);
      if (!x) return `the condition ${c.trim().slice(0, 100)} is not supported`;
      const value = x[3].replace(/\\(.)/g, "$1");
      const equal = x[2] === "==" || x[2] === "=";
      if (/^(instance\.name|instname)$/.test(x[1])) {
        if (equal) p.instances = [value];
        else if (x[2] === "!~") p.unmatch = value;
        else p.match = value;
      } else if (/^(metric\.)?(hostname|context\.hostname)$/.test(x[1]) && equal) p.host = value;
      else if (equal) (p.where ??= {})[x[1].replace(/^(instance|metric)\./, "")] = [value];
      else return `the condition ${c.trim().slice(0, 100)} is not supported`;
    }
  }
  return p;
}

// legendOfPCP writes a legend as panels have it.
function legendOfPCP(s: string): string | undefined {
  const out = s
    .replace(/\$\{?(instance)\}?|\{\{\s*(instance(?:\.name)?|instname)\s*\}\}/g, "%I")
    .replace(/\$\{?metric0\}?/g, "%m")
    .replace(/\$\{?metric\}?|\{\{\s*(metric(?:\.name)?|__name__)\s*\}\}/g, "%M")
    .replace(/\{\{\s*hostname\s*\}\}/g, "%h");
  return out.trim() && out !== "__auto" ? out : undefined;
}

function levelOf(color: string): "warn" | "bad" | null {
  if (/green|transparent|#(73bf69|56a64b|299c46|37872d|96d98d)/i.test(color)) return null;
  return /red|#(f2495c|e02f44|d44a3a|c4162a|ff7383)/i.test(color) ? "bad" : "warn";
}

// parseGrafana reads a dashboard of Grafana, or the answer of its API that has one.
export function parseGrafana(v: unknown, name: string): Dashboard {
  const g = own(v, "dashboard") ?? v;
  if (!isObj(g)) throw new Error(`${name} is not a dashboard of Grafana`);
  const d: Dashboard = { title: str(g.title) || name, panels: [] };
  const notes: string[] = [];
  let more = 0;
  const note = (what: string) => {
    if (notes.length < maxNotes - 1) notes.push(what.slice(0, 1000));
    else more++;
  };
  const variables: Variable[] = [];
  for (const t of arr(own(g, "templating", "list")).slice(0, 200)) {
    const x = variableOf(t, note);
    if (!x) continue;
    if (variables.length >= 20) note(`variable ${x.name}: a dashboard has at most 20 variables`);
    else if (variables.some((y) => y.name === x.name)) note(`variable ${x.name}: there are two with this name`);
    else variables.push(x);
  }
  if (variables.length) d.variables = variables;
  for (const a of arr(own(g, "annotations", "list")).slice(0, 200)) if (own(a, "builtIn") !== 1 && own(a, "enable") !== false) note(`annotation ${JSON.stringify(str(own(a, "name")))}: annotations are not supported`);
  if (arr(g.links).length) note("links of the dashboard: they are not imported");
  const since = /^now-(\d+)([smhdwMy])$/.exec(str(own(g, "time", "from")));
  if (since && str(own(g, "time", "to")) === "now") {
    const seconds = Number(since[1]) * { s: 1, m: 60, h: 3600, d: 86400, w: 7 * 86400, M: 30 * 86400, y: 365 * 86400 }[since[2]]!;
    if (seconds >= 10 && seconds <= 366 * 86400) d.window = seconds;
  } else if (own(g, "time") !== undefined) note("the times of the dashboard: only those that end now are imported");

  const add = (p: Panel, title: string) => {
    if (d.panels.length < maxPanels) d.panels.push(p);
    else note(`panel ${title}: a dashboard has at most ${maxPanels} panels`);
  };
  const walk = (list: any[], depth: number) => {
    list.forEach((p) => {
      if (!isObj(p)) return note("a panel that is not an object");
      const title = JSON.stringify(str(p.title) || `number ${str(String(p.id ?? "?"), 20)}`);
      if (p.type === "row" || (p.type === undefined && Array.isArray(p.panels))) {
        if (str(p.title)) add({ kind: "text", title: str(p.title), text: "" }, title);
        if (p.repeat) note(`row ${title}: it is not repeated for ${str(String(p.repeat), 60)}`);
        if (depth >= maxDepth) note(`row ${title}: rows within rows are left out`);
        else walk(arr(p.panels), depth + 1);
        return;
      }
      const made = panelOf(p, title, g, note);
      if (made) add(made, title);
    });
  };
  walk(arr(g.panels), 0);
  for (const r of arr(g.rows)) {
    if (isObj(r) && str(r.title) && r.showTitle !== false) add({ kind: "text", title: str(r.title), text: "" }, str(r.title));
    walk(arr(own(r, "panels")), 1);
  }
  if (!d.panels.length && !notes.length) throw new Error(`${name} has no panels`);
  if (more) notes.push(`and ${more} more`);
  if (notes.length) d.notes = notes;
  return d;
}

function variableOf(t: unknown, note: (s: string) => void): Variable | null {
  const name = str(own(t, "name"), 200);
  const type = str(own(t, "type"), 60);
  if (type === "datasource") {
    note(`variable ${name}: the data source is this server`);
    return null;
  }
  if (type === "adhoc") {
    note(`variable ${name}: filters for all queries are not supported`);
    return null;
  }
  if (!variableName.test(name)) {
    note(`variable ${JSON.stringify(name)}: the name has other characters than letters, digits and _`);
    return null;
  }
  const value = own(t, "current", "value");
  const current = (Array.isArray(value) ? value : [value]).filter((x) => typeof x === "string" && x !== "").map((x) => str(x, 4000)).slice(0, 200);
  const all = current.includes("$__all");
  let choices = arr(own(t, "options")).map((o) => str(own(o, "value"), 4000)).filter((x) => x && x !== "$__all");
  if (!choices.length && (type === "custom" || type === "interval" || type === "constant" || type === "textbox")) choices = str(own(t, "query"), 20000).split(",").map((x) => x.trim().replace(/^[^:]*\s:\s/, "")).filter(Boolean);
  choices = [...new Set([...choices, ...(all ? [] : current)])].filter((x) => !x.startsWith("$__auto")).slice(0, 200);
  if (type === "query") note(`variable ${name}: it does not ask a data source; there are ${choices.length ? "the values that were saved with it" : "no saved values, and it is everything"}`);
  else if (!["custom", "interval", "constant", "textbox"].includes(type)) note(`variable ${name}: the type ${JSON.stringify(type)} is not supported; it has its saved values`);
  // Everything is a pattern, as for Grafana.
  const everything = str(own(t, "allValue"), 200) || ".*";
  if (!choices.length) choices = [everything];
  else if (own(t, "includeAll") === true || all) choices = [everything, ...choices.filter((x) => x !== everything)].slice(0, 200);
  return { name, kind: "choice", choices, values: all ? [everything] : current.filter((x) => choices.includes(x)), ...(str(own(t, "label")) ? { title: str(own(t, "label")) } : {}) };
}

// Kinds of Grafana's panels.
const kinds: Record<string, string> = { timeseries: "chart", graph: "chart", barchart: "chart", stat: "value", singlestat: "value", gauge: "value", bargauge: "value", table: "table", "table-old": "table", heatmap: "heat", piechart: "value" };

function panelOf(p: Obj, title: string, g: Obj, note: (s: string) => void): Panel | null {
  const type = str(p.type, 100);
  const name = str(p.title);
  if (type === "text") {
    const mode = str(own(p, "options", "mode") ?? p.mode);
    if (mode === "html") note(`panel ${title}: its HTML is shown as text`);
    const content = own(p, "options", "content") ?? p.content;
    if (typeof content === "string" && content.length > 16000) note(`panel ${title}: its text is cut after 16000 characters`);
    return { kind: "text", title: name || "Text", text: str(content, 16000) };
  }
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : "";
  if (!kind) {
    note(`panel ${title}: panels of the type ${JSON.stringify(type)} are not supported`);
    return null;
  }
  if (type === "gauge" || type === "bargauge" || type === "piechart") note(`panel ${title}: a ${type} is shown as values`);
  const custom = own(p, "fieldConfig", "defaults", "custom");
  const unit = str(own(p, "fieldConfig", "defaults", "unit") ?? own(arr(p.yaxes)[0], "format") ?? p.format, 60);
  const known = Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (unit && !known) note(`panel ${title}: the unit ${JSON.stringify(unit)} is unknown`);
  for (const [k, what] of [["transformations", "transformations are not applied"], ["links", "its links are not imported"]] as const) if (arr(p[k]).length) note(`panel ${title}: ${what}`);
  if (arr(own(p, "fieldConfig", "overrides")).length || arr(p.seriesOverrides).length) note(`panel ${title}: settings for single series are not applied`);
  if (p.repeat) note(`panel ${title}: it is not repeated for ${str(String(p.repeat), 60)}; the choice shows all in one`);
  if (p.alert !== undefined) note(`panel ${title}: its alert is not imported`);
  if (p.libraryPanel !== undefined) note(`panel ${title}: it is in a library of Grafana, and the file may not have all of it`);
  if (p.timeFrom || p.timeShift) note(`panel ${title}: it has the times of the dashboard`);

  const plots: Plot[] = [];
  arr(p.targets).forEach((t, k) => {
    const where = `panel ${title}, query ${str(own(t, "refId"), 20) || k + 1}`;
    if (!isObj(t)) return note(`${where}: it is not an object`);
    if (t.hide === true) return note(`${where}: it is hidden`);
    let source = sourceOf(t.datasource);
    if (source === "unknown") source = sourceOf(p.datasource);
    if (typeof source === "object") return note(`${where}: the data source ${JSON.stringify(source.other.slice(0, 100))} is not supported`);
    const expr = typeof t.expr === "string" ? t.expr : typeof t.target === "string" ? t.target : undefined;
    if (expr === undefined) return note(`${where}: it has no expression; only PromQL and PCP are supported`);
    if (!expr.trim()) return;
    if (expr.length > maxQuery) return note(`${where}: the expression is longer than ${maxQuery} characters`);
    if (plots.length >= maxPlots) return note(`${where}: a panel has at most ${maxPlots} queries`);
    if (source === "unknown") source = /^\s*(rate\s*\()?[A-Za-z][\w]*\.[\w.]+/.test(expr) ? "pcp" : "promql";
    const legend = str(t.legendFormat ?? t.legend, 1000);
    if (source === "promql") {
      plots.push({ metric: "", promql: expr, ...(legend && legend !== "__auto" ? { legend } : {}), ...(known && known !== "none" ? { unit: known } : {}) });
      return;
    }
    const q = plotOfPCP(expr);
    if (typeof q === "string") return note(`${where}: ${q}`);
    if (t.url || t.hostspec) note(`${where}: it asks the host of the page, not ${str(String(t.hostspec || t.url), 200)}`);
    const l = legendOfPCP(legend);
    plots.push({ ...q, ...(l ? { legend: l } : {}) });
  });
  if (!plots.length) {
    note(`panel ${title}: no query of it can be imported`);
    return null;
  }
  const thresholds = thresholdsOf(p, kind, known, custom, title, note);
  const base = { title: name || plots.map((x) => x.promql ?? x.metric).join(", ").slice(0, maxTitle), plots };
  const log = str(own(custom, "scaleDistribution", "type")) === "log" || Number(own(arr(p.yaxes)[0], "logBase")) > 1;
  return build(p, kind, base, { thresholds, log, custom, known }, title, note);
}

function finite(v: unknown): number | undefined {
  const n = typeof v === "string" && v.trim() !== "" ? Number(v) : v;
  return typeof n === "number" && Number.isFinite(n) ? n : undefined;
}

function thresholdsOf(p: Obj, kind: string, unit: string | undefined, custom: unknown, title: string, note: (s: string) => void): Threshold[] {
  const style = str(own(custom, "thresholdsStyle", "mode"));
  const out: Threshold[] = [];
  if (kind === "chart" && p.type === "timeseries" && (!style || style === "off")) return out;
  if (str(own(p, "fieldConfig", "defaults", "thresholds", "mode")) === "percentage") {
    note(`panel ${title}: thresholds in parts of the scale are not supported`);
    return out;
  }
  const factor = unit ? factorOf(unit) : 1;
  for (const s of arr(own(p, "fieldConfig", "defaults", "thresholds", "steps")).slice(0, 20)) {
    const value = finite(own(s, "value"));
    const level = levelOf(str(own(s, "color"), 60));
    if (value !== undefined && level) out.push({ value: value * factor, level });
  }
  for (const s of arr(p.thresholds).slice(0, 20)) {
    const value = finite(own(s, "value"));
    if (value !== undefined && own(s, "op") === "gt") out.push({ value: value * factor, level: own(s, "colorMode") === "warning" ? "warn" : "bad" });
  }
  return out.slice(0, 20);
}

// factorOf is what a number of a unit of queries is in bytes, seconds and counts.
function factorOf(unit: string): number {
  const m: Record<string, number> = { Kbyte: 1024, Mbyte: 1024 ** 2, Gbyte: 1024 ** 3, "Kbyte / sec": 1024, "Mbyte / sec": 1024 ** 2, millisec: 1e-3, microsec: 1e-6, nanosec: 1e-9, min: 60, hour: 3600, "count / min": 1 / 60, "power (kW)": 1000 };
  return m[unit] ?? 1;
}

function build(p: Obj, kind: string, base: { title: string; plots: Plot[] }, o: { thresholds: Threshold[]; log: boolean; custom: unknown; known?: string }, title: string, note: (s: string) => void): PlotPanel {
  const thresholds = o.thresholds.length ? { thresholds: o.thresholds } : {};
  const factor = o.known ? factorOf(o.known) : 1;
  const limit = (v: unknown) => {
    const n = finite(v);
    return n === undefined ? undefined : n * factor;
  };
  if (kind === "table") return { kind: "table", ...base, rows: 50, ...thresholds };
  if (kind === "heat") return { kind: "heat", ...base };
  if (kind === "value") {
    const calc = str(arr(own(p, "options", "reduceOptions", "calcs"))[0] ?? p.valueName, 40);
    const of: Reduced = calc === "mean" || calc === "avg" ? "mean" : calc === "max" ? "max" : "last";
    if (calc && !["mean", "avg", "max", "last", "lastNotNull", "current"].includes(calc)) note(`panel ${title}: the calculation ${JSON.stringify(calc)} is not supported; it shows the last value`);
    return { kind: "value", ...base, of, ...thresholds };
  }
  const stacking = str(own(o.custom, "stacking", "mode"));
  const filled = Number(own(o.custom, "fillOpacity") ?? 0) > 5 || (p.type === "graph" && Number(p.fill ?? 1) > 0 && p.lines !== false);
  const bars = p.type === "barchart" || own(o.custom, "drawStyle") === "bars" || (p.type === "graph" && p.bars === true && p.lines === false);
  let style: Style = bars ? "bar" : filled ? "area" : "line";
  if (stacking === "percent" || (p.type === "graph" && p.stack === true && p.percentage === true)) style = "share";
  else if (stacking === "normal" || (p.type === "graph" && p.stack === true)) style = "stack";
  const c: ChartPanel = { kind: "chart", ...base, style, ...thresholds };
  const min = limit(own(p, "fieldConfig", "defaults", "min") ?? own(arr(p.yaxes)[0], "min"));
  const max = limit(own(p, "fieldConfig", "defaults", "max") ?? own(arr(p.yaxes)[0], "max"));
  if (min !== undefined) c.min = min;
  if (max !== undefined && (min === undefined || max > min)) c.max = max;
  if (o.log && style !== "stack" && style !== "share") c.log = true;
  else if (o.log) note(`panel ${title}: a stack has no logarithmic axis`);
  return c;
}
