// Dashboards: what is shown, as data that can be saved, sent and read back.

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
}

export interface ChartPanel {
  kind: "chart";
  title: string;
  style: Style;
  min?: number;
  max?: number;
  top?: number; // draw so many lines, those with the largest values
  plots: Plot[];
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

export type Panel = ChartPanel | ListPanel;

export interface Dashboard {
  title: string;
  panels: Panel[];
}

const format = "go-pcp dashboard 1";
const maxPanels = 200;
const maxPlots = 200;
export const maxTop = 100;

function text(v: unknown, what: string, optional = false): string | undefined {
  if (v === undefined && optional) return undefined;
  if (typeof v !== "string" || v.length > 4096) throw new Error(`${what} is not a text`);
  return v;
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
  if (v.instances !== undefined) p.instances = list(v.instances, where + ".instances", 4096).map((i, k) => text(i, `${where}.instances[${k}]`)!);
  for (const k of ["match", "unmatch", "legend", "color", "per"] as const) {
    const s = text(v[k], `${where}.${k}`, true);
    if (s !== undefined) p[k] = s;
  }
  if (p.match !== undefined) pattern(p.match, where + ".match");
  if (p.unmatch !== undefined) pattern(p.unmatch, where + ".unmatch");
  if (v.raw === true) p.raw = true;
  if (v.optional === true) p.optional = true;
  return p;
}

function pattern(p: string, where: string): void {
  try {
    new RegExp(p);
  } catch {
    throw new Error(`${where}: ${JSON.stringify(p)} is not a regular expression`);
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
  if (v.kind !== "chart") throw new Error(`${where}.kind is neither "chart" nor "list"`);
  if (!styles.includes(v.style)) throw new Error(`${where}.style is not one of ${styles.join(", ")}`);
  const c: ChartPanel = { kind: "chart", title, style: v.style, plots: list(v.plots, where + ".plots", maxPlots).map((p, i) => plotOf(p, `${where}.plots[${i}]`)) };
  const min = num(v.min, where + ".min");
  const max = num(v.max, where + ".max");
  if (min !== undefined) c.min = min;
  if (max !== undefined) c.max = max;
  const top = num(v.top, where + ".top");
  if (top !== undefined) c.top = Math.min(maxTop, Math.max(1, Math.round(top)));
  return c;
}

// readDashboard checks what was read from a file, a link or the browser's storage.
export function readDashboard(v: any): Dashboard {
  if (typeof v !== "object" || v === null) throw new Error("not a dashboard");
  if (v.format !== undefined && v.format !== format) throw new Error(`the format is ${JSON.stringify(v.format)}, not ${JSON.stringify(format)}`);
  return {
    title: text(v.title, "title")!,
    panels: list(v.panels, "panels", maxPanels).map((p, i) => panelOf(p, `panels[${i}]`)),
  };
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
