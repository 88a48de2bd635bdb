// All hosts: a table with what was of each in the last hour, those in trouble first, and a heat map.

import { Component, h, createRef } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useApp } from "./context";
import { csv, fileName, save } from "./export";
import { HeatMap } from "./heat";
import { askHistory, keyOf, order, readFleet, select, shownIn, type Fleet as All, type FleetColumn, type Past } from "./hosts";
import { ask, Refused, visible } from "./source";
import { link, type State } from "./state";
import { palette, type Theme } from "./theme";
import { dated, plain, span } from "./time";
import { fixed } from "./units";

const rowHeight = 34; // pixels
const spare = 10; // rows beyond what is seen
const pool = 128; // keys of rows, at least: elements are reused, and the focused one keeps its row while the height of the table changes
const stride = 4; // rows by which the table moves on while it is scrolled
const settle = 120; // ms that a row is seen before its history is asked for
const again = 2000; // ms until a table that is not ready is asked for again
const failed = 10_000; // ms until a server that failed is asked again
const maxPasts = 20_000; // rows of histories that are kept

// useHosts counts the hosts of the server, again and again until there are several.
export function useHosts(base: string): number {
  const [n, set] = useState(0);
  useEffect(() => {
    let timer = 0;
    const abort = new AbortController();
    const look = async () => {
      await visible();
      if (abort.signal.aborted) return;
      try {
        const v = await ask(base + "fleet/hosts", { count: "" }, abort.signal);
        const count = Number(v?.count) || 0;
        set(count);
        if (count > 1) return;
      } catch (e) {
        if (abort.signal.aborted || (e instanceof Refused && e.status < 500)) return; // this server has no fleet
      }
      if (!abort.signal.aborted) timer = window.setTimeout(() => void look(), 60_000);
    };
    void look();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [base]);
  return n;
}

// safeHost is a name that may also be that of a collector.
const safeHost = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

// toHost is the way to the page of a host: of its collector if the server reaches that, else of its archives.
export function toHost(name: string, own: string): Partial<State> {
  const to: Partial<State> = { page: "overview", pid: 0, sort: "", filter: "", heat: "" };
  if (name === own) return { ...to, host: "", from: "" };
  return { ...to, host: name, from: safeHost.test(name) ? "any" : "archives" };
}

let own = ""; // the name of the server's own host

// useTimes returns the times that the view asks for.
function useTimes(step: number): { window?: string; end?: string } {
  const { feed, state } = useApp();
  const v = state.view;
  const window = v.window > 3600 ? String(Math.round(v.window)) : undefined;
  const grain = Math.max(60, step);
  const end = v.live || (feed.past && v.end >= feed.now) ? (feed.past && feed.now ? String(Math.ceil(feed.now)) : undefined) : String(Math.floor(v.end / grain) * grain);
  return useMemo(() => ({ window, end }), [window, end]);
}

export function Fleet() {
  const { feed, state, set, say, theme } = useApp();
  const [all, setAll] = useState<All | null>(null);
  const [problem, setProblem] = useState("");
  if (!state.host && feed.host) own = feed.host;
  const base = feed.live.base;
  const times = useTimes(all?.step ?? 60);
  useEffect(() => {
    let timer = 0;
    const abort = new AbortController();
    const look = async () => {
      let wait = failed;
      await visible();
      if (abort.signal.aborted) return;
      try {
        const f = readFleet(await ask(base + "fleet/hosts", times, abort.signal));
        setAll(f);
        setProblem("");
        if (times.end !== undefined) return; // the past does not change
        wait = Math.max(again, Math.min(f.step * 1000, (f.time + f.step) * 1000 - Date.now() + 1500));
      } catch (e) {
        if (abort.signal.aborted) return;
        const busy = e instanceof Refused && e.status === 503;
        if (busy) wait = again;
        setProblem(e instanceof Error ? (e.name === "TimeoutError" ? "no answer in time" : e.message) : String(e));
      }
      if (!abort.signal.aborted) timer = window.setTimeout(() => void look(), wait);
    };
    // While time moves, only the place where it rests is asked for.
    timer = window.setTimeout(() => void look(), times.end === undefined ? 0 : 250);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [base, times]);

  const sort = state.sort || "trouble";
  const rows = useMemo(() => (all ? order(all, select(all, state.filter), sort) : []), [all, state.filter, sort]);
  const labels = useMemo(() => (all ? [...all.labels].flatMap(([name, l]) => l.values.slice(0, 200).map((v) => `${name}=${v}`)).filter((s) => !/\s/.test(s)).slice(0, 1000) : []), [all]);
  const openHost = (name: string) => set(toHost(name, own));
  const sortable: [string, string][] = [["trouble", "Trouble"], ["host", "Host"], ...(all?.columns ?? []).map((c): [string, string] => [c.name, c.title]), ...(all?.owner ? [["recording", "Recording"] as [string, string]] : [])];
  const numbers = () => [
    ["host", "trouble", ...all!.columns.map((c) => c.title + (c.unit ? ` (${c.unit})` : "")), ...(all!.owner ? ["recorder", "lag (s)", "error"] : [])],
    ...rows.map((i) => [all!.hosts[i], all!.trouble[i], ...all!.columns.map((c) => all!.values.get(c.name)![i]), ...(all!.owner ? [all!.owner[i], all!.lag[i], all!.error[i]] : [])]),
  ];
  return (
    <div class="fleet">
      <h1 class="vh">Fleet</h1>
      <div class="bar">
        <input type="search" list="fleet-labels" placeholder="Filter: words, label=value" aria-label="Filter hosts" value={state.filter} onInput={(e) => set({ filter: e.currentTarget.value })} />
        <datalist id="fleet-labels">
          {labels.map((l) => (
            <option key={l} value={l} />
          ))}
        </datalist>
        <label class="select">
          <span>Sort by</span>
          <select aria-label="Sort by" value={sort.replace(/^-/, "")} onChange={(e) => set({ sort: e.currentTarget.value === "trouble" ? "" : e.currentTarget.value })}>
            {sortable.map(([k, title]) => (
              <option key={k} value={k}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <div class="group" role="group" aria-label="View">
          <button type="button" aria-pressed={!state.heat} onClick={() => set({ heat: "" })}>
            Table
          </button>
          <button type="button" aria-pressed={!!state.heat} onClick={() => set({ heat: state.heat || "load" })}>
            Heat map
          </button>
        </div>
        <button type="button" title="Save these rows as CSV" disabled={!all} onClick={() => save(fileName(`fleet ${new Date(all!.time * 1000).toISOString().slice(0, 19)}`, "csv"), "text/csv;charset=utf-8", csv(numbers()))}>
          CSV
        </button>
        {(state.host || state.from) && (
          <button type="button" onClick={() => { set({ host: "", from: "" }); say("The page is that of the server's own host"); }}>
            Own host
          </button>
        )}
        <span class="count" role="status">
          {all ? (rows.length === all.hosts.length ? `${rows.length} hosts` : `${rows.length} of ${all.hosts.length} hosts`) : ""}
        </span>
        {all && <span class="count at">{dated(all.time, state.view.zone)}</span>}
      </div>
      {problem && (
        <p class="why" role="status">
          {all ? "This is what was known before: " : ""}
          {problem}
        </p>
      )}
      {!all ? (
        !problem && <p class="why tallwhy">Waiting for values…</p>
      ) : rows.length === 0 ? (
        <p class="why tallwhy">{all.hosts.length ? `No host has “${state.filter.trim()}”.` : "There are no hosts."}</p>
      ) : state.heat ? (
        <HeatMap all={all} rows={rows} times={times} openHost={openHost} />
      ) : (
        <Hosts all={all} rows={rows} times={times} sort={sort} theme={theme} onSort={(s) => set({ sort: s === "trouble" ? "" : s })} openHost={openHost} />
      )}
    </div>
  );
}

// Hosts is the table. Only the rows that are seen are there.
function Hosts(props: { all: All; rows: number[]; times: { window?: string; end?: string }; sort: string; theme: Theme; onSort: (s: string) => void; openHost: (name: string) => void }) {
  const { feed, state } = useApp();
  const { all, rows, sort, times } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0); // the first row that is seen
  const [seen, setSeen] = useState(20); // how many there are
  const [active, setActive] = useState(0);
  const pasts = useRef(new Map<string, Past | null>());
  const [version, setVersion] = useState(0); // of pasts

  useEffect(() => {
    const el = box.current!;
    const measure = () => setSeen(Math.ceil(el.clientHeight / rowHeight) || 20);
    const o = new ResizeObserver(measure);
    o.observe(el);
    measure();
    return () => o.disconnect();
  }, []);
  const scroll = () => box.current && setTop(Math.floor(Math.max(0, box.current.scrollTop) / rowHeight / stride) * stride);
  const from = Math.max(0, Math.min(top, rows.length - seen) - spare);
  const to = Math.min(rows.length, top + seen + spare);

  // The history of what is seen is asked for when scrolling rests.
  const visible = useMemo(() => rows.slice(from, to).map((i) => all.hosts[i]), [rows, from, to, all]);
  const newest = useRef(all);
  useEffect(() => {
    const fresh = newest.current !== all;
    newest.current = all;
    if (pasts.current.size > maxPasts) pasts.current.clear();
    const missing = fresh ? visible : visible.filter((n) => !pasts.current.has(keyOf(n, all.columns[0]?.name)));
    if (fresh) for (const key of [...pasts.current.keys()]) if (!visible.includes(key.slice(key.indexOf("\n") + 1))) pasts.current.delete(key);
    if (!missing.length) return;
    const abort = new AbortController();
    const id = setTimeout(async () => {
      try {
        const found = await askHistory(feed.live.base, times, missing, abort.signal);
        for (const name of missing) for (const c of all.columns) pasts.current.set(keyOf(name, c.name), found.get(keyOf(name, c.name)) ?? null);
        setVersion((n) => n + 1);
      } catch {
        // The rows have no pictures; the next table asks again.
      }
    }, fresh ? 0 : settle);
    return () => {
      clearTimeout(id);
      abort.abort();
    };
  }, [visible, all]);

  // A new order begins at its first row. That is done before the next key can come: later it would undo what the key did.
  const order = useRef(sort + state.filter);
  useLayoutEffect(() => {
    if (order.current === sort + state.filter) return;
    order.current = sort + state.filter;
    box.current!.scrollTop = 0;
    setActive(0);
  }, [sort, state.filter]);

  const wanted = useRef(false); // the active row is to have the focus
  const go = (n: number) => {
    const k = Math.max(0, Math.min(rows.length - 1, n));
    const el = box.current!;
    const head = el.querySelector("thead")!.getBoundingClientRect().height;
    const y = k * rowHeight;
    if (y < el.scrollTop) el.scrollTop = y;
    else if (y + rowHeight + head > el.scrollTop + el.clientHeight) el.scrollTop = y + rowHeight + head - el.clientHeight;
    wanted.current = true;
    setActive(k);
    scroll();
  };
  useLayoutEffect(() => {
    const el = box.current!;
    const a = el.querySelector<HTMLElement>(`tr[data-row="${active}"] a`);
    if (wanted.current && a) {
      a.focus({ preventScroll: true });
      wanted.current = false;
    }
    // A row that was scrolled away takes the focus with it: the table keeps it.
    else if (document.activeElement === document.body && el.dataset.focused) el.focus({ preventScroll: true });
  });
  const keys: Record<string, () => void> = {
    ArrowDown: () => go(active + 1),
    ArrowUp: () => go(active - 1),
    PageDown: () => go(active + Math.max(1, seen - 2)),
    PageUp: () => go(active - Math.max(1, seen - 2)),
    Home: () => go(0),
    End: () => go(rows.length - 1),
  };
  const by = sort.replace(/^-/, "");
  const head = (key: string, title: string, hint: string, cls = "") => {
    const on = by === key;
    const up = sort.startsWith("-") !== (key === "host");
    return (
      <th scope="col" key={key} class={cls} aria-sort={!on ? undefined : up ? "ascending" : "descending"}>
        <button type="button" class="sort" title={hint} onClick={() => props.onSort(sort === key ? "-" + key : key)}>
          {title}
          <span aria-hidden="true">{on ? (up ? " ▲" : " ▼") : ""}</span>
        </button>
      </th>
    );
  };
  // On a narrow screen there is room for one column beside that of trouble.
  const shown = all.columns.some((c) => c.name === by) || by === "recording" ? by : all.columns[0]?.name;
  const extra = (key: string) => (key === shown ? "" : "extra");
  return (
    <div
      class="rows"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label="Hosts: arrow keys move, Enter opens the host"
      onScroll={scroll}
      onFocusIn={() => (box.current!.dataset.focused = "1")}
      onFocusOut={(e) => e.relatedTarget && !box.current!.contains(e.relatedTarget as Node) && delete box.current!.dataset.focused}
      onKeyDown={(e) => {
        const f = e.altKey || e.ctrlKey || e.metaKey || e.shiftKey ? undefined : keys[e.key];
        if (!f) return;
        f();
        e.preventDefault();
        e.stopPropagation();
      }}
    >
      <table aria-rowcount={rows.length + 1}>
        <caption class="vh">Hosts, and what was of each in the last {span((all.step * 59) || 3600)}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {head("host", "Host", "Sort by name")}
            {head("trouble", "Trouble", "0 to 100: how far the worst value is beyond what is usual", "score")}
            {all.columns.map((c) => head(c.name, c.title, c.help, (c.unit === "bytes/s" ? "bytes " : "") + extra(c.name)))}
            {all.owner && head("recording", "Recording", "The recorder, how long ago its last sample was, and its last error", "recording " + extra("recording"))}
          </tr>
        </thead>
        <tbody>
          <tr class="pad" aria-hidden="true" style={{ height: `${from * rowHeight}px` }} />
          {rows.slice(from, to).map((i, k) => (
            <Row
              key={(from + k) % Math.max(pool, seen + 3 * spare)}
              all={all}
              i={i}
              at={from + k}
              active={from + k === active}
              pasts={all.columns.map((c) => pasts.current.get(keyOf(all.hosts[i], c.name)) ?? null)}
              version={version}
              theme={props.theme}
              shown={shown}
              openHost={props.openHost}
              onActive={() => setActive(from + k)}
            />
          ))}
          <tr class="pad" aria-hidden="true" style={{ height: `${(rows.length - to) * rowHeight}px` }} />
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  all: All;
  i: number; // the host
  at: number; // its place
  active: boolean;
  pasts: (Past | null)[];
  version: number;
  theme: Theme;
  shown: string | undefined;
  openHost: (name: string) => void;
  onActive: () => void;
}

const pictureWidth = 56;
const pictureHeight = 20;

class Row extends Component<RowProps> {
  private pictures = createRef<HTMLTableRowElement>();

  shouldComponentUpdate(p: RowProps) {
    const q = this.props;
    return p.all !== q.all || p.i !== q.i || p.at !== q.at || p.active !== q.active || p.version !== q.version || p.theme !== q.theme || p.shown !== q.shown;
  }

  componentDidMount() {
    this.draw();
  }

  componentDidUpdate(p: RowProps) {
    const q = this.props;
    if (p.i !== q.i || p.theme !== q.theme || p.all !== q.all || p.pasts.some((x, k) => x !== q.pasts[k])) this.draw();
  }

  private draw() {
    const { all, pasts, theme } = this.props;
    const colours = palette(theme);
    this.pictures.current?.querySelectorAll("canvas").forEach((c, k) => draw(c, pasts[k], all.columns[k], colours[k % colours.length]));
  }

  render() {
    const { all, i, at, active, shown, openHost, onActive } = this.props;
    const name = all.hosts[i];
    const text = plain(name);
    const t = all.trouble[i];
    const age = all.age[i];
    const gone = age !== null && age > 5 * all.step;
    const extra = (key: string) => (key === shown ? "" : " extra");
    const error = all.error[i];
    return (
      <tr ref={this.pictures} data-row={at} aria-rowindex={at + 2} class={active ? "active" : ""}>
        <th scope="row">
          <Open name={name} text={text} active={active} openHost={openHost} onActive={onActive} />
        </th>
        <td class={"score " + level(t, 30, 75)} title={gone ? `The newest value is ${span(age)} old` : undefined}>
          {t === null ? "no values" : gone ? `gone ${span(age)}` : fixed(t, 0)}
        </td>
        {all.columns.map((c) => {
          const v = all.values.get(c.name)![i];
          return (
            <td key={c.name} class={level(v, c.low, c.high) + extra(c.name)}>
              <canvas width={pictureWidth} height={pictureHeight} aria-hidden="true" />
              <span>{shownIn(c, v)}</span>
            </td>
          );
        })}
        {all.owner && (
          <td class={"recording" + extra("recording")} title={error ? plain(error) : undefined}>
            {all.owner[i] === null ? (
              "–"
            ) : (
              <span>
                {plain(all.owner[i]!)}
                {all.lag[i] === null ? "" : ` ${span(all.lag[i]!)}`}
                {error ? <strong class="high"> ⚠ {plain(error)}</strong> : ""}
              </span>
            )}
          </td>
        )}
      </tr>
    );
  }
}

function Open(props: { name: string; text: string; active: boolean; openHost: (name: string) => void; onActive: () => void }) {
  const { state } = useApp();
  return (
    <a
      class="name"
      tabIndex={props.active ? 0 : -1}
      title={props.text}
      href={link({ ...state, ...toHost(props.name, own) })}
      onFocus={props.onActive}
      onClick={(e) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey) return; // in a window of its own
        e.preventDefault();
        props.openHost(props.name);
      }}
    >
      {props.text}
    </a>
  );
}

// level is the class of a value that is out of the ordinary.
function level(v: number | null, low: number, high: number): string {
  if (v === null || low === high) return "";
  return v >= high ? "high" : v >= low ? "raised" : "";
}

// draw draws the history of a column.
function draw(c: HTMLCanvasElement, p: Past | null, column: FleetColumn, colour: string): void {
  const ratio = Math.min(2, devicePixelRatio || 1);
  const w = Math.round(pictureWidth * ratio);
  const h = Math.round(pictureHeight * ratio);
  if (c.width !== w || c.height !== h) {
    c.width = w;
    c.height = h;
  }
  const g = c.getContext("2d");
  if (!g) return;
  g.clearRect(0, 0, w, h);
  if (!p) return;
  // From zero up to the largest value, or as far as a value that is trouble begins.
  const top = Math.max(p.high, column.low, 1e-9);
  const n = p.levels.length;
  g.beginPath();
  let on = false;
  for (let k = 0; k < n; k++) {
    const b = p.levels[k];
    if (!b) {
      on = false;
      continue;
    }
    const v = p.low + ((b - 1) / 254) * (p.high - p.low);
    const x = (k / Math.max(1, n - 1)) * (w - ratio) + ratio / 2;
    const y = h - ratio - (Math.max(0, v) / top) * (h - 2 * ratio);
    if (on) g.lineTo(x, y);
    else {
      g.moveTo(x, y);
      g.lineTo(x + ratio / 2, y); // a value without neighbours is a dot
    }
    on = true;
  }
  g.strokeStyle = colour;
  g.lineWidth = 1.2 * ratio;
  g.stroke();
}
