// The cards of a dashboard, and the dialog that changes one.

import { h } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { Chart, type Exporter, type Peak } from "./chart";
import { AppContext, useApp, useFeedVersion, type Against, type App } from "./context";
import { filled } from "./variables";
import type { ChartPanel, Dashboard, ListPanel, Panel } from "./dashboard";
import { subjectOf, Table, useVersion } from "./activity";
import { Edit, EditTitle } from "./edit";
import { DataTable, Heat, Values, Words } from "./kinds";
import { plain } from "./time";

export function Card(props: { panel: Panel; own: boolean; fixed?: boolean; of?: Dashboard; onChange?: (p: Panel | null) => void; onMove?: (by: number) => void }) {
  const { feed, say, addChart, against } = useApp();
  const [editing, setEditing] = useState(false);
  const [large, setLarge] = useState(false);
  const p = useMemo(() => (props.of ? filled(props.panel, props.of) : props.panel), [props.panel, props.of?.variables]);
  const title = plain(p.title.replace(/%[hH]/g, feed.host));
  const exporter = useRef<Exporter | null>(null);
  return (
    <section class={"card" + (large || (p.kind === "text" && !p.text.trim()) ? " large" : "")} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {p.kind !== "list" && p.kind !== "text" && (
          <details class="menu" onToggle={(e) => menu(e.currentTarget)}>
            <summary class="icon" aria-label={`Save ${title}`} title="Save as a picture or as numbers">
              ⤓
            </summary>
            <div>
              {(["png", "svg", "csv", "json"] as const).map((as) => (
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
        {p.kind !== "list" && (
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
      {p.kind === "chart" && (props.fixed || !against) && <Chart panel={p} tall={large} exporter={exporter} />}
      {p.kind === "chart" && !props.fixed && against && <Compared panel={p} tall={large} exporter={exporter} against={against} />}
      {p.kind === "value" && <Values panel={p} exporter={exporter} />}
      {p.kind === "heat" && <Heat panel={p} exporter={exporter} />}
      {p.kind === "table" && <DataTable panel={p} exporter={exporter} />}
      {p.kind === "text" && <Words panel={p} />}
      {p.kind === "list" && <List panel={p} />}
      {editing && props.panel.kind !== "list" && props.panel.kind !== "text" && (
        <Edit
          panel={props.panel}
          variables={props.of?.variables ?? []}
          onMove={props.onMove}
          onDone={(q) => {
            setEditing(false);
            if (q) props.onChange?.(q);
          }}
        />
      )}
      {editing && (props.panel.kind === "list" || props.panel.kind === "text") && <EditTitle panel={props.panel} onMove={props.onMove} onDone={(q) => { setEditing(false); if (q) props.onChange?.(q); }} />}
    </section>
  );
}

// Compared shows a chart, and below it the same of another time or host, with the same axis.
function Compared(props: { panel: ChartPanel; tall: boolean; exporter: { current: Exporter | null }; against: Against }) {
  const app = useApp();
  const { state, feed } = app;
  useFeedVersion();
  const [, redraw] = useState(0);
  const peak = useMemo<Peak>(() => ({ values: [], changed: () => redraw((n) => n + 1) }), []);
  const { feed: other, before, title } = props.against;
  const v = state.view;
  const now = v.live ? feed.now : v.end;
  const below: App = {
    ...app,
    feed: other,
    state: { ...state, view: before ? { ...v, live: false, end: now - before, speed: 0 } : v, ...(before ? {} : { host: other.live.host, from: "any" }) },
    // A part of the past is a part of the present too, that much later.
    zoom: (p, more) => app.zoom({ ...p, ...(p.end ? { end: p.end + before } : {}) }, more),
  };
  const version = useVersion(other);
  return (
    <div class="compared">
      <Chart panel={props.panel} tall={props.tall} exporter={props.exporter} peak={peak} index={0} />
      <p class="note against">{title}</p>
      {other.status === "lost" && version > 0 && <p class="note">{other.message}</p>}
      <AppContext.Provider value={below}>
        <Chart panel={props.panel} tall={props.tall} before={before} peak={peak} index={1} />
      </AppContext.Provider>
    </div>
  );
}

// menu closes a menu when something else is clicked or gets the focus.
export function menu(d: HTMLDetailsElement): void {
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
