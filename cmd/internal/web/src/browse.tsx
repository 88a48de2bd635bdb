// The browser of all metrics: a tree and a search on one side, all about one metric on the other.

import { h, Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart } from "./chart";
import { useApp, useFeedVersion } from "./context";
import { chartOf, type ChartPanel } from "./dashboard";
import { maxLines } from "./lines";
import type { Meta } from "./source";
import { plain } from "./time";
import { showWith } from "./units";
import { kindOf, lineOf, valueAt } from "./values";

interface Node {
  name: string; // whole
  part: string; // last part of it
  children: Map<string, Node> | null;
  meta: Meta | null;
  count: number; // metrics below
}

function treeOf(metas: Meta[]): Node {
  const root: Node = { name: "", part: "", children: new Map(), meta: null, count: 0 };
  for (const m of metas) {
    let n = root;
    n.count++;
    const parts = m.name.split(".");
    parts.forEach((part, i) => {
      n.children ??= new Map();
      let c = n.children.get(part);
      if (!c) n.children.set(part, (c = { name: parts.slice(0, i + 1).join("."), part, children: null, meta: null, count: 0 }));
      n = c;
      n.count++;
    });
    n.meta = m;
  }
  return root;
}

const maxFound = 200;

// find ranks metrics by where all words are: in the name, in the line about it, in the help.
export function find(metas: Meta[], search: string): Meta[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const ranked: [number, Meta][] = [];
  for (const m of metas) {
    const name = m.name.toLowerCase();
    let rank = 0;
    for (const w of words) {
      const at = name.indexOf(w);
      if (at >= 0) rank += at === 0 || name[at - 1] === "." ? 0 : 1;
      else if (m.oneline.toLowerCase().includes(w)) rank += 10;
      else if (m.help.toLowerCase().includes(w)) rank += 100;
      else {
        rank = -1;
        break;
      }
    }
    if (rank >= 0) ranked.push([rank, m]);
  }
  ranked.sort((a, b) => a[0] - b[0] || a[1].name.length - b[1].name.length || (a[1].name < b[1].name ? -1 : 1));
  return ranked.map((r) => r[1]);
}

// useAll loads the list of all metrics once.
let loaded: { key: string; metas: Promise<Meta[]> } | null = null;
export function useAll(wanted: boolean): { metas: Meta[] | null; error: string; again: () => void } {
  const { feed, state } = useApp();
  const [metas, setMetas] = useState<Meta[] | null>(null);
  const [error, setError] = useState("");
  const [n, setN] = useState(0);
  useEffect(() => {
    if (!wanted) return;
    let gone = false;
    if (loaded?.key !== state.host) {
      const p = feed.past ? feed.recorded.all() : feed.live.all().catch((e) => feed.recorded.all().then((l) => (l.length ? l : Promise.reject(e)), () => Promise.reject(e)));
      loaded = { key: state.host, metas: p };
      p.catch(() => (loaded = null));
    }
    setError("");
    loaded.metas.then(
      (l) => {
        if (gone) return;
        setMetas([...new Map(l.map((m) => [m.name, m])).values()].sort((a, b) => (a.name < b.name ? -1 : 1)));
      },
      (e) => !gone && setError(e instanceof Error ? e.message : String(e)),
    );
    return () => {
      gone = true;
    };
  }, [wanted, feed, state.host, n]);
  return { metas, error, again: () => setN(n + 1) };
}

function Branch(props: { node: Node; open: Set<string>; toggle: (name: string) => void; chosen: string; choose: (m: Meta) => void; depth: number }) {
  const { node, open, toggle, chosen, choose, depth } = props;
  const kids = [...(node.children?.values() ?? [])].sort((a, b) => (a.part < b.part ? -1 : 1));
  return (
    <Fragment>
      {kids.map((c) => {
        const isOpen = open.has(c.name);
        return (
          <li key={c.name} role="none">
            {c.children ? (
              <button type="button" role="treeitem" aria-level={depth + 1} aria-expanded={isOpen} class="branch" data-depth={depth} onClick={() => toggle(c.name)}>
                <span class="twist" aria-hidden="true">
                  {isOpen ? "▾" : "▸"}
                </span>
                <span class="name">{c.part}</span>
                <span class="of">{c.count}</span>
              </button>
            ) : (
              <button type="button" role="treeitem" aria-level={depth + 1} aria-selected={chosen === c.name} class={"leaf" + (chosen === c.name ? " chosen" : "")} title={c.meta && plain(c.meta.oneline)} onClick={() => c.meta && choose(c.meta)}>
                <span class="name">{c.part}</span>
              </button>
            )}
            {c.children && isOpen && (
              <ul role="group">
                {c.meta && (
                  <li role="none">
                    <button type="button" role="treeitem" aria-level={depth + 2} class={"leaf" + (chosen === c.name ? " chosen" : "")} onClick={() => choose(c.meta!)}>
                      <span class="name">{c.part} itself</span>
                    </button>
                  </li>
                )}
                <Branch node={c} open={open} toggle={toggle} chosen={chosen} choose={choose} depth={depth + 1} />
              </ul>
            )}
          </li>
        );
      })}
    </Fragment>
  );
}

// arrows moves the focus among the entries of a list or tree by keys.
function arrows(e: KeyboardEvent): void {
  const here = document.activeElement as HTMLElement | null;
  const root = e.currentTarget as HTMLElement;
  const all = [...root.querySelectorAll<HTMLElement>("button")];
  const i = here ? all.indexOf(here) : -1;
  let to = -1;
  if (e.key === "ArrowDown") to = i + 1;
  else if (e.key === "ArrowUp") to = i - 1;
  else if (e.key === "Home") to = 0;
  else if (e.key === "End") to = all.length - 1;
  else if (e.key === "ArrowRight" && here?.getAttribute("aria-expanded") === "false") here.click();
  else if (e.key === "ArrowLeft" && here?.getAttribute("aria-expanded") === "true") here.click();
  else return;
  e.preventDefault();
  e.stopPropagation();
  all[to]?.focus();
}

export function Browse() {
  const { state, set } = useApp();
  const { metas, error, again } = useAll(true);
  const search = state.search;
  const [open, setOpen] = useState<Set<string>>(new Set(parents(state.metric)));
  const input = useRef<HTMLInputElement>(null);
  const tree = useMemo(() => (metas ? treeOf(metas) : null), [metas]);
  const found = useMemo(() => (metas && search.trim() ? find(metas, search) : null), [metas, search]);
  const toggle = (name: string) => {
    const s = new Set(open);
    if (!s.delete(name)) s.add(name);
    setOpen(s);
  };
  const choose = (m: Meta) => set({ metric: m.name });
  const chosen = metas?.find((m) => m.name === state.metric);
  return (
    <div class={"browse" + (state.metric ? " detail" : "")}>
      <h1 class="vh">Metrics</h1>
      <aside class="card" aria-label="All metrics">
        <input
          ref={input}
          type="search"
          id="find"
          placeholder="Search names and help"
          aria-label="Search metrics"
          value={search}
          onInput={(e) => set({ search: e.currentTarget.value })}
          onKeyDown={(e) => {
            if (e.key === "Enter" && found?.[0]) choose(found[0]);
            if (e.key === "ArrowDown") {
              e.preventDefault();
              document.querySelector<HTMLElement>(".names button")?.focus();
            }
          }}
        />
        <p class="count" role="status">
          {error ? "" : !metas ? "Reading all metrics…" : found ? `${found.length} of ${metas.length} metrics${found.length > maxFound ? `, the first ${maxFound}` : ""}` : `${metas.length} metrics`}
        </p>
        {error && (
          <p class="why">
            {error}{" "}
            <button type="button" onClick={again}>
              Try again
            </button>
          </p>
        )}
        {found ? (
          <ul class="names found" onKeyDown={arrows}>
            {found.slice(0, maxFound).map((m) => (
              <li key={m.name}>
                <button type="button" class={"leaf" + (state.metric === m.name ? " chosen" : "")} onClick={() => choose(m)}>
                  <span class="name">{m.name}</span>
                  <span class="line1">{plain(m.oneline)}</span>
                </button>
              </li>
            ))}
          </ul>
        ) : (
          tree && (
            <ul class="names" role="tree" aria-label="Names" onKeyDown={arrows}>
              <Branch node={tree} open={open} toggle={toggle} chosen={state.metric} choose={choose} depth={0} />
            </ul>
          )
        )}
      </aside>
      <div class="about">
        {chosen ? (
          <About meta={chosen} key={chosen.name} />
        ) : state.metric && metas ? (
          <p class="why tallwhy">There is no metric {state.metric} here.</p>
        ) : (
          <p class="why tallwhy">Choose a metric on the left to see what it means, its instances and its values.</p>
        )}
      </div>
    </div>
  );
}

function parents(name: string): string[] {
  const parts = name.split(".");
  return parts.slice(0, -1).map((_, i) => parts.slice(0, i + 1).join("."));
}

function About(props: { meta: Meta }) {
  const { feed, state, set, addChart } = useApp();
  const m = props.meta;
  useFeedVersion();
  useEffect(() => feed.want([m.name], true), [feed, m.name]);
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const [filter, setFilter] = useState("");
  const [raw, setRaw] = useState(false);
  const v = state.view;
  const at = v.live ? feed.now : v.end;
  const table = feed.table(m.name);
  const kind = kindOf(m, false);
  const text = /string|aggregate|event/.test(m.type);
  const insts = [...(table?.series.keys() ?? [])].filter((i) => i.toLowerCase().includes(filter.toLowerCase()));
  const age = Math.max(3 * v.step, v.live ? 5 : v.window / 4);
  const rawOf = (inst: string): string => {
    const cells = table?.series.get(inst);
    if (!table || !cells) return "–";
    for (let i = cells.length - 1; i >= 0; i--) {
      if (table.t[i] > at + 1e-6) continue;
      if (at - table.t[i] > age) break;
      if (cells[i] !== null) return plain(String(cells[i]), true);
    }
    return "–";
  };
  const plot = { metric: m.name, ...(chosen.size ? { instances: [...chosen] } : {}), ...(raw ? { raw: true } : {}) };
  const panel: ChartPanel = useMemo(() => chartOf(plot), [m.name, [...chosen].join("\n"), raw]);
  const labels = Object.entries(m.labels);
  return (
    <article class="card" aria-labelledby="about">
      <header>
        <button type="button" class="back" onClick={() => set({ metric: "" })}>
          ← All metrics
        </button>
        <h2 id="about">{m.name}</h2>
        <button type="button" class="primary" disabled={text} onClick={() => addChart(plot)}>
          Add to charts
        </button>
      </header>
      {m.oneline && <p class="oneline">{plain(m.oneline)}</p>}
      <dl class="facts">
        <div>
          <dt>Units</dt>
          <dd>{m.units === "none" ? "a number" : m.units}</dd>
        </div>
        <div>
          <dt>Semantics</dt>
          <dd>{m.sem === "counter" ? "counter, shown as a rate" : m.sem}</dd>
        </div>
        <div>
          <dt>Type</dt>
          <dd>{m.type}</dd>
        </div>
        <div>
          <dt>PMID</dt>
          <dd>{m.pmid}</dd>
        </div>
        {m.indom && (
          <div>
            <dt>Instance domain</dt>
            <dd>{m.indom}</dd>
          </div>
        )}
      </dl>
      {!text && <Chart panel={panel} />}
      {!text && m.sem === "counter" && (
        <label class="check">
          <input type="checkbox" checked={raw} onChange={(e) => setRaw(e.currentTarget.checked)} /> the counter itself, not its rate
        </label>
      )}
      {m.help && m.help !== m.oneline && <p class="help">{plain(m.help, true)}</p>}
      {labels.length > 0 && (
        <details>
          <summary>{labels.length} labels</summary>
          <dl class="labels">
            {labels.map(([k, x]) => (
              <div key={k}>
                <dt>{k}</dt>
                <dd>{plain(typeof x === "string" ? x : JSON.stringify(x))}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      <section aria-label="Values">
        <div class="bar">
          <h3>{m.indom ? `${table?.series.size ?? 0} instances` : "Value"}</h3>
          {m.indom && (table?.series.size ?? 0) > 8 && <input type="search" placeholder="Filter instances" aria-label="Filter instances" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />}
          {chosen.size > 0 && (
            <button type="button" onClick={() => setChosen(new Set())}>
              All again
            </button>
          )}
        </div>
        {m.indom && !text && <p class="note">Tick those to draw; {chosen.size ? `${chosen.size} chosen` : `all are drawn, up to ${maxLines}`}.</p>}
        <div class="numbers list values">
          <table>
            <caption class="vh">Values of {m.name}</caption>
            <thead>
              <tr>
                <th scope="col">{m.indom ? "instance" : ""}</th>
                {kind.rate && <th scope="col">rate</th>}
                <th scope="col">value</th>
              </tr>
            </thead>
            <tbody>
              {insts.slice(0, 500).map((i) => {
                const cells = table!.series.get(i)!;
                return (
                  <tr key={i}>
                    <th scope="row">
                      {m.indom && !text ? (
                        <label class="check">
                          <input
                            type="checkbox"
                            checked={chosen.has(i)}
                            onChange={() => {
                              const s = new Set(chosen);
                              if (!s.delete(i)) s.add(i);
                              setChosen(s);
                            }}
                          />
                          <span class="name">{plain(i)}</span>
                        </label>
                      ) : (
                        <span class="name">{plain(i) || "value"}</span>
                      )}
                    </th>
                    {kind.rate && <td>{showWith(valueAt(lineOf(table!, cells, kind, at - age, at), at, age), kind.unit, kind.utilization)}</td>}
                    <td class={text ? "text" : ""}>{rawOf(i)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
        {insts.length > 500 && <p class="note">The first 500 of {insts.length}; filter to see others.</p>}
        {!insts.length && <p class="why">{table ? "No values." : "Waiting for values…"}</p>}
      </section>
    </article>
  );
}
