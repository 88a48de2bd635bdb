// The cards of a dashboard, and the dialog that changes one.

import { h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart, type Exporter } from "./chart";
import { useApp, useFeedVersion } from "./context";
import { maxLines } from "./lines";
import { maxTop, parseMetric, styles, type ChartPanel, type ListPanel, type Panel } from "./dashboard";
import { subjectOf, Table } from "./activity";
import { Typeahead } from "./typeahead";

const styleNames: Record<string, string> = { line: "Lines", area: "Areas", stack: "Stacked", share: "Shares of 100 %", bar: "Bars" };

export function Card(props: { panel: Panel; own: boolean; fixed?: boolean; onChange?: (p: Panel | null) => void; onMove?: (by: number) => void }) {
  const { feed, say, addChart } = useApp();
  const [editing, setEditing] = useState(false);
  const [large, setLarge] = useState(false);
  const p = props.panel;
  const title = p.title.replace(/%[hH]/g, feed.host);
  const exporter = useRef<Exporter | null>(null);
  return (
    <section class={"card" + (large ? " large" : "")} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {p.kind === "chart" && (
          <details class="menu" onToggle={(e) => menu(e.currentTarget)}>
            <summary class="icon" aria-label={`Save ${title}`} title="Save as a picture or as numbers">
              ⤓
            </summary>
            <div>
              {(["png", "svg", "csv"] as const).map((as) => (
                <button
                  key={as}
                  type="button"
                  onClick={(e) => {
                    exporter.current?.(as);
                    e.currentTarget.closest("details")!.open = false;
                  }}
                >
                  {as.toUpperCase()}
                </button>
              ))}
            </div>
          </details>
        )}
        {p.kind === "chart" && (
          <button type="button" class="icon" aria-pressed={large} aria-label={large ? `Make ${title} small` : `Make ${title} large`} title={large ? "Small" : "Large"} onClick={() => setLarge(!large)}>
            {large ? "⤡" : "⤢"}
          </button>
        )}
        {p.kind === "chart" && !props.own && !props.fixed && (
          <button type="button" class="icon" aria-label={`Add ${title} to my charts`} title="Add to my charts" onClick={() => {
              addChart(...p.plots);
              say(`${title} is among the charts`);
            }}>
            +
          </button>
        )}
        {props.own && (
          <button type="button" class="icon" aria-label={`Edit ${title}`} title="Edit" onClick={() => setEditing(true)}>
            ✎
          </button>
        )}
        {props.own && (
          <button type="button" class="icon" aria-label={`Remove ${title}`} title="Remove" onClick={() => props.onChange?.(null)}>
            ✕
          </button>
        )}
      </header>
      {p.kind === "chart" ? <Chart panel={p} tall={large} exporter={exporter} /> : <List panel={p} />}
      {editing && p.kind === "chart" && (
        <Edit
          panel={p}
          onMove={props.onMove}
          onDone={(q) => {
            setEditing(false);
            if (q) props.onChange?.(q);
          }}
        />
      )}
      {editing && p.kind === "list" && <EditTitle panel={p} onDone={(q) => { setEditing(false); if (q) props.onChange?.(q); }} />}
    </section>
  );
}

// menu closes a menu when something else is clicked or gets the focus.
function menu(d: HTMLDetailsElement): void {
  if (!d.open) return;
  const close = (e: Event) => {
    if (e.type === "keydown" ? (e as KeyboardEvent).key !== "Escape" : d.contains(e.target as Node)) return;
    d.open = false;
    for (const t of ["click", "focusin", "keydown"]) removeEventListener(t, close, true);
  };
  for (const t of ["click", "focusin", "keydown"]) addEventListener(t, close, true);
}

function List(props: { panel: ListPanel }) {
  const subject = useMemo(() => subjectOf(props.panel), [props.panel]);
  return <Table subject={subject} rows={props.panel.rows} />;
}

// Dialog is a window over the page; Escape and Cancel close it.
export function Dialog(props: { title: string; onClose: () => void; children: any }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    ref.current?.showModal();
  }, []);
  return (
    <dialog ref={ref} aria-label={props.title} onClose={props.onClose} onClick={(e) => e.target === ref.current && ref.current?.close()}>
      <div class="inside">
        <header>
          <h2>{props.title}</h2>
          <button type="button" class="icon" aria-label="Close" onClick={() => ref.current?.close()}>
            ✕
          </button>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}

function EditTitle<P extends Panel>(props: { panel: P; onDone: (p: P | null) => void }) {
  const [title, setTitle] = useState(props.panel.title);
  return (
    <Dialog title="Edit" onClose={() => props.onDone(null)}>
      <label class="field">
        Title <input value={title} onInput={(e) => setTitle(e.currentTarget.value)} />
      </label>
      <p class="buttons">
        <button type="button" class="primary" onClick={() => props.onDone({ ...props.panel, title })}>
          Done
        </button>
      </p>
    </Dialog>
  );
}

function Edit(props: { panel: ChartPanel; onMove?: (by: number) => void; onDone: (p: ChartPanel | null) => void }) {
  const { feed } = useApp();
  useFeedVersion();
  const [p, setP] = useState<ChartPanel>(props.panel);
  const change = (more: Partial<ChartPanel>) => setP((q) => ({ ...q, ...more }));
  const plots = (f: (list: ChartPanel["plots"]) => ChartPanel["plots"]) => setP((q) => ({ ...q, plots: f(q.plots) }));
  const limit = (s: string): number | undefined => (s.trim() !== "" && Number.isFinite(Number(s)) ? Number(s) : undefined);
  useEffect(() => feed.want(p.plots.map((x) => x.metric), false), [feed, p.plots.map((x) => x.metric).join(" ")]);
  return (
    <Dialog title="Edit chart" onClose={() => props.onDone(null)}>
      <div class="fields">
        <label class="field">
          Title <input value={p.title} onInput={(e) => change({ title: e.currentTarget.value })} />
        </label>
        <label class="field">
          Style{" "}
          <select value={p.style} onChange={(e) => change({ style: e.currentTarget.value as ChartPanel["style"] })}>
            {styles.map((s) => (
              <option key={s} value={s}>
                {styleNames[s]}
              </option>
            ))}
          </select>
        </label>
        <label class="field short">
          Lowest <input inputMode="decimal" placeholder="auto" value={p.min ?? ""} onChange={(e) => change({ min: limit(e.currentTarget.value) })} />
        </label>
        <label class="field short">
          Highest <input inputMode="decimal" placeholder="auto" value={p.max ?? ""} onChange={(e) => change({ max: limit(e.currentTarget.value) })} />
        </label>
        <label class="field short">
          Largest lines <input inputMode="numeric" placeholder={String(maxLines)} value={p.top ?? ""} onChange={(e) => { const n = limit(e.currentTarget.value); change({ top: n === undefined ? undefined : Math.min(maxTop, Math.max(1, Math.round(n))) }); }} />
        </label>
      </div>
      <ul class="plots">
        {p.plots.map((x, n) => {
          const insts = [...(feed.table(x.metric)?.series.keys() ?? [])].filter((i) => i !== "");
          const set = (more: Partial<typeof x>) => plots((l) => l.map((y, k) => (k === n ? { ...y, ...more } : y)));
          return (
            <li key={n}>
              <div class="bar">
                <strong class="name">{x.metric}</strong>
                <label class="check">
                  <input type="checkbox" checked={!!x.raw} onChange={(e) => set({ raw: e.currentTarget.checked || undefined })} /> as it is, no rate
                </label>
                <button type="button" class="icon" aria-label={`Remove ${x.metric}`} onClick={() => plots((l) => l.filter((_, k) => k !== n))}>
                  ✕
                </button>
              </div>
              <label class="field">
                Legend <input placeholder="%i instance, %m metric" value={x.legend ?? ""} onInput={(e) => set({ legend: e.currentTarget.value || undefined })} />
              </label>
              {insts.length > 0 && (
                <fieldset>
                  <legend>{x.instances ? `${x.instances.length} of ${insts.length} instances` : `all ${insts.length} instances`}</legend>
                  <div class="insts">
                    {insts.slice(0, 300).map((i) => (
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
                        <span class="name">{i}</span>
                      </label>
                    ))}
                  </div>
                  <button type="button" onClick={() => set({ instances: x.instances ? undefined : [] })}>
                    {x.instances ? "All" : "None"}
                  </button>
                </fieldset>
              )}
            </li>
          );
        })}
      </ul>
      <Typeahead label="Add a metric to this chart" placeholder="Add a metric" onPick={(s) => { const q = parseMetric(s); if (q) plots((l) => [...l, q]); return !!q; }} />
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
        <button type="button" onClick={() => props.onDone(null)}>
          Cancel
        </button>
        <button type="button" class="primary" onClick={() => props.onDone(p)}>
          Done
        </button>
      </p>
    </Dialog>
  );
}

