// Dashboards: what is shown, as data that can be saved, sent and read back.

import { compile } from "./pattern";

export type Style = "line" | "area" | "stack" | "share" | "bar";
export const styles: Style[] = ["line", "area", "stack", "share", "bar"];

// A Plot is a metric in a chart, with all its instances or some.
export interface Plot {
  metric: string;
  instances?: string[]; // by name
  match?: string; // a regular expression that names must match
  unmatch?: string; // one that they must not match
  legend?: string; // %i %I instance, %m %M metric, %h %H host
  color?: string;
  raw?: boolean; // show a counter as it is
  per?: string; // divide by this metric, which has one value
  optional?: boolean; // say nothing if it is missing
  promql?: string; // in place of a metric: a query of the server's PromQL; {{label}} in its legend is the value of a label
  unit?: string; // of a query, as PCP writes units, "%" or "share"
  host?: string; // of another host than that of the page
  where?: Record<string, string[]>; // labels that an instance must have, each with one of these values
}

// A Threshold is a value, in bytes, seconds, counts or parts of one, from which on a value is of note.
export interface Threshold {
  value: number;
  level: Level;
  text?: string;
}

export type Level = "warn" | "bad";

export interface ChartPanel {
  kind: "chart";
  title: string;
  style: Style;
  min?: number;
  max?: number;
  top?: number; // draw so many lines, those with the largest values
  log?: boolean; // the axis is logarithmic
  scheme?: string; // the colours, by the name of a scheme
  colors?: string[]; // in place of a scheme
  thresholds?: Threshold[];
  plots: Plot[];
}

// A ValuePanel has the values of now in large digits.
export interface ValuePanel {
  kind: "value";
  title: string;
  of: Reduced;
  thresholds?: Threshold[];
  plots: Plot[];
}

// What one number is made of those of a window.
export type Reduced = "last" | "mean" | "max";
export const reduced: Reduced[] = ["last", "mean", "max"];

// A HeatPanel has a row for each instance, and a colour for each time.
export interface HeatPanel {
  kind: "heat";
  title: string;
  scheme?: string;
  max?: number; // has the last colour
  top?: number;
  buckets?: boolean; // instances are ranges of numbers, as of a histogram: the largest numbers are above
  log?: boolean;
  plots: Plot[];
}

// A TablePanel has a row for each instance, and a column for each plot; a plot may be of texts.
export interface TablePanel {
  kind: "table";
  title: string;
  rows: number;
  thresholds?: Threshold[];
  plots: Plot[];
}

// A TextPanel has headings (#), lists (-) and paragraphs.
export interface TextPanel {
  kind: "text";
  title: string;
  text: string;
}

// A Column of a list has the sum of some metrics, or if they have no values that of others.
export interface Column {
  title: string;
  metrics: string[];
  or?: string[];
}

// A ListPanel has the instances with the largest values of its first column.
export interface ListPanel {
  kind: "list";
  title: string;
  of: string; // what an instance is
  columns: Column[];
  rows: number;
}

// The panels that are made of plots.
export type PlotPanel = ChartPanel | ValuePanel | HeatPanel | TablePanel;
export type Panel = PlotPanel | ListPanel | TextPanel;

// A Variable stands, as $name, for what is chosen above the panels: hosts, instances of a metric, values of a label, or
// words. Without values it is all instances and labels, the host of the page, and the first word.
export interface Variable {
  name: string;
  title?: string;
  kind: VariableKind;
  metric?: string; // whose instances or labels are chosen
  label?: string;
  choices?: string[];
  values: string[];
}

export type VariableKind = "host" | "instance" | "label" | "choice";
export const variableKinds: VariableKind[] = ["host", "instance", "label", "choice"];

export interface Dashboard {
  title: string;
  panels: Panel[];
  variables?: Variable[];
  window?: number; // seconds that it shows when it is opened
  notes?: string[]; // what was not imported, and why
}

export const format = "go-pcp dashboard 1";
export const maxPanels = 200;
export const maxPlots = 200;
const maxVariables = 20;
const maxValues = 200; // of a variable, or of a label
const maxThresholds = 20;
const maxColors = 100;
export const maxNotes = 500;
const maxText = 16 << 10;
export const maxQuery = 8000; // characters of PromQL
export const maxTop = 100;

function text(v: unknown, what: string, optional = false, max = 4096): string | undefined {
  if (v === undefined && optional) return undefined;
  if (typeof v !== "string") throw new Error(`${what} is not a text`);
  if (v.length > max) throw new Error(`${what} is longer than ${max} characters`);
  return v;
}

function texts(v: unknown, what: string, max: number): string[] {
  return list(v, what, max).map((x, i) => text(x, `${what}[${i}]`)!);
}

function one<T extends string>(v: unknown, what: string, of: T[]): T {
  const x = of.find((o) => o === v);
  if (!x) throw new Error(`${what} is not one of ${of.join(", ")}`);
  return x;
}

function list(v: unknown, what: string, max: number): unknown[] {
  if (!Array.isArray(v)) throw new Error(`${what} is not a list`);
  if (v.length > max) throw new Error(`${what} has more than ${max} entries`);
  return v;
}

function num(v: unknown, what: string): number | undefined {
  if (v === undefined) return undefined;
  if (typeof v !== "number" || !Number.isFinite(v)) throw new Error(`${what} is not a number`);
  return v;
}

function plotOf(v: any, where: string): Plot {
  if (typeof v !== "object" || v === null) throw new Error(`${where} is not an object`);
  const p: Plot = { metric: text(v.metric, where + ".metric")! };
  const promql = text(v.promql, where + ".promql", true, maxQuery);
  if (promql !== undefined) p.promql = promql;
  if (v.instances !== undefined) p.instances = list(v.instances, where + ".instances", 4096).map((i, k) => text(i, `${where}.instances[${k}]`)!);
  for (const k of ["match", "unmatch", "legend", "color", "per", "host", "unit"] as const) {
    const s = text(v[k], `${where}.${k}`, true);
    if (s !== undefined) p[k] = s;
  }
  if (p.match !== undefined) pattern(p.match, where + ".match");
  if (p.unmatch !== undefined) pattern(p.unmatch, where + ".unmatch");
  if (v.where !== undefined) {
    if (typeof v.where !== "object" || v.where === null || Array.isArray(v.where)) throw new Error(`${where}.where is not an object`);
    const labels = Object.entries(v.where);
    if (labels.length > maxValues) throw new Error(`${where}.where has more than ${maxValues} entries`);
    p.where = Object.fromEntries(labels.map(([k, x]) => [text(k, where + ".where")!, texts(x, `${where}.where[${JSON.stringify(k.slice(0, 60))}]`, maxValues)]));
  }
  if (v.raw === true) p.raw = true;
  if (v.optional === true) p.optional = true;
  return p;
}

function pattern(p: string, where: string): void {
  try {
    compile(p);
  } catch (e) {
    throw new Error(`${where}: ${e instanceof Error ? e.message : e}`);
  }
}

function panelOf(v: any, where: string): Panel {
  if (typeof v !== "object" || v === null) throw new Error(`${where} is not an object`);
  const title = text(v.title, where + ".title")!;
  if (v.kind === "list") {
    const columns = list(v.columns, where + ".columns", 20).map((c: any, i) => ({
      title: text(c?.title, `${where}.columns[${i}].title`)!,
      metrics: list(c?.metrics, `${where}.columns[${i}].metrics`, 20).map((m) => text(m, `${where}.columns[${i}].metrics`)!),
      ...(c?.or === undefined ? {} : { or: list(c.or, `${where}.columns[${i}].or`, 20).map((m) => text(m, `${where}.columns[${i}].or`)!) }),
    }));
    if (!columns.length) throw new Error(`${where}.columns is empty`);
    return { kind: "list", title, of: text(v.of, where + ".of")!, columns, rows: Math.min(100, Math.max(1, num(v.rows, where + ".rows") ?? 10)) };
  }
  if (v.kind === "text") return { kind: "text", title, text: text(v.text, where + ".text", false, maxText)! };
  const kind = one(v.kind, where + ".kind", ["chart", "value", "heat", "table"]);
  const plots = () => list(v.plots, where + ".plots", maxPlots).map((p, i) => plotOf(p, `${where}.plots[${i}]`));
  const min = num(v.min, where + ".min");
  const max = num(v.max, where + ".max");
  const topOf = num(v.top, where + ".top");
  const top = topOf === undefined ? undefined : Math.min(maxTop, Math.max(1, Math.round(topOf)));
  const scheme = text(v.scheme, where + ".scheme", true);
  const thresholds = v.thresholds === undefined ? undefined : list(v.thresholds, where + ".thresholds", maxThresholds).map((t, i) => thresholdOf(t, `${where}.thresholds[${i}]`));
  const given = <T extends object>(o: T): Partial<T> => Object.fromEntries(Object.entries(o).filter(([, x]) => x !== undefined)) as Partial<T>;
  switch (kind) {
    case "value":
      return { kind, title, of: v.of === undefined ? "last" : one(v.of, where + ".of", reduced), plots: plots(), ...given({ thresholds }) };
    case "heat":
      return { kind, title, plots: plots(), ...given({ scheme, max, top, buckets: v.buckets === true ? true : undefined, log: v.log === true ? true : undefined }) };
    case "table":
      return { kind, title, rows: Math.min(1000, Math.max(1, Math.round(num(v.rows, where + ".rows") ?? 20))), plots: plots(), ...given({ thresholds }) };
  }
  const style = one(v.style, where + ".style", styles);
  if (v.log === true && (style === "stack" || style === "share")) throw new Error(`${where}: a ${style} has no logarithmic axis`);
  const colors = v.colors === undefined ? undefined : texts(v.colors, where + ".colors", maxColors);
  return { kind, title, style, plots: plots(), ...given({ min, max, top, log: v.log === true ? true : undefined, scheme, colors, thresholds }) };
}

function thresholdOf(v: any, where: string): Threshold {
  if (typeof v !== "object" || v === null) throw new Error(`${where} is not an object`);
  const value = num(v.value, where + ".value");
  if (value === undefined) throw new Error(`${where}.value is not a number`);
  const t: Threshold = { value, level: v.level === undefined ? "bad" : one(v.level, where + ".level", ["warn", "bad"]) };
  const words = text(v.text, where + ".text", true);
  if (words !== undefined) t.text = words;
  return t;
}

export const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,60}$/;

function variableOf(v: any, where: string): Variable {
  if (typeof v !== "object" || v === null) throw new Error(`${where} is not an object`);
  const name = text(v.name, where + ".name")!;
  if (!variableName.test(name)) throw new Error(`${where}.name is not a name of letters, digits and _`);
  const x: Variable = { name, kind: one(v.kind, where + ".kind", variableKinds), values: texts(v.values ?? [], where + ".values", maxValues) };
  for (const k of ["title", "metric", "label"] as const) {
    const s = text(v[k], `${where}.${k}`, true);
    if (s !== undefined) x[k] = s;
  }
  if (v.choices !== undefined) x.choices = texts(v.choices, where + ".choices", maxValues);
  if ((x.kind === "instance" || x.kind === "label") && !x.metric) throw new Error(`${where}.metric is missing`);
  if (x.kind === "label" && !x.label) throw new Error(`${where}.label is missing`);
  if (x.kind === "choice" && !x.choices?.length) throw new Error(`${where}.choices is empty`);
  return x;
}

// readDashboard checks what was read from a file, a link or the browser's storage.
export function readDashboard(v: any): Dashboard {
  if (typeof v !== "object" || v === null) throw new Error("not a dashboard");
  if (v.format !== undefined && v.format !== format) throw new Error(`the format is ${JSON.stringify(v.format)}, not ${JSON.stringify(format)}`);
  const d: Dashboard = {
    title: text(v.title, "title")!,
    panels: list(v.panels, "panels", maxPanels).map((p, i) => panelOf(p, `panels[${i}]`)),
  };
  if (v.variables !== undefined) {
    d.variables = list(v.variables, "variables", maxVariables).map((x, i) => variableOf(x, `variables[${i}]`));
    const names = d.variables.map((x) => x.name);
    const twice = names.find((n, i) => names.indexOf(n) !== i);
    if (twice) throw new Error(`there are two variables ${twice}`);
  }
  const window = num(v.window, "window");
  if (window !== undefined) d.window = Math.min(366 * 86400, Math.max(10, window));
  if (v.notes !== undefined) d.notes = texts(v.notes, "notes", maxNotes);
  return d;
}

export function writeDashboard(d: Dashboard): string {
  return JSON.stringify({ format, ...d }, null, 2) + "\n";
}

// parseMetric reads what a user types: NAME or NAME[instance,instance].
export function parseMetric(s: string): Plot | null {
  const m = /^([A-Za-z][A-Za-z0-9_.]*)(?:\[(.*)\])?$/.exec(s.trim());
  if (!m) return null;
  const p: Plot = { metric: m[1] };
  if (m[2] !== undefined) {
    const names = m[2].split(",").map((x) => x.trim().replace(/^"(.*)"$/, "$1")).filter(Boolean);
    if (names.length) p.instances = names;
  }
  return p;
}

export function chartOf(...plots: Plot[]): ChartPanel {
  return { kind: "chart", title: plots.map((p) => p.metric).join(", "), style: "line", plots };
}
