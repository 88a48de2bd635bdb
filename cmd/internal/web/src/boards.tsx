// The page of dashboards: tabs, what is open in them, and the values of its variables.

import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { offered } from "./agents";
import { useApp, useFeedVersion } from "./context";
import { format, maxPanels, parseMetric, readDashboard, variableKinds, variableName, writeDashboard, type Dashboard, type Panel, type Variable, type VariableKind } from "./dashboard";
import { Dialog } from "./dialog";
import { fileName, save } from "./export";
import { isGrafana, parseGrafana } from "./grafana";
import { labelText } from "./lines";
import { Card, menu } from "./panels";
import { isView, parseView } from "./pmchart";
import { ask } from "./source";
import { served } from "./served";
import { follow, forget, moveBoard, openKept, openOther, shelf } from "./state";
import { plain } from "./time";
import { Typeahead } from "./typeahead";
import { builtin } from "./views";

const maxFile = 4 << 20;
const maxFiles = 50; // at once

export function Charts() {
  const { feed, state, set, setView, setDashboard, say } = useApp();
  const d = state.dashboard;
  // The server's dashboards are read when the page of charts is opened, and again when one comes back to it.
  const [, again] = useState(0);
  const latest = useRef(d);
  latest.current = d;
  useEffect(() => {
    const leave = served.subscribe(() => {
      const now = follow(latest.current);
      if (now) set({ dashboard: now });
      again((n) => n + 1);
    });
    const load = () => !document.hidden && void served.load(feed.live.base);
    load();
    addEventListener("visibilitychange", load);
    return () => {
      leave();
      removeEventListener("visibilitychange", load);
    };
  }, [feed.live.base]);
  const { list: own, open: opened } = shelf();
  const [ofHost, setOfHost] = useState<Dashboard[]>([]);
  const ready = feed.status === "ok";
  useFeedVersion();
  useEffect(() => {
    setOfHost([]);
    if (!ready) return;
    const abort = new AbortController();
    offered(feed, abort.signal).then(
      (list) => !abort.signal.aborted && setOfHost(list),
      () => {}, // they are not offered
    );
    return () => abort.abort();
  }, [feed, ready]);
  const other = (b: Dashboard) => {
    openOther(b);
    set({ dashboard: b });
  };
  const file = useRef<HTMLInputElement>(null);
  const [bad, setBad] = useState("");
  const [varying, setVarying] = useState(false);
  const change = (i: number) => (p: Panel | null) => setDashboard({ ...d, panels: p ? d.panels.map((q, k) => (k === i ? p : q)) : d.panels.filter((_, k) => k !== i) });
  const shift = (i: number) => (by: number) => {
    const panels = [...d.panels];
    const j = i + by;
    if (j < 0 || j >= panels.length) return;
    [panels[i], panels[j]] = [panels[j], panels[i]];
    setDashboard({ ...d, panels });
  };
  const [importing, setImporting] = useState<string[]>([]); // of several files, those that are bad
  const open = async (files: Iterable<File> | undefined | null) => {
    const problems: string[] = [];
    for (const f of [...(files ?? [])].slice(0, maxFiles)) {
      const why = await openOne(f);
      if (why) problems.push(why);
    }
    setBad("");
    setImporting(problems);
  };
  const openOne = async (f: File): Promise<string> => {
    try {
      if (f.size > maxFile) throw new Error(`${f.name} is longer than ${maxFile >> 20} MiB`);
      const text = await f.text();
      let read: Dashboard[];
      if (isView(text)) read = parseView(text, f.name);
      else {
        let v: unknown;
        try {
          v = JSON.parse(text);
        } catch {
          throw new Error(`${f.name} is neither a dashboard nor a view of pmchart`);
        }
        // What Grafana's files become is checked as any other.
        read = [readDashboard(isGrafana(v) ? parseGrafana(v, f.name) : v)];
      }
      const ids = read.map((b) => {
        other(b);
        return shelf().open;
      });
      if (read.length > 1) show(ids[0]);
      const left = read.reduce((n, b) => n + (b.notes?.length ?? 0), 0);
      say(`${read[0].title} is open, ${read.reduce((n, b) => n + b.panels.length, 0)} charts` + (left ? `; ${left} things are not imported` : ""));
      if (read[0].window) setView({ window: read[0].window });
      return "";
    } catch (e) {
      return e instanceof Error ? e.message : String(e);
    }
  };
  const fresh = () => {
    const names = new Set(own.map((k) => k.dashboard.title));
    let n = own.length + 1;
    while (names.has(`Charts ${n}`)) n++;
    other({ title: `Charts ${n}`, panels: [] });
  };
  const show = (id: string) => {
    const k = openKept(id);
    if (k) set({ dashboard: k });
  };
  return (
    <div
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault();
        void open(e.dataTransfer?.files);
      }}
    >
      {own.length > 1 && <Tabs list={own.map((k) => ({ id: k.id, title: k.dashboard.title, served: k.id.startsWith("@") }))} open={opened} onOpen={show} />}
      <div class="tools">
        <h1 class="vh">{d.title || "Charts"}</h1>
        <div class="titled">
          <input class="title" aria-label="Name of the dashboard" maxLength={4000} value={d.title} onInput={(e) => setDashboard({ ...d, title: e.currentTarget.value })} />
        </div>
        <label class="select">
          <span>Open</span>
          <select
            aria-label="Open a dashboard"
            value=""
            onChange={(e) => {
              const b = [...builtin, ...ofHost].find((b) => b.title === e.currentTarget.value);
              const id = e.currentTarget.value;
              e.currentTarget.value = "";
              if (b) other(b);
              else show(id);
            }}
          >
            <option value="">a dashboard…</option>
            {own.length > 0 && (
              <optgroup label="Mine">
                {own.map((k) => (
                  <option key={k.id} value={k.id}>
                    {(k.id === opened ? "✓ " : "") + (k.dashboard.title || "without a name")}
                  </option>
                ))}
              </optgroup>
            )}
            <optgroup label="With the page">
              {builtin.map((b) => (
                <option key={b.title} value={b.title}>
                  {b.title}
                </option>
              ))}
            </optgroup>
            {ofHost.length > 0 && (
              <optgroup label="Of this host">
                {ofHost.map((b) => (
                  <option key={b.title} value={b.title}>
                    {b.title}
                  </option>
                ))}
              </optgroup>
            )}
          </select>
        </label>
        <button type="button" onClick={fresh}>
          New
        </button>
        <button
          type="button"
          disabled={!opened}
          onClick={() =>
            forget().then(
              (next) => {
                set({ dashboard: next });
                say(`${d.title} is deleted`);
              },
              (e) => setBad(`It is not deleted: ${e instanceof Error ? e.message : e}`),
            )
          }
        >
          Delete
        </button>
        <button type="button" onClick={() => file.current?.click()}>
          From a file…
        </button>
        <input ref={file} type="file" id="file" class="vh" tabIndex={-1} multiple aria-label="A dashboard, of this page or of Grafana, or a view of pmchart" onChange={(e) => { void open([...(e.currentTarget.files ?? [])]); e.currentTarget.value = ""; }} />
        <button type="button" id="save" disabled={!d.panels.length} onClick={() => save(fileName(d.title, "json"), "application/json", writeDashboard(d))}>
          Save to a file
        </button>
        {served.available && (
          <label class="select">
            <span>Kept</span>
            <select
              aria-label="Where the dashboard is kept"
              value={opened.startsWith("@") ? "server" : "browser"}
              onChange={(e) => {
                const to = e.currentTarget.value === "server";
                moveBoard(d, to).then(
                  () => {
                    setBad("");
                    say(to ? `The server keeps ${d.title}` : `This browser keeps ${d.title}`);
                    again((n) => n + 1);
                  },
                  (e) => {
                    setBad(`It is not moved: ${e instanceof Error ? e.message : e}`);
                    again((n) => n + 1);
                  },
                );
              }}
            >
              <option value="browser">in this browser</option>
              <option value="server">on the server</option>
            </select>
          </label>
        )}
        <button type="button" disabled={d.panels.length >= maxPanels} onClick={() => setDashboard({ ...d, panels: [...d.panels, { kind: "text", title: "Text", text: "" }] })}>
          Add a text
        </button>
        <button type="button" onClick={() => setVarying(true)}>
          Variables…
        </button>
        <button type="button" disabled={!d.panels.length} onClick={() => setDashboard({ ...d, panels: [] })}>
          Clear
        </button>
      </div>
      {bad && (
        <div class="trouble" role="alert">
          <strong>This cannot be done.</strong> <span>{bad}</span>
        </div>
      )}
      {importing.length > 0 && (
        <div class="trouble" role="alert">
          <strong>{importing.length > 1 ? "Files cannot be opened." : "The file cannot be opened."}</strong>
          {importing.map((s) => (
            <span key={s}>{plain(s)}</span>
          ))}
        </div>
      )}
      {!!d.notes?.length && (
        <details class="notes">
          <summary>
            {d.notes.length} {d.notes.length === 1 ? "thing was" : "things were"} not imported
          </summary>
          <ul>
            {d.notes.map((s, i) => (
              <li key={i}>{plain(s)}</li>
            ))}
          </ul>
          <button type="button" onClick={() => setDashboard({ ...d, notes: undefined })}>
            Forget them
          </button>
        </details>
      )}
      {served.problem && (
        <div class="trouble" role="alert">
          <strong>The server has not got the last change.</strong> <span>{served.problem}. It is sent again.</span>
        </div>
      )}
      {served.problems.map((s) => (
        <p class="note" key={s}>
          A dashboard on the server cannot be read: {plain(s)}
        </p>
      ))}
      {!!d.variables?.length && (
        <div class="variables" role="group" aria-label="Variables">
          {d.variables.map((v) => (
            <Choose key={v.name} variable={v} onChange={(values) => setDashboard({ ...d, variables: d.variables!.map((x) => (x.name === v.name ? { ...x, values } : x)) })} />
          ))}
        </div>
      )}
      {varying && <EditVariables list={d.variables ?? []} onDone={(list) => { setVarying(false); if (list) setDashboard({ ...d, variables: list.length ? list : undefined }); }} />}
      {d.panels.length === 0 ? (
        <div class="welcome">
          <p>No charts yet.</p>
          <p>
            Type the name of a metric above, <kbd>/</kbd>, or <code>name[instance]</code>; pick some under Metrics; open one of the dashboards that come with the page, or a
            file: one that was saved here, one of Grafana, or a view of pmchart.
          </p>
        </div>
      ) : (
        <div class="grid">
          {d.panels.map((p, i) => (
            <Card key={i + p.title} panel={p} of={d} own onChange={change(i)} onMove={shift(i)} />
          ))}
        </div>
      )}
    </div>
  );
}

// Tabs are the dashboards that one has. Arrow keys move between them.
function Tabs(props: { list: { id: string; title: string; served: boolean }[]; open: string; onOpen: (id: string) => void }) {
  const { list, open } = props;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [open]);
  const current = list.some((k) => k.id === open) ? open : list[0].id;
  const move = (e: KeyboardEvent, k: number) => {
    const to = { ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: list.length - 1 }[e.key];
    if (to === undefined || e.ctrlKey || e.altKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    e.stopPropagation();
    const n = (to + list.length) % list.length;
    props.onOpen(list[n].id);
    box.current?.querySelectorAll<HTMLElement>("[role=tab]")[n]?.focus();
  };
  return (
    <div class="boards" role="tablist" aria-label="My dashboards" ref={box}>
      {list.map((k, n) => (
        <button key={k.id} type="button" role="tab" aria-selected={k.id === open} tabIndex={k.id === current ? 0 : -1} title={plain(k.title)} onClick={() => props.onOpen(k.id)} onKeyDown={(e) => move(e, n)}>
          <span class="name">{plain(k.title) || "without a name"}</span>
          {k.served && (
            <span class="dim" title="On the server">
              ⇅<span class="vh"> on the server</span>
            </span>
          )}
        </button>
      ))}
    </div>
  );
}

const shown = 500; // values to choose among

// useChoices are the values that a variable may have.
function useChoices(v: Variable): string[] {
  const { feed } = useApp();
  useFeedVersion();
  const [hosts, setHosts] = useState<string[]>([]);
  const metric = v.kind === "instance" || v.kind === "label" ? v.metric! : "";
  useEffect(() => (metric ? feed.want([metric], false) : undefined), [feed, metric]);
  useEffect(() => {
    if (v.kind !== "host") return;
    const abort = new AbortController();
    ask(feed.live.base + "series/labels", { names: "hostname" }, abort.signal).then(
      (r) => !abort.signal.aborted && setHosts(Array.isArray(r?.hostname) ? r.hostname.map(String).sort().slice(0, 5000) : []),
      () => {}, // without archives it is the host of the page
    );
    return () => abort.abort();
  }, [feed, v.kind]);
  if (v.kind === "choice") return v.choices ?? [];
  if (v.kind === "host") return [...new Set([...(feed.host ? [feed.host] : []), ...hosts])];
  const insts = [...(feed.table(metric)?.series.keys() ?? [])].filter((i) => i !== "");
  if (v.kind === "instance") return insts;
  const labels = feed.labelsOf(metric);
  const own = labelText(feed.metas.get(metric)?.labels[v.label!]);
  const values = new Set<string>();
  for (const i of insts) {
    const x = labels?.get(i)?.[v.label!] ?? own;
    if (x !== undefined) values.add(x);
  }
  return [...values].sort();
}

// Choose is the list in which the values of a variable are chosen.
function Choose(props: { variable: Variable; onChange: (values: string[]) => void }) {
  const { variable: v } = props;
  const all = useChoices(v);
  const [filter, setFilter] = useState("");
  const offered = [...new Set([...all, ...v.values])];
  const matching = offered.filter((x) => x.toLowerCase().includes(filter.toLowerCase()));
  const none = v.kind === "host" ? "this host" : v.kind === "choice" ? (v.choices?.[0] ?? "") : "all";
  const title = plain(v.title || v.name);
  return (
    <details class="menu pick" onToggle={(e) => menu(e.currentTarget)}>
      <summary title={plain(v.values.join(", "))}>
        <span class="dim">{title}:</span> <span class="name">{v.values.length ? plain(v.values.join(", ")) : plain(none)}</span> ▾
      </summary>
      <div>
        {offered.length > 12 && <input type="search" aria-label={`Filter ${title}`} placeholder="Filter" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />}
        <label class="check">
          <input type="checkbox" checked={!v.values.length} onChange={() => props.onChange([])} /> <em>{plain(none)}</em>
        </label>
        {matching.slice(0, shown).map((x) => (
          <label class="check" key={x}>
            <input
              type="checkbox"
              checked={v.values.includes(x)}
              onChange={(e) => props.onChange(e.currentTarget.checked ? [...v.values, x].slice(0, 200) : v.values.filter((y) => y !== x))}
            />
            <span class="name">{plain(x)}</span>
          </label>
        ))}
        {!offered.length && <p class="note">There are none yet.</p>}
        {matching.length > shown && <p class="note">{matching.length - shown} more; filter them.</p>}
      </div>
    </details>
  );
}

const kindNames: Record<VariableKind, string> = { host: "hosts", instance: "instances of a metric", label: "values of a label", choice: "words" };

function EditVariables(props: { list: Variable[]; onDone: (list: Variable[] | null) => void }) {
  const [list, setList] = useState<Variable[]>(props.list);
  const [bad, setBad] = useState("");
  const set = (n: number, more: Partial<Variable>) => setList(list.map((v, k) => (k === n ? { ...v, ...more } : v)));
  const done = () => {
    try {
      const d = readDashboard({ format, title: "", panels: [], variables: list.map((v) => ({ ...v, title: v.title || undefined })) });
      props.onDone(d.variables ?? []);
    } catch (e) {
      setBad(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <Dialog title="Variables" onClose={() => props.onDone(null)}>
      <p class="note">
        A variable is chosen above the charts. Charts have it as <code>$name</code>: as the host or the instances of a metric, in its name and legend, in titles and texts.
      </p>
      <ul class="plots">
        {list.map((v, n) => (
          <li key={n}>
            <div class="fields">
              <label class="field">
                Name <input value={v.name} maxLength={61} onInput={(e) => set(n, { name: e.currentTarget.value })} />
              </label>
              <label class="field">
                Of{" "}
                <select value={v.kind} onChange={(e) => set(n, { kind: e.currentTarget.value as VariableKind, values: [] })}>
                  {variableKinds.map((k) => (
                    <option key={k} value={k}>
                      {kindNames[k]}
                    </option>
                  ))}
                </select>
              </label>
              {v.kind === "label" && (
                <label class="field">
                  Label <input value={v.label ?? ""} maxLength={4000} onInput={(e) => set(n, { label: e.currentTarget.value })} />
                </label>
              )}
              {v.kind === "choice" && (
                <label class="field">
                  Words, separated by commas <input value={(v.choices ?? []).join(",")} onInput={(e) => set(n, { choices: e.currentTarget.value.split(",").filter(Boolean), values: [] })} />
                </label>
              )}
            </div>
            {(v.kind === "instance" || v.kind === "label") && (
              <div class="bar">
                <span>{v.metric ? `of ${v.metric}` : "of which metric?"}</span>
                <Typeahead label={`Metric of ${v.name}`} placeholder="A metric" onPick={(s) => { const p = parseMetric(s); if (p) set(n, { metric: p.metric }); return !!p; }} />
              </div>
            )}
            <button type="button" aria-label={`Remove ${v.name}`} onClick={() => setList(list.filter((_, k) => k !== n))}>
              Remove
            </button>
          </li>
        ))}
      </ul>
      {bad && (
        <p class="bad" role="alert">
          {bad}
        </p>
      )}
      <p class="buttons">
        <button
          type="button"
          onClick={() => {
            let k = list.length + 1;
            while (list.some((v) => v.name === "v" + k) || !variableName.test("v" + k)) k++;
            setList([...list, { name: "v" + k, kind: "instance", values: [] }]);
          }}
        >
          Add a variable
        </button>
        <span class="grow" />
        <button type="button" onClick={() => props.onDone(null)}>
          Cancel
        </button>
        <button type="button" class="primary" onClick={done}>
          Done
        </button>
      </p>
    </Dialog>
  );
}
