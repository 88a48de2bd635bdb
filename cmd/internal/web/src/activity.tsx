// What is busy: processes, control groups, disks and network interfaces as tables, and one process by itself.

import { h, Fragment, type ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { access } from "./access";
import { AppContext, useApp, useFeedVersion } from "./context";
import type { ChartPanel, ListPanel } from "./dashboard";
import { csv, fileName, save } from "./export";
import type { Feed } from "./feed";
import { useFocusKept } from "./focus";
import { Card } from "./panels";
import { Item } from "./item";
import { join } from "./values";
import { useSame } from "./same";
import { keepSorting, link, sortingOf, type Sorting, type State } from "./state";
import type { Meta, Table as Samples } from "./source";
import { clock, dated, plain, span } from "./time";
import { fixed, formatFor, showWith } from "./units";
import { kindOf, latestOf, meansOf, textOf, type Kind } from "./values";
import { byContainer, byProcess, tables, type Column, type Subject } from "./views";

const recordedAge = 200; // seconds that a recorded value counts: processes are recorded once a minute, or more seldom

export interface Row {
  inst: string; // or what else stands for it: the name of a user, the identifier of a container
  id: number; // of a process, 0 for others
  user: string;
  name: string; // all of it
  cells: (number | null)[];
  missing: string[]; // why there is none, by column
}

// pidOf reads the number with which the name of a process begins.
export function pidOf(inst: string): number {
  const m = /^(\d+)(?: |$)/.exec(inst);
  return m ? Number(m[1]) : 0;
}

// subjectOf makes the table of a list in a dashboard.
export function subjectOf(p: ListPanel): Subject {
  if (p.of === "process") return tables[0];
  return { key: "", title: p.title, of: p.of, columns: p.columns.map((c, i) => ({ ...c, key: "c" + i })) };
}

function compare(s: Subject, sort: string): (a: Row, b: Row) => number {
  const up = sort.startsWith("-");
  const key = sort.replace(/^-/, "");
  const k = s.columns.findIndex((c) => c.key === key);
  const text = (f: (r: Row) => string) => (a: Row, b: Row) => (f(a).toLowerCase() < f(b).toLowerCase() ? -1 : f(a).toLowerCase() > f(b).toLowerCase() ? 1 : 0);
  let cmp: (a: Row, b: Row) => number;
  if (key === "pid") cmp = (a, b) => a.id - b.id;
  else if (key === "user") cmp = text((r) => r.user);
  else if (key === "name") cmp = text((r) => r.name);
  else {
    const first = Math.max(k, 0);
    cmp = (a, b) => {
      // What is not known comes last, whichever way.
      const x = a.cells[first];
      const y = b.cells[first];
      if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
      return up ? x - y : y - x;
    };
    // Those that are equal come in the order of the other columns.
    return (a, b) => {
      let d = cmp(a, b);
      for (let i = 0; !d && i < s.columns.length; i++) d = (b.cells[i] ?? -1) - (a.cells[i] ?? -1);
      return d || (a.inst < b.inst ? -1 : 1);
    };
  }
  return (a, b) => (up ? -1 : 1) * cmp(a, b) || (a.inst < b.inst ? -1 : 1);
}

// Values are where a table gets its numbers from: a feed, or what was read for a stretch of time.
export interface Values {
  metas: Map<string, Meta>;
  absent: Set<string>;
  table(name: string): Samples | undefined;
}

// A Moment is what the numbers are of: a time, or the mean of the seconds before it.
interface Moment {
  at: number;
  live: boolean;
  step: number;
  mean: number; // seconds, 0 for a moment
}

interface Found {
  rows: Row[];
  kinds: (Kind | null)[];
  reasons: Map<string, string>; // of columns without any value
  absent: boolean; // the collector has none of the metrics
}

function namesOf(s: Subject): string[] {
  return [...new Set(s.columns.flatMap((c) => [...c.metrics, ...(c.or ?? [])]))];
}

// groupOf returns what a metric of control groups has an instance for, without the device.
export function groupOf(inst: string): string {
  return inst.replace(/::[^:/]*$/, "");
}

// groupsOf returns the control groups that the text of a process names.
export function groupsOf(text: string): string[] {
  return text.split(";").map((s) => s.slice(s.indexOf(":") + 1));
}

// keyOf returns which row an instance belongs to; "" if to none.
function keyOf(s: Subject, values: Values, at: number): (inst: string) => string {
  const plainKey = s.pairs ? groupOf : (inst: string) => inst;
  if (s.by === "user") {
    const users = values.table(byProcess.user);
    return (inst) => textOf(users, inst, at);
  }
  if (s.by !== "container") return plainKey;
  const groups = values.table(byContainer.group);
  const ids = new Map<string, string>();
  for (const id of groups?.series.keys() ?? []) ids.set(textOf(groups, id, at), id);
  ids.delete("");
  return (inst) => ids.get(plainKey(inst)) ?? "";
}

function find(s: Subject, feed: Values, moment: Moment): Found {
  const { at, live, step, mean } = moment;
  const age = live ? Math.max(3 * step, 12) : recordedAge;
  const reach = live ? 30 : 2 * recordedAge;
  const rows = new Map<string, Row>();
  const kinds: (Kind | null)[] = s.columns.map(() => null);
  const reasons = new Map<string, string>();
  let lacking = 0;
  const key = keyOf(s, feed, at);
  const names = s.by === "container" ? feed.table(byContainer.name) : undefined;
  const members = new Map<string, Set<string>>(); // of rows that have several
  const row = (inst: string): Row => {
    let r = rows.get(inst);
    if (!r) {
      const id = s.detail ? pidOf(inst) : 0;
      rows.set(inst, (r = { inst, id, user: "", name: plain(id ? inst.replace(/^\d+ ?/, "") : textOf(names, inst, at) || inst), cells: s.columns.map(() => null), missing: s.columns.map(() => "") }));
    }
    return r;
  };
  s.columns.forEach((c, k) => {
    if (c.age || c.count) return;
    const all = [...c.metrics, ...(c.or ?? [])];
    let any = false;
    for (const name of all) {
      if (any && !c.metrics.includes(name)) continue; // those before have values
      const m = feed.metas.get(name);
      const table = feed.table(name);
      if (!m || !table) continue;
      const kind = kindOf(m, false);
      for (const [inst, x] of mean ? meansOf(table, kind, at - mean, at) : latestOf(table, kind, at, age, reach)) {
        const of = key(inst);
        if (!of && of !== inst) continue;
        const r = row(of);
        if (s.by === "user") members.set(of, (members.get(of) ?? new Set()).add(inst));
        if (x === null) r.missing[k] = "Its rate is known with its second sample.";
        else r.cells[k] = (r.cells[k] ?? 0) + x;
        kinds[k] = kind;
        any = true;
      }
    }
    if (!any) {
      const gone = all.filter((n) => feed.absent.has(n));
      if (gone.length === all.length) {
        lacking++;
        reasons.set(c.title, `this collector has no ${gone.join(" and no ")}`);
      } else if (all.some((n) => feed.table(n)?.t.length)) reasons.set(c.title, live ? (c.never ?? "the collector has no values") : "it was not recorded at this time");
    }
  });
  for (const [k, c] of s.columns.entries()) {
    for (const r of rows.values()) {
      if (c.count) r.cells[k] = members.get(r.inst)?.size ?? null;
      if (r.cells[k] === null && !r.missing[k]) r.missing[k] = reasons.get(c.title) ?? c.seldom ?? "The collector has no value.";
    }
  }
  return { rows: [...rows.values()], kinds, reasons, absent: lacking > 0 && lacking === s.columns.filter((c) => !c.age && !c.count).length };
}

// seconds that a host was up, at a time
export function uptime(feed: Values, at: number): number | null {
  const t = feed.table("kernel.all.uptime");
  const cells = t?.series.get("");
  if (!t || !cells) return null;
  for (let i = cells.length - 1; i >= 0; i--) {
    const c = cells[i];
    if (typeof c === "number") return c + at - t.t[i];
  }
  return null;
}

// describe fills in what is known of processes: user, command, age.
function describe(s: Subject, feed: Values, rows: Row[], at: number): boolean {
  const args = feed.table(byProcess.args);
  const users = feed.table(byProcess.user);
  const starts = feed.table(byProcess.start);
  const up = uptime(feed, at);
  const k = s.columns.findIndex((c) => c.age);
  let unknown = false;
  for (const r of rows) {
    if (args && !args.series.has(r.inst)) unknown = true;
    r.name = plain(textOf(args, r.inst, at) || r.name);
    r.user = plain(textOf(users, r.inst, at));
    if (k < 0) continue;
    const began = Number(textOf(starts, r.inst, at) || NaN) / 1000;
    r.cells[k] = up === null || !Number.isFinite(began) ? null : Math.max(0, up - began);
    r.missing[k] = r.cells[k] === null ? "It is not known when it began." : "";
  }
  return unknown;
}

// useSeen reports whether an element is on the screen, so that the server is asked only for what is seen.
function useSeen() {
  const ref = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const el = ref.current;
    if (!el) return;
    const o = new IntersectionObserver((list) => setSeen(list[list.length - 1].isIntersecting), { rootMargin: "60px" });
    o.observe(el);
    return () => o.disconnect();
  }, []);
  return { ref, seen };
}

// useVersion has a component drawn again when a feed that is not that of the page has something new.
export function useVersion(feed: Feed): number {
  const [n, set] = useState(0);
  useEffect(() => feed.subscribe(() => set((x) => x + 1)), [feed]);
  return n;
}

// Goto is a link within the page.
export function Goto(props: { to: Partial<State>; class?: string; title?: string; label?: string; children: ComponentChildren }) {
  const { state, set } = useApp();
  return (
    <a
      class={props.class}
      title={props.title}
      aria-label={props.label}
      href={link({ ...state, ...props.to })}
      onClick={(e) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey) return; // in a window of its own
        e.preventDefault();
        e.stopPropagation();
        set(props.to);
      }}
    >
      {props.children}
    </a>
  );
}

// shown is what a cell says.
function shown(c: Column, kind: Kind | null, x: number | null): string {
  if (x === null) return "–";
  if (c.age) return span(x);
  if (c.count) return fixed(x, 0);
  return kind ? showWith(x, kind.unit, kind.utilization) : "–";
}

// unitOf is the unit of numbers in a file.
function unitOf(k: Kind | null): string {
  const u = k && (k.utilization ? "share of 1" : formatFor(k.unit, 0, false).unit);
  return u ? ` (${u})` : "";
}

const steps = 50; // rows more, each time one asks for them

// useMeans reads what is needed for means from the archives, and returns it together with what was seen; null if it is not wanted.
function useMeans(feed: Feed, names: string[], wanted: boolean, from: number, to: number, version: number): (Values & { loading: boolean; error: string }) | null {
  const [read, setRead] = useState<{ tables: Map<string, Samples>; loading: boolean; error: string }>({ tables: new Map(), loading: false, error: "" });
  useEffect(() => {
    if (!wanted || !feed.hasRecorded) return;
    const abort = new AbortController();
    setRead({ tables: new Map(), loading: true, error: "" });
    // While the past is played, the window moves on.
    const id = setTimeout(() => {
      const step = Math.max(1, (to - from) / samplesOfMean);
      feed.recorded
        .describe(names)
        .then((metas) => {
          for (const m of metas) if (!feed.metas.has(m.name)) feed.metas.set(m.name, m);
          return feed.recorded.read(names, { from: from - step, to, step }, abort.signal);
        })
        .then((tables) => setRead({ tables, loading: false, error: "" }))
        .catch((e) => abort.signal.aborted || setRead({ tables: new Map(), loading: false, error: e instanceof Error ? e.message : String(e) }));
    }, 100);
    return () => {
      clearTimeout(id);
      abort.abort();
    };
  }, [feed, feed.hasRecorded, wanted, from, to, names.join(" ")]);
  return useMemo(
    () => (wanted ? { metas: feed.metas, absent: feed.absent, loading: read.loading, error: read.error, table: (name) => (read.tables.has(name) ? join(read.tables.get(name), feed.seen(name)) : feed.table(name)) } : null),
    [feed, wanted, read, version],
  );
}

const samplesOfMean = 8; // in a window: rates are those from its first to its last sample

// Table shows a subject, or those rows of it that belong to something. It sorts and filters as it is told, or by itself.
export function Table(props: { subject: Subject; rows: number; pace?: number; sorting?: Sorting; onSort?: (s: Sorting) => void; also?: string[]; keep?: (r: Row, v: Values, at: number) => boolean; first?: string }) {
  const { feed: main, state, set } = useApp();
  const feed = main.busy;
  const { ref, seen } = useSeen();
  const version = useVersion(feed);
  const s = props.subject;
  const [own, setOwn] = useState<Sorting>(() => (props.keep ? { sort: props.first ?? "", filter: "" } : sortingOf(s.key)));
  const { sort, filter } = props.sorting ?? own;
  const change = (more: Partial<Sorting>) => {
    const next = { sort, filter, ...more };
    if (s.key && !props.keep) keepSorting(s.key, next);
    (props.onSort ?? setOwn)(next);
  };
  const [whole, setWhole] = useState(false);
  const [limit, setLimit] = useState(props.rows);
  const names = useMemo(() => namesOf(s), [s]);
  useEffect(() => (seen ? feed.want(names, false) : undefined), [feed, seen, names.join(" ")]);
  useEffect(() => (seen ? feed.pace(props.pace ?? 0) : undefined), [feed, seen, props.pace]);
  const needs = useMemo(() => [...(s.needs ?? []), ...(props.also ?? [])], [s, (props.also ?? []).join(" ")]);
  useEffect(() => (seen && needs.length ? feed.want(needs, false, true) : undefined), [feed, seen, needs]);

  const v = state.view;
  const at = v.live ? feed.now : v.end;
  const asked = useRef(new Set<string>());
  const over = !v.live && state.over === "window";
  const texts = useMemo(() => [...names, ...needs.filter((n) => n !== byProcess.start && n !== byProcess.up)], [names.join(" "), needs]);
  const means = useMeans(feed, texts, seen && over, at - v.window, at, version);
  const values: Values = means ?? feed;
  const found = useMemo(() => {
    const f = find(s, values, { at, live: v.live, step: v.step, mean: over ? v.window : 0 });
    const unknown = s.detail && describe(s, values, f.rows, at);
    if (props.keep) f.rows = f.rows.filter((r) => props.keep!(r, values, at));
    return { ...f, unknown };
  }, [s, values, at, v.live, v.step, over, v.window, version, props.keep]);
  useEffect(() => {
    if (!found.unknown || !v.live) return;
    const fresh = found.rows.filter((r) => !asked.current.has(r.inst));
    if (!fresh.length) return;
    asked.current = new Set(found.rows.map((r) => r.inst));
    feed.lacks();
  }, [found]);

  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = words.length ? found.rows.filter((r) => words.every((w) => `${r.id || ""} ${r.user} ${r.name}`.toLowerCase().includes(w))) : found.rows;
  const first = s.columns[0].key;
  const by = sort && (["pid", "user", "name"].includes(sort.replace(/^-/, "")) || s.columns.some((c) => c.key === sort.replace(/^-/, ""))) ? sort : first;
  const sorted = [...matching].sort(compare(s, by));
  const top = sorted.slice(0, limit);

  const head = (key: string, title: string, cls = "", hint = "") => {
    const active = by.replace(/^-/, "") === key;
    const text = key === "pid" || key === "user" || key === "name";
    const up = by.startsWith("-") !== text;
    return (
      <th scope="col" key={key} class={cls} aria-sort={!active ? undefined : up ? "ascending" : "descending"}>
        <button type="button" class="sort" title={hint || `Sort by ${title}`} onClick={() => change({ sort: by === key ? "-" + key : key })}>
          {title}
          <span aria-hidden="true">{active ? (up ? " ▲" : " ▼") : ""}</span>
        </button>
      </th>
    );
  };
  // On a narrow screen there is room for two columns, and that by which is sorted.
  const extra = (c: Column, k: number) => (k > 1 && by.replace(/^-/, "") !== c.key ? "extra" : "");
  const numbers = () => [
    [...(s.detail ? ["PID", "user", "command"] : [s.of]), ...s.columns.map((c, k) => c.title + (c.age ? " (s)" : unitOf(found.kinds[k])))],
    ...sorted.map((r) => [...(s.detail ? [r.id || null, r.user] : []), r.name, ...r.cells]),
  ];
  const body = useFocusKept<HTMLTableSectionElement>();
  const same = useSame();
  const plural = s.plural ?? s.of + "s";
  let why: ComponentChildren = "Waiting for values…";
  if (found.absent) why = `This host has no metrics of a ${s.of}.`;
  else if (!found.rows.length && s.guarded && access.state === "unknown")
    why = (
      <span>
        The {plural} of this host are shown to the user who started the collector: open the address, with its token, that <code>pcp up</code> printed, or run <code>pcp chart</code>.
      </span>
    );
  else if (v.live && names.every((n) => feed.absent.has(n) || feed.table(n)?.series.size === 0))
    why = access.state === "known" || !s.guarded ? `This host has no ${s.of} of which these values are known.` : `The collector shows this page no ${s.of}. It may do so only for users that it knows.`;
  else if (means?.error) why = `The archives cannot be read: ${means.error}`;
  else if (!v.live) why = feed.loading || means?.loading ? "Reading the archives…" : `Nothing was recorded of any ${s.of} at this time.`;
  else if (found.rows.length) why = `No ${s.of} has “${filter.trim()}”.`;
  const note = [...found.reasons].map(([title, reason]) => `${title}: ${reason}`).join("; ");
  const some = note ? undefined : s.columns.find((c, k) => c.seldom && top.some((r) => r.cells[k] === null && r.missing[k] === c.seldom));
  return (
    <div class="activity" ref={ref}>
      {(found.rows.length > 0 || filter !== "") && (
        <div class="bar">
          <input type="search" placeholder={`Filter ${plural}`} aria-label={`Filter ${plural}`} value={filter} onInput={(e) => change({ filter: e.currentTarget.value })} />
          {s.detail && !props.keep && (
            <label class="check">
              <input type="checkbox" checked={whole} onChange={(e) => setWhole(e.currentTarget.checked)} /> whole commands
            </label>
          )}
          {!v.live && (
            <label class="check">
              <select aria-label={`Numbers of ${s.title.toLowerCase()}`} value={over ? "window" : "end"} onChange={(e) => set({ over: e.currentTarget.value === "window" ? "window" : "" })}>
                <option value="end">at {clock(at, v.zone, true, false)}</option>
                <option value="window">mean of {span(v.window)}</option>
              </select>
            </label>
          )}
          <label class="narrow">
            Sort by{" "}
            <select value={by.replace(/^-/, "")} onChange={(e) => change({ sort: e.currentTarget.value })}>
              {s.columns.map((c) => (
                <option key={c.key} value={c.key}>
                  {c.title}
                </option>
              ))}
            </select>
          </label>
          <button type="button" title="Save these rows as CSV" onClick={() => save(fileName(`${main.host} ${s.title} ${new Date(at * 1000).toISOString().slice(0, 19)}`, "csv"), "text/csv;charset=utf-8", csv(numbers()))}>
            CSV
          </button>
          <span class="count" role="status">
            {words.length ? `${matching.length} of ${found.rows.length}` : `${found.rows.length} ${found.rows.length === 1 ? s.of : plural}`}
          </span>
        </div>
      )}
      {top.length === 0 ? (
        <p class="why tallwhy">{why}</p>
      ) : (
        <div class="numbers list">
          <table class={s.detail ? "processes" : ""}>
            <caption class="vh">{s.title}</caption>
            <thead>
              <tr>
                {s.detail && head("pid", "PID", "pid")}
                {s.detail && head("user", "User", "user")}
                {head("name", s.detail ? "Command" : s.of, "of")}
                {s.columns.map((c, k) => head(c.key, c.title, extra(c, k), c.hint))}
              </tr>
            </thead>
            <tbody ref={body}>
              {top.map((r) => {
                const texts = r.cells.map((x, k) => shown(s.columns[k], found.kinds[k], x));
                return same(r.inst, [s, state, set, whole, by, r.id, r.user, r.name, texts.join(), r.missing.join()], () => (
                <tr key={r.inst}>
                  {s.detail && <td class="pid">{r.id || "–"}</td>}
                  {s.detail && <td class="user" title={r.user}>{r.user || "–"}</td>}
                  <th scope="row" title={r.name} class={whole ? "whole" : ""}>
                    {s.detail && r.id ? (
                      <Goto class="name" to={{ page: "activity", of: "process", pid: r.id, item: "" }}>
                        {r.name}
                      </Goto>
                    ) : s.key && r.inst ? (
                      <Goto class="name" to={{ page: "activity", of: s.key, pid: 0, item: r.inst }}>
                        {r.name}
                      </Goto>
                    ) : (
                      <span class="name">{r.name || "all"}</span>
                    )}
                  </th>
                  {r.cells.map((x, k) => (
                    <td key={k} class={extra(s.columns[k], k)} title={x === null ? r.missing[k] : undefined}>
                      {texts[k]}
                    </td>
                  ))}
                </tr>
                ));
              })}
            </tbody>
          </table>
        </div>
      )}
      {note && top.length > 0 && <p class="note">– in {note}.</p>}
      {some && <p class="note">– in {some.title}: {some.seldom}</p>}
      {matching.length > limit && (
        <p class="more">
          <button type="button" onClick={() => setLimit(limit + steps)}>
            {Math.min(steps, matching.length - limit)} more
          </button>
        </p>
      )}
    </div>
  );
}

const glance = 3; // seconds between two samples of the tables of the overview, as in top(1)

// TableCard is the table of a subject on the overview.
export function TableCard(props: { subject: Subject; rows: number }) {
  const { state, set } = useApp();
  const s = props.subject;
  const isFirst = s.key === "process";
  return (
    <section class={"card " + (isFirst ? "wide" : "")} aria-label={s.title}>
      <header>
        <h2>{s.title}</h2>
        <Goto class="button" to={{ page: "activity", of: s.key, pid: 0, item: "", ...(isFirst ? {} : sortingOf(s.key)) }} label={`All ${s.title.toLowerCase()}`}>
          All →
        </Goto>
      </header>
      {isFirst ? <Table subject={s} rows={props.rows} pace={glance} sorting={state} onSort={set} /> : <Table subject={s} rows={props.rows} pace={glance} />}
    </section>
  );
}

// Activity is a page of its own: a table, or a process.
export function Activity() {
  const { state, set } = useApp();
  if (state.pid) return <Process pid={state.pid} key={state.pid} />;
  const s = tables.find((t) => t.key === state.of) ?? tables[0];
  if (state.item) return <Item subject={s} item={state.item} key={s.key + " " + state.item} />;
  return (
    <div>
      <h1 class="vh">Activity</h1>
      <section class="card" aria-label={s.title}>
        <header>
          <nav class="tabs" aria-label="Activity of">
            {tables.map((t) => (
              <a
                key={t.key}
                href={link({ ...state, of: t.key, ...sortingOf(t.key) })}
                aria-current={t === s ? "page" : undefined}
                onClick={(e) => {
                  e.preventDefault();
                  set({ of: t.key, ...sortingOf(t.key) });
                }}
              >
                {t.title}
              </a>
            ))}
          </nav>
        </header>
        <Table key={s.key} subject={s} rows={40} sorting={state} onSort={set} />
      </section>
    </div>
  );
}

const processCharts: ChartPanel[] = [
  { kind: "chart", title: "CPU", style: "stack", min: 0, plots: [{ metric: "proc.psinfo.utime", legend: "user" }, { metric: "proc.psinfo.stime", legend: "system" }] },
  { kind: "chart", title: "Memory", style: "area", min: 0, plots: [{ metric: "proc.psinfo.rss", legend: "resident" }] },
  { kind: "chart", title: "Disk I/O", style: "area", min: 0, plots: [{ metric: "proc.io.read_bytes", legend: "read" }, { metric: "proc.io.write_bytes", legend: "written" }] },
  { kind: "chart", title: "Page faults", style: "line", min: 0, plots: [{ metric: "proc.psinfo.minflt", legend: "minor", optional: true }, { metric: "proc.psinfo.maj_flt", legend: "major", optional: true }] },
  { kind: "chart", title: "Threads", style: "line", min: 0, plots: [{ metric: "proc.psinfo.threads", legend: "threads" }] },
];
const facts = [byProcess.args, byProcess.user, byProcess.start, "proc.psinfo.sname", "proc.psinfo.ppid", "proc.psinfo.cgroups", "proc.psinfo.threads"];
const states: Record<string, string> = { R: "running", S: "sleeping", D: "waiting for a disk", Z: "ended, not yet waited for", T: "stopped", t: "traced", I: "idle" };

// Process shows one process and its past.
function Process(props: { pid: number }) {
  const app = useApp();
  const { feed: main, state } = app;
  useFeedVersion();
  const { pid } = props;
  const [feed, setFeed] = useState<Feed | null>(null);
  useEffect(() => {
    const f = main.branch({ metric: byProcess.args, instance: pid, pattern: String(pid).padStart(6, "0") + " *" });
    const known = main.busy;
    for (const p of processCharts) {
      for (const { metric } of p.plots) {
        const inst = [...(known.table(metric)?.series.keys() ?? [])].find((i) => pidOf(i) === pid);
        if (inst !== undefined) f.seed(known, metric, inst);
      }
    }
    setFeed(f);
    return () => f.stop();
  }, [main, pid]);
  useEffect(() => main.want(["kernel.all.uptime"], false), [main]);
  return (
    <div class="process">
      <p>
        <Goto class="button" to={{ pid: 0 }}>
          ← All processes
        </Goto>
      </p>
      {feed && (
        <AppContext.Provider value={{ ...app, feed }}>
          <About pid={pid} up={uptime(main, state.view.live ? main.now : state.view.end)} />
          <div class="grid">
            {processCharts.map((p) => (
              <Card key={p.title} panel={p} own={false} fixed />
            ))}
          </div>
        </AppContext.Provider>
      )}
    </div>
  );
}

function About(props: { pid: number; up: number | null }) {
  const { feed, state } = useApp();
  useFeedVersion();
  useEffect(() => feed.want(facts, false), [feed]);
  const v = state.view;
  const at = v.live ? feed.now : v.end;
  const text = (name: string) => plain(textOf(feed.table(name), "", at), true);
  const args = text(byProcess.args);
  const table = feed.table(byProcess.args);
  // A sample without it is one after its end.
  const ended = v.live && !!table?.t.length && table.series.get("")?.[table.t.length - 1] === null;
  const began = Number(text(byProcess.start) || NaN) / 1000;
  const age = props.up === null || !Number.isFinite(began) ? null : Math.max(0, props.up - began);
  const parent = Number(text("proc.psinfo.ppid"));
  const s = text("proc.psinfo.sname");
  const group = groupsOf(textOf(feed.table("proc.psinfo.cgroups"), "", at)).pop() ?? "";
  const user = textOf(feed.table(byProcess.user), "", at);
  const fact = (name: string, value: ComponentChildren) =>
    value ? (
      <div>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ) : null;
  return (
    <section class="card about" aria-label={`Process ${props.pid}`}>
      <h1 class="command">{args || `Process ${props.pid}`}</h1>
      {!args && !table?.t.length && <p class="note">{feed.loading || (v.live && !feed.status.startsWith("ok")) ? "Waiting for values…" : `Nothing is known of a process ${props.pid} at this time.`}</p>}
      {(ended || (!args && v.live && !!table?.t.length)) && <p class="note">There is no process {props.pid} now.</p>}
      <dl class="facts">
        {fact("PID", String(props.pid))}
        {fact("User", user && <Goto to={{ of: "user", pid: 0, item: user }}>{plain(user)}</Goto>)}
        {fact("State", s && (states[s] ?? s))}
        {fact("Threads", text("proc.psinfo.threads"))}
        {fact("Began", age !== null && <Fragment>{dated(at - age, v.zone)} ({span(age)} ago)</Fragment>)}
        {fact("Parent", parent > 0 && <Goto to={{ pid: parent }}>{String(parent)}</Goto>)}
        {fact("Control group", group && group !== "/" && <Goto to={{ of: "cgroup", pid: 0, item: group }}>{plain(group)}</Goto>)}
      </dl>
    </section>
  );
}
