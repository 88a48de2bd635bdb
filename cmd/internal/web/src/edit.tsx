// The dialogs that change a panel.

import { h, type ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useApp, useFeedVersion } from "./context";
import { maxQuery, maxTop, parseMetric, reduced, styles, type ChartPanel, type ListPanel, type Plot, type PlotPanel, type Style, type TextPanel, type Threshold, type Variable } from "./dashboard";
import { Dialog } from "./dialog";
import { labelText, maxLines, sourceOf, wantKey, wantPlots } from "./lines";
import { rampNames, schemeNames } from "./schemes";
import { plain } from "./time";
import { Typeahead } from "./typeahead";

// The ways to show plots: styles of charts, and other kinds of panels.
const shapes: [string, string][] = [
  ["line", "Lines"],
  ["area", "Areas"],
  ["stack", "Stacked"],
  ["share", "Shares of 100 %"],
  ["bar", "Bars"],
  ["heat", "Heat map"],
  ["value", "Single values"],
  ["table", "Table"],
];
const reducedNames = { last: "last", mean: "mean of the window", max: "maximum of the window" };

function shapeOf(p: PlotPanel): string {
  return p.kind === "chart" ? p.style : p.kind;
}

// turned makes a panel of another kind with the same plots.
function turned(p: PlotPanel, to: string): PlotPanel {
  const { title, plots } = p;
  const thresholds = "thresholds" in p && p.thresholds ? { thresholds: p.thresholds } : {};
  if (to === "value") return { kind: "value", title, plots, of: "last", ...thresholds };
  if (to === "table") return { kind: "table", title, plots, rows: 20, ...thresholds };
  if (to === "heat") return { kind: "heat", title, plots };
  const style = styles.find((s) => s === to) as Style;
  const before: Partial<ChartPanel> = p.kind === "chart" ? { ...p } : {};
  if (style === "stack" || style === "share") delete before.log;
  return { ...before, kind: "chart", title, style, plots, ...thresholds };
}

function number(s: string): number | undefined {
  return s.trim() !== "" && Number.isFinite(Number(s)) ? Number(s) : undefined;
}

function Buttons(props: { onMove?: (by: number) => void; onCancel: () => void; onDone: () => void }) {
  return (
    <p class="buttons">
      {props.onMove && (
        <button type="button" onClick={() => props.onMove?.(-1)}>
          ← Earlier
        </button>
      )}
      {props.onMove && (
        <button type="button" onClick={() => props.onMove?.(1)}>
          Later →
        </button>
      )}
      <span class="grow" />
      <button type="button" onClick={props.onCancel}>
        Cancel
      </button>
      <button type="button" class="primary" onClick={props.onDone}>
        Done
      </button>
    </p>
  );
}

export function EditTitle(props: { panel: ListPanel | TextPanel; onMove?: (by: number) => void; onDone: (p: ListPanel | TextPanel | null) => void }) {
  const [p, setP] = useState(props.panel);
  return (
    <Dialog title="Edit" onClose={() => props.onDone(null)}>
      <label class="field">
        Title <input value={p.title} maxLength={4000} onInput={(e) => setP({ ...p, title: e.currentTarget.value })} />
      </label>
      {p.kind === "text" && (
        <label class="field">
          Text, with # before a heading and - before an entry of a list
          <textarea rows={10} maxLength={16000} value={p.text} onInput={(e) => setP({ ...p, text: e.currentTarget.value })} />
        </label>
      )}
      <Buttons onMove={props.onMove} onCancel={() => props.onDone(null)} onDone={() => props.onDone(p)} />
    </Dialog>
  );
}

function Select(props: { label: string; value: string; of: [string, string][]; onPick: (s: string) => void }) {
  return (
    <label class="field">
      {props.label}{" "}
      <select value={props.value} onChange={(e) => props.onPick(e.currentTarget.value)}>
        {props.of.map(([k, title]) => (
          <option key={k} value={k}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

function Field(props: { label: string; value: number | undefined; placeholder?: string; onPick: (n: number | undefined) => void }) {
  return (
    <label class="field short">
      {props.label} <input inputMode="decimal" placeholder={props.placeholder ?? "auto"} value={props.value ?? ""} onChange={(e) => props.onPick(number(e.currentTarget.value))} />
    </label>
  );
}

export function Edit(props: { panel: PlotPanel; variables: Variable[]; onMove?: (by: number) => void; onDone: (p: PlotPanel | null) => void }) {
  const { feed } = useApp();
  useFeedVersion();
  const [p, setP] = useState<PlotPanel>(props.panel);
  const change = (more: object) => setP((q) => ({ ...q, ...more }) as PlotPanel);
  const plots = (f: (list: Plot[]) => Plot[]) => setP((q) => ({ ...q, plots: f(q.plots) }));
  const fixed = p.plots.filter((x) => !/\$/.test(x.metric + (x.host ?? "")));
  useEffect(() => wantPlots(feed, fixed, false), [feed, wantKey(fixed)]);
  const count = (n: number | undefined, max: number) => (n === undefined ? undefined : Math.min(max, Math.max(1, Math.round(n))));
  const flat = p.kind === "chart" && (p.style === "stack" || p.style === "share");
  return (
    <Dialog title="Edit chart" onClose={() => props.onDone(null)}>
      <div class="fields">
        <label class="field">
          Title <input value={p.title} maxLength={4000} onInput={(e) => change({ title: e.currentTarget.value })} />
        </label>
        <Select label="Style" value={shapeOf(p)} of={shapes} onPick={(s) => setP((q) => turned(q, s))} />
        {p.kind === "chart" && <Field label="Lowest" value={p.min} onPick={(min) => change({ min })} />}
        {(p.kind === "chart" || p.kind === "heat") && <Field label="Highest" value={p.max} onPick={(max) => change({ max })} />}
        {(p.kind === "chart" || p.kind === "heat") && <Field label={p.kind === "heat" ? "Largest rows" : "Largest lines"} placeholder={String(maxLines)} value={p.top} onPick={(n) => change({ top: count(n, maxTop) })} />}
        {p.kind === "table" && <Field label="Rows" value={p.rows} onPick={(n) => change({ rows: count(n, 1000) ?? 20 })} />}
        {p.kind === "value" && <Select label="Value" value={p.of} of={reduced.map((r): [string, string] => [r, reducedNames[r]])} onPick={(of) => change({ of })} />}
        {(p.kind === "chart" || p.kind === "heat") && (
          <Select label="Colours" value={p.scheme ?? ""} of={[...(p.kind === "heat" ? rampNames : schemeNames), ...("colors" in p && p.colors ? [["own", "Own"] as [string, string]] : [])]} onPick={(s) => s !== "own" && change({ scheme: s || undefined, ...(p.kind === "chart" ? { colors: undefined } : {}) })} />
        )}
        {(p.kind === "chart" || p.kind === "heat") && (
          <label class="check">
            <input type="checkbox" checked={!!p.log} disabled={flat} onChange={(e) => change({ log: e.currentTarget.checked || undefined })} /> logarithmic
          </label>
        )}
      </div>
      {p.kind !== "heat" && <Thresholds list={p.thresholds ?? []} onChange={(thresholds) => change({ thresholds: thresholds.length ? thresholds : undefined })} />}
      <datalist id="hostvars">
        {props.variables.filter((v) => v.kind === "host").map((v) => (
          <option key={v.name} value={"$" + v.name} />
        ))}
      </datalist>
      <ul class="plots">
        {p.plots.map((x, n) => (
          <EditPlot key={n} plot={x} variables={props.variables} onChange={(y) => plots((l) => (y ? l.map((z, k) => (k === n ? y : z)) : l.filter((_, k) => k !== n)))} />
        ))}
      </ul>
      <p>
        <button type="button" onClick={() => plots((l) => [...l, { metric: "", promql: "" }])}>
          Add a query (PromQL)
        </button>
      </p>
      <Typeahead label="Add a metric to this chart" placeholder="Add a metric" onPick={(s) => { const q = parseMetric(s); if (q) plots((l) => [...l, q]); return !!q; }} />
      <Buttons onMove={props.onMove} onCancel={() => props.onDone(null)} onDone={() => props.onDone(p)} />
    </Dialog>
  );
}

function Thresholds(props: { list: Threshold[]; onChange: (list: Threshold[]) => void }) {
  const { list, onChange } = props;
  const set = (n: number, more: Partial<Threshold>) => onChange(list.map((t, k) => (k === n ? { ...t, ...more } : t)));
  return (
    <fieldset class="thresholds">
      <legend>Thresholds, in bytes, seconds and counts; 0.9 is 90 %</legend>
      {list.map((t, n) => (
        <div class="bar" key={n}>
          <input aria-label={`Value of threshold ${n + 1}`} inputMode="decimal" value={t.value} onChange={(e) => { const v = number(e.currentTarget.value); if (v !== undefined) set(n, { value: v }); else e.currentTarget.value = String(t.value); }} />
          <select aria-label={`Colour of threshold ${n + 1}`} value={t.level} onChange={(e) => set(n, { level: e.currentTarget.value === "warn" ? "warn" : "bad" })}>
            <option value="warn">warning</option>
            <option value="bad">critical</option>
          </select>
          <input aria-label={`Name of threshold ${n + 1}`} placeholder="name" maxLength={200} value={t.text ?? ""} onInput={(e) => set(n, { text: e.currentTarget.value || undefined })} />
          <button type="button" class="icon" aria-label={`Remove threshold ${n + 1}`} onClick={() => onChange(list.filter((_, k) => k !== n))}>
            ✕
          </button>
        </div>
      ))}
      <button type="button" disabled={list.length >= 20} onClick={() => onChange([...list, { value: 1, level: "bad" }])}>
        Add a threshold
      </button>
    </fieldset>
  );
}

const shown = 300; // instances to choose among

function EditPlot(props: { plot: Plot; variables: Variable[]; onChange: (p: Plot | null) => void }) {
  const { feed } = useApp();
  const x = props.plot;
  const f = feed.of(x.host?.includes("$") ? undefined : x.host) ?? feed;
  const m = f.metas.get(x.metric);
  const insts = [...(f.table(x.metric)?.series.keys() ?? [])].filter((i) => i !== "");
  const set = (more: Partial<Plot>) => {
    const q = { ...x, ...more } as Record<string, unknown>;
    for (const k in q) if (q[k] === undefined) delete q[k];
    props.onChange(q as unknown as Plot);
  };
  const instanceVars = props.variables.filter((v) => v.kind === "instance");
  const labelVars = props.variables.filter((v) => v.kind === "label");
  const by = x.instances?.length === 1 && x.instances[0].startsWith("$") ? x.instances[0] : "";
  let picker: ComponentChildren = null;
  if (insts.length > 0 && !by)
    picker = (
      <fieldset>
        <legend>{x.instances ? `${x.instances.length} of ${insts.length} instances` : `all ${insts.length} instances`}</legend>
        <div class="insts">
          {insts.slice(0, shown).map((i) => (
            <label class="check" key={i}>
              <input
                type="checkbox"
                checked={!x.instances || x.instances.includes(i)}
                onChange={(e) => {
                  const now = new Set(x.instances ?? insts);
                  if (e.currentTarget.checked) now.add(i);
                  else now.delete(i);
                  set({ instances: now.size === insts.length ? undefined : [...now] });
                }}
              />
              <span class="name">{plain(i)}</span>
            </label>
          ))}
        </div>
        <button type="button" onClick={() => set({ instances: x.instances ? undefined : [] })}>
          {x.instances ? "All" : "None"}
        </button>
      </fieldset>
    );
  return (
    <li>
      <div class="bar">
        <strong class="name">{x.promql === undefined ? x.metric : "PromQL"}</strong>
        {x.promql === undefined && (
          <label class="check">
            <input type="checkbox" checked={!!x.raw} onChange={(e) => set({ raw: e.currentTarget.checked || undefined })} /> as it is, no rate
          </label>
        )}
        <button type="button" class="icon" aria-label={`Remove ${sourceOf(x)}`} onClick={() => props.onChange(null)}>
          ✕
        </button>
      </div>
      <div class="fields">
        <label class="field">
          Legend <input placeholder={x.promql === undefined ? "%i instance, %m metric" : "{{label}}"} maxLength={4000} value={x.legend ?? ""} onInput={(e) => set({ legend: e.currentTarget.value || undefined })} />
        </label>
        {x.promql !== undefined && (
          <label class="field">
            Query <input maxLength={maxQuery} spellcheck={false} value={x.promql} onChange={(e) => set({ promql: e.currentTarget.value })} />
          </label>
        )}
        {x.promql !== undefined && (
          <label class="field">
            Unit <input placeholder="byte / sec, sec, %" maxLength={60} value={x.unit ?? ""} onChange={(e) => set({ unit: e.currentTarget.value.trim() || undefined })} />
          </label>
        )}
        {x.promql === undefined && (
        <label class="field">
          Host <input placeholder="that of the page" maxLength={4000} list="hostvars" value={x.host ?? ""} onChange={(e) => set({ host: e.currentTarget.value.trim() || undefined })} />
        </label>
        )}
        {instanceVars.length > 0 && (
          <Select label="Instances" value={by} of={[["", "as below"], ...instanceVars.map((v): [string, string] => ["$" + v.name, "$" + v.name])]} onPick={(s) => set({ instances: s ? [s] : undefined })} />
        )}
        {labelVars.map((v) => (
          <label class="check" key={v.name}>
            <input
              type="checkbox"
              checked={!!x.where?.[v.label!]?.includes("$" + v.name)}
              onChange={(e) => {
                const where = { ...x.where };
                if (e.currentTarget.checked) where[v.label!] = ["$" + v.name];
                else delete where[v.label!];
                set({ where: Object.keys(where).length ? where : undefined });
              }}
            />{" "}
            {v.label} is ${v.name}
          </label>
        ))}
      </div>
      {m && x.where && Object.keys(x.where).length > 0 && (
        <p class="note">Only instances with {Object.entries(x.where).map(([k, l]) => `${k} = ${l.map((s) => labelText(s)).join(" or ")}`).map((s) => plain(s)).join(", ")}.</p>
      )}
      {picker}
    </li>
  );
}
