// Variables of a dashboard, and panels with the chosen values in their place.

import type { Dashboard, Panel, Plot, Variable } from "./dashboard";

const maxMade = 200; // plots that one plot becomes

// known is what stands for a variable that has no values: for a word the first, otherwise everything.
function valuesOf(v: Variable): string[] {
  return v.values.length || v.kind !== "choice" ? v.values : (v.choices ?? []).slice(0, 1);
}

const mention = /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

// whole returns the variable of which a text is nothing but the name.
function whole(s: string | undefined, by: Map<string, Variable>): Variable | undefined {
  const m = /^\$(?:\{(\w+)\}|(\w+))$/.exec(s ?? "");
  return m ? by.get(m[1] ?? m[2]) : undefined;
}

// fill puts values in the place of variables in a text.
function fill(s: string, by: Map<string, Variable>, write: (values: string[]) => string): string {
  return s.replace(mention, (all, a, b) => {
    const v = by.get(a ?? b);
    return v ? write(valuesOf(v)) : all;
  });
}

function quoted(values: string[]): string {
  return values.length ? `(?:${values.map((x) => x.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|")})` : ".*";
}

// inQuery writes values into a text of a query: one as it is, several as a regular expression.
function inQuery(values: string[]): string {
  const text = values.length === 1 ? values[0] : values.length ? `(${values.map((x) => x.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|")})` : ".*";
  return text.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n");
}

function spoken(values: string[]): string {
  return values.length ? values.join(", ") : "all";
}

// mentions reports whether a text has a variable.
function mentions(s: string | undefined, v: Variable): boolean {
  return s !== undefined && [...s.matchAll(mention)].some((m) => (m[1] ?? m[2]) === v.name);
}

// fillPlot makes the plots of one with variables: one for each host and each word in the name of its metric.
function fillPlot(p: Plot, by: Map<string, Variable>): Plot[] {
  let list: Plot[] = [p];
  for (const v of by.values()) {
    const own = v.kind === "host" ? mentions(p.host, v) : v.kind === "choice" && (mentions(p.metric, v) || mentions(p.host, v));
    if (!own) continue;
    const values = valuesOf(v);
    if (v.kind === "host" && !values.length) {
      list = list.map(({ host: _, ...q }) => q);
      continue;
    }
    list = list
      .flatMap((q) =>
        values.map((x) => {
          const one = new Map([[v.name, { ...v, values: [x] }]]);
          const put = (s: string) => fill(s, one, ([y]) => y ?? "");
          return { ...q, metric: put(q.metric), ...(q.host === undefined ? {} : { host: put(q.host) }), ...(q.legend === undefined ? {} : { legend: put(q.legend) }) };
        }),
      )
      .slice(0, maxMade);
  }
  return list.map((q) => {
    const out: Plot = { ...q };
    if (q.legend !== undefined) out.legend = fill(q.legend, by, spoken);
    if (q.promql !== undefined) out.promql = fill(q.promql, by, inQuery);
    if (q.match !== undefined) out.match = fill(q.match, by, quoted);
    if (q.unmatch !== undefined) out.unmatch = fill(q.unmatch, by, quoted);
    if (q.instances) {
      const all = q.instances.flatMap((i) => {
        const v = whole(i, by);
        if (!v) return [i];
        const values = valuesOf(v);
        return values.length ? values : [null];
      });
      if (all.includes(null)) delete out.instances;
      else out.instances = all as string[];
    }
    if (q.where) {
      const where: Record<string, string[]> = {};
      for (const [label, list] of Object.entries(q.where)) {
        const values = list.flatMap((i) => {
          const v = whole(i, by);
          if (!v) return [i];
          const x = valuesOf(v);
          return x.length ? x : [null];
        });
        if (!values.includes(null)) where[label] = values as string[];
      }
      if (Object.keys(where).length) out.where = where;
      else delete out.where;
    }
    return out;
  });
}

// filled returns a panel with the values of variables in it.
export function filled(p: Panel, d: Dashboard): Panel {
  if (!d.variables?.length) return p;
  const by = new Map(d.variables.map((v) => [v.name, v]));
  const title = fill(p.title, by, spoken);
  if (p.kind === "text") return { ...p, title, text: fill(p.text, by, spoken) };
  if (p.kind === "list") return { ...p, title };
  return { ...p, title, plots: p.plots.flatMap((q) => fillPlot(q, by)).slice(0, maxMade) };
}
