// Panels that are not charts: single values, heat maps, tables and texts.

import { h } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Exporter } from "./chart";
import { useApp, useFeedVersion } from "./context";
import type { HeatPanel, Plot, TablePanel, TextPanel, ValuePanel } from "./dashboard";
import { csv, fileName, numbersOf, save, unitOf, type Series } from "./export";
import { useFocusKept } from "./focus";
import { chosenOf, draw, legend, peak, sourceOf, statsOf, wantKey, wantLines, wantPlots, type Drawing, type Drawn } from "./lines";
import { queryKind, queryLegend } from "./promql";
import { rampOf } from "./schemes";
import { fit, sheetPNG, sheetSVG, type Shape, type Sheet } from "./shapes";
import { inks } from "./theme";
import { describeThreshold, reached } from "./thresholds";
import { clock, dated, plain } from "./time";
import { showWith } from "./units";
import { kindOf, latestOf, textOf, type Kind } from "./values";

interface Props<P> {
  panel: P;
  tall?: boolean;
  exporter?: { current: Exporter | null };
}

// useWindow returns the time that is seen.
function useWindow() {
  const { feed, state } = useApp();
  const v = state.view;
  const to = v.live ? feed.now : v.end;
  return { v, from: to - v.window, to };
}

// reason says why there is nothing to see, or what is not.
function reason(d: Drawing, n: number, loading: boolean, live: boolean): string {
  if (!n) return "No metric yet. Choose some with Edit.";
  if (d.lost.length) return d.lost.join("; ");
  if (d.absent.length) return `The collector has no ${d.absent.join(", ")}.`;
  if (d.strings.length) return `${d.strings.join(", ")} is not a number; a table shows it.`;
  if (loading) return "Reading the archives…";
  if (d.waiting && live) return "Waiting for values…";
  return live ? "No values." : "Nothing was recorded of this at this time.";
}

function seriesOf(lines: Drawn[], panel: { plots: Plot[] }): Series[] {
  return lines.map((l) => ({ label: l.label, metric: sourceOf(panel.plots[Number(l.key.split(" ", 1)[0])]), instance: l.key.slice(l.key.indexOf(" ") + 1), kind: l.kind, t: l.all.t, v: l.all.v }));
}

function nameOf(host: string, title: string, to: number, ext: string): string {
  return fileName(`${host} ${title} ${Number.isFinite(to) ? new Date(to * 1000).toISOString().slice(0, 19) : ""}`.trim(), ext);
}

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// write saves what is seen of a panel.
function write(as: "png" | "svg" | "csv" | "json", name: (ext: string) => string, sheet: () => Sheet, rows: () => (string | number | null)[][], json: () => string): void {
  if (as === "csv") save(name("csv"), "text/csv;charset=utf-8", csv(rows()));
  else if (as === "json") save(name("json"), "application/json", json());
  else if (as === "svg") save(name("svg"), "image/svg+xml", sheetSVG(sheet()));
  else void sheetPNG(sheet()).then((b) => b && save(name("png"), "image/png", b));
}

const maxValues = 12; // large numbers in a panel

// Values shows a few numbers in large digits, each with its course.
export function Values(props: Props<ValuePanel>) {
  const { feed } = useApp();
  const version = useFeedVersion();
  const { panel } = props;
  const { v, from, to } = useWindow();
  useEffect(() => wantPlots(feed, panel.plots, true), [feed, wantKey(panel.plots)]);
  const d = useMemo(() => draw(panel, feed, from, to, 60, maxValues), [panel, feed, from, to, version]);
  const shown = d.lines.map((l) => {
    const s = statsOf(l, null, 0);
    const x = panel.of === "last" ? s.at : s[panel.of];
    return { l, x, text: showWith(x, l.kind.unit, l.kind.utilization), over: reached(x, panel.thresholds) };
  });
  if (props.exporter) {
    props.exporter.current = (as) => {
      const sheet = (): Sheet => {
        const shapes: Shape[] = [
          { x: 8, y: 20, text: fit(`${feed.host}: ${panel.title}`, 344, 14), size: 14, bold: true, fill: colorOf("--text") },
          { x: 8, y: 38, text: dated(to, v.zone), fill: colorOf("--dim") },
        ];
        shown.forEach((s, i) => {
          shapes.push({ x: 8, y: 72 + 48 * i, text: s.text, size: 24, bold: true, fill: colorOf(s.over ? `--${s.over.level}` : "--text") });
          shapes.push({ x: 8, y: 90 + 48 * i, text: fit(s.l.label, 344), fill: colorOf("--dim") });
        });
        return { title: panel.title, width: 360, height: 56 + 48 * shown.length, background: colorOf("--card"), shapes };
      };
      write(as, (ext) => nameOf(feed.host, panel.title, to, ext), sheet, () => [["name", panel.of, "unit"], ...shown.map((s) => [s.l.label, s.x, unitOf(s.l.kind)])], () => numbersOf({ title: panel.title, host: feed.host, from, to }, seriesOf(d.lines, panel)));
    };
  }
  if (!shown.length) return <p class="why tallwhy">{reason(d, panel.plots.length, feed.loading, v.live)}</p>;
  return (
    <div class="single">
      <dl>
        {shown.map((s) => (
          <div key={s.l.key}>
            <dt title={s.l.label}>{s.l.label}</dt>
            <dd class={s.over?.level}>
              <span class="huge">
                {s.over && <span aria-hidden="true">▲ </span>}
                {s.text}
              </span>
              <Course line={s.l} from={from} to={to} />
              {s.over && <span class="sub">at or above {describeThreshold(s.over, s.l.kind)}</span>}
            </dd>
          </div>
        ))}
      </dl>
      {(d.more > 0 || d.absent.length > 0 || d.lost.length > 0) && (
        <p class="note">
          {d.more > 0 && `${d.more} more values are not shown. `}
          {d.absent.length > 0 && `Not there: ${d.absent.join(", ")}. `}
          {d.lost.join("; ")}
        </p>
      )}
    </div>
  );
}

// Course is the line of a value without axes.
function Course(props: { line: Drawn; from: number; to: number }) {
  const { line, from, to } = props;
  const top = peak(line);
  const low = line.v.reduce<number>((m, x) => (x !== null && x < m ? x : m), 0);
  let path = "";
  let pen = "M";
  line.t.forEach((t, i) => {
    const x = line.v[i];
    if (x === null) {
      pen = "M";
      return;
    }
    path += `${pen}${(((t - from) / (to - from)) * 100).toFixed(1)} ${(19 - (top > low ? (x - low) / (top - low) : 0) * 18).toFixed(1)}`;
    pen = "L";
  });
  return (
    <svg class="course" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
      <path d={path} fill="none" stroke="currentColor" stroke-width="1" vector-effect="non-scaling-stroke" />
    </svg>
  );
}

const cellWidth = 6; // pixels of a time in a heat map, about
const axis = 18; // pixels of the times
const maxRows = 24;

// bucketsOf returns the lines of a histogram with the largest numbers first, without those above and below all values.
function bucketsOf(lines: Drawn[]): Drawn[] {
  const from = (l: Drawn) => parseFloat(l.key.slice(l.key.indexOf(" ") + 1).split("::").pop()!) || 0;
  const sorted = [...lines].sort((a, b) => from(b) - from(a));
  const used = sorted.map((l) => peak(l.all) > 0);
  const first = used.indexOf(true);
  return first < 0 ? [] : sorted.slice(first, used.lastIndexOf(true) + 1);
}

// columnsOf makes one mean of each stretch of a line.
function columnsOf(l: Drawn, start: number, step: number, n: number): (number | null)[] {
  const sum = new Float64Array(n);
  const weight = new Float64Array(n);
  const { t, v, d } = l.all;
  for (let i = 0; i < t.length; i++) {
    const x = v[i];
    if (x === null || !(d[i] > 0)) continue;
    const a = (t[i] - d[i] - start) / step;
    const b = (t[i] - start) / step;
    for (let k = Math.max(0, Math.floor(a)); k < n && k < b; k++) {
      const part = Math.min(b, k + 1) - Math.max(a, k);
      if (part > 0) {
        sum[k] += x * part;
        weight[k] += part;
      }
    }
  }
  return Array.from(sum, (s, k) => (weight[k] > 0 ? s / weight[k] : null));
}

// Heat shows instances from above to below and time from left to right; the largest instances are first.
export function Heat(props: Props<HeatPanel>) {
  const { feed, theme } = useApp();
  const version = useFeedVersion();
  const { panel } = props;
  const { v, from, to } = useWindow();
  const most = panel.top ?? maxRows;
  useEffect(() => wantPlots(feed, panel.plots, true, !panel.buckets), [feed, wantKey(panel.plots), panel.buckets]);
  useEffect(() => wantLines(feed, panel.plots, most), [feed, wantKey(panel.plots), most]);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(320);
  const [at, setAt] = useState<{ row: number; col: number; keys: boolean } | null>(null);
  const d = useMemo(() => draw(panel, feed, from, to, 400, most), [panel, feed, from, to, version, most]);
  const others = d.lines.find((l) => l.rest);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const o = new ResizeObserver(() => el.clientWidth && setWidth(el.clientWidth));
    o.observe(el);
    return () => o.disconnect();
  }, []);
  const left = Math.min(150, Math.round(width * 0.3));
  const n = Math.max(10, Math.min(200, Math.floor((width - left) / cellWidth)));
  const step = v.window / n;
  // The columns stay where they are while time goes on.
  const start = Math.floor(from / step) * step + step;
  const rows = useMemo(() => (panel.buckets ? bucketsOf(d.lines) : d.lines.filter((l) => !l.rest).sort((a, b) => peak(b.all) - peak(a.all))).map((l) => ({ l, cells: columnsOf(l, start, step, n) })), [d, start, step, n]);
  const first = rows[0]?.l.kind;
  const all = rows.flatMap((r) => r.cells.filter((x): x is number => x !== null));
  const high = panel.max ?? all.reduce((m, x) => Math.max(m, x), 0);
  const low = panel.log ? all.reduce((m, x) => (x > 0 && x < m ? x : m), high) : 0;
  const ramp = rampOf(panel.scheme);
  const level = (x: number): string => {
    const part = panel.log ? (x > 0 && high > low ? Math.log(x / low) / Math.log(high / low) : 0) : high > 0 ? x / high : 0;
    return ramp[Math.max(0, Math.min(255, Math.round(part * 255)))];
  };
  const rowH = rows.length <= 12 ? 20 : 14;
  const height = axis + rowH * Math.max(1, rows.length);
  const cell = (width - left) / n;
  const marks = Array.from({ length: Math.max(1, Math.floor((width - left) / 110)) }, (_, i) => Math.floor((i * n) / Math.max(1, Math.floor((width - left) / 110))));
  const shapes = (): Shape[] => {
    const out: Shape[] = [];
    rows.forEach((r, k) => {
      const y = axis + k * rowH;
      out.push({ x: 0, y: y + rowH / 2 + 4, text: fit(r.l.label, left - 8), fill: inks(theme).text });
      for (let i = 0; i < n; ) {
        const c = r.cells[i];
        const color = c === null ? "" : level(c);
        let j = i + 1;
        while (j < n && (r.cells[j] === null ? "" : level(r.cells[j]!)) === color) j++;
        if (color) out.push({ x: Math.round(left + i * cell), y, w: Math.round(left + j * cell) - Math.round(left + i * cell), h: rowH - 1, fill: color });
        i = j;
      }
    });
    for (const i of marks) out.push({ x: left + i * cell, y: 12, text: clock(start + i * step, v.zone, step * n < 300, v.window > 86400), fill: inks(theme).text });
    return out;
  };
  useLayoutEffect(() => {
    const c = canvas.current;
    const g = c?.getContext("2d");
    if (!c || !g) return;
    const ratio = devicePixelRatio || 1;
    c.width = Math.round(width * ratio);
    c.height = Math.round(height * ratio);
    g.scale(ratio, ratio);
    g.font = "11px system-ui, sans-serif";
    for (const s of shapes()) {
      g.fillStyle = s.fill;
      if (s.text === undefined) g.fillRect(s.x, s.y, s.w!, s.h!);
      else g.fillText(s.text, s.x, s.y);
    }
    if (at && rows[at.row]) {
      g.strokeStyle = colorOf("--text");
      g.lineWidth = 2;
      g.strokeRect(left + at.col * cell - 1, axis + at.row * rowH - 1, cell + 2, rowH + 1);
    }
  });
  const show = (x: number | null, k: Kind | undefined) => (x === null ? "no value" : k ? showWith(x, k.unit, k.utilization) : String(x));
  const find = (e: { clientX: number; clientY: number }) => {
    const r = box.current!.getBoundingClientRect();
    const row = Math.floor((e.clientY - r.top - axis) / rowH);
    const col = Math.floor((e.clientX - r.left - left) / cell);
    return row >= 0 && row < rows.length && col >= 0 && col < n ? { row, col, keys: false } : null;
  };
  const go = (row: number, col: number) => setAt({ row: Math.max(0, Math.min(rows.length - 1, row)), col: Math.max(0, Math.min(n - 1, col)), keys: true });
  const now = at ?? { row: 0, col: n };
  const keys: Record<string, () => void> = {
    ArrowDown: () => go(at ? now.row + 1 : 0, at ? now.col : n - 1),
    ArrowUp: () => go(now.row - 1, at ? now.col : n - 1),
    ArrowLeft: () => go(now.row, now.col - 1),
    ArrowRight: () => go(now.row, now.col + 1),
    Home: () => go(now.row, 0),
    End: () => go(now.row, n - 1),
  };
  const r = at ? rows[at.row] : undefined;
  const tip = at && r ? [r.l.label, show(r.cells[at.col], r.l.kind), dated(start + at.col * step, v.zone)] : null;
  if (props.exporter) {
    props.exporter.current = (as) => {
      const sheet = (): Sheet => ({
        title: panel.title,
        width,
        height: height + 48,
        background: colorOf("--card"),
        shapes: [
          { x: 8, y: 18, text: fit(`${feed.host}: ${panel.title}`, width - 16, 14), size: 14, bold: true, fill: colorOf("--text") },
          { x: 8, y: 34, text: `${dated(from, v.zone)} – ${dated(to, v.zone)}, up to ${show(high, first)}`, fill: colorOf("--dim") },
          ...shapes().map((s) => ({ ...s, y: s.y + 44 })),
        ],
      });
      const table = () => [
        ["time", ...rows.map((x) => x.l.label + (unitOf(x.l.kind) ? ` (${unitOf(x.l.kind)})` : ""))],
        ...Array.from({ length: n }, (_, i) => [new Date((start + i * step) * 1000).toISOString(), ...rows.map((x) => x.cells[i])]),
      ];
      write(as, (ext) => nameOf(feed.host, panel.title, to, ext), sheet, table, () => numbersOf({ title: panel.title, host: feed.host, from, to }, seriesOf(rows.map((x) => x.l), panel)));
    };
  }
  return (
    <div class="heatpanel">
      {!rows.length && <p class="why tallwhy">{reason(d, panel.plots.length, feed.loading, v.live)}</p>}
      <div
        ref={box}
        class="cells"
        hidden={!rows.length}
        tabIndex={0}
        role="group"
        aria-label={`Heat map of ${panel.title}: arrow keys move`}
        onPointerMove={(e) => setAt(find(e))}
        onPointerLeave={() => setAt((a) => (a?.keys ? a : null))}
        onBlur={() => setAt(null)}
        onKeyDown={(e) => {
          const f = e.altKey || e.ctrlKey || e.metaKey || e.shiftKey ? undefined : keys[e.key];
          if (!f || !rows.length) return;
          f();
          e.preventDefault();
          e.stopPropagation();
        }}
      >
        <canvas ref={canvas} aria-hidden="true" style={{ width: `${width}px`, height: `${height}px` }} />
        {tip && (
          <div class="tip" aria-hidden="true" style={{ left: `${Math.max(0, Math.min(left + at!.col * cell, width - 240))}px`, top: `${axis + (at!.row + 1) * rowH + 4}px` }}>
            <strong>{tip[0]}</strong>
            <span>{tip[1]}</span>
            <span>{tip[2]}</span>
          </div>
        )}
      </div>
      {rows.length > 0 && (
        <p class="note legend" aria-hidden="true">
          {show(low, first)} <span class="ramp" style={{ background: `linear-gradient(to right, ${[0, 64, 128, 192, 255].map((i) => ramp[i]).join(",")})` }} /> {show(high, first)}
          {panel.log ? ", logarithmic" : ""}
        </p>
      )}
      {rows.length > 0 && (d.more > 0 || d.kinds.length > 1 || d.absent.length > 0 || d.lost.length > 0) && (
        <p class="note">
          {d.more > 0 && `${d.more} more rows are not shown${others ? `; others, ${others.rest}: ${show(others.last, others.kind)}` : ""}. `}
          {d.kinds.length > 1 && "The rows are in different units. "}
          {d.absent.length > 0 && `Not there: ${d.absent.join(", ")}. `}
          {d.lost.join("; ")}
        </p>
      )}
      <div class="vh" role="status">
        {at?.keys && tip ? tip.join(", ") : ""}
      </div>
    </div>
  );
}

interface TableRow {
  key: string;
  name: string;
  cells: (number | string | null)[];
}

const recordedAge = 200; // seconds that a recorded value counts

// DataTable shows a row for each instance, and a column for each plot.
export function DataTable(props: Props<TablePanel>) {
  const { feed, theme } = useApp();
  useFeedVersion();
  const { panel } = props;
  const { v, from, to } = useWindow();
  const [sort, setSort] = useState<{ by: number; up: boolean }>({ by: 0, up: false });
  const [limit, setLimit] = useState(panel.rows);
  useEffect(() => setLimit(panel.rows), [panel.rows]);
  useEffect(() => wantPlots(feed, panel.plots, false, true), [feed, wantKey(panel.plots)]);
  // By size, the largest of thousands suffice.
  const whole = sort.by < 0 || sort.up;
  useEffect(() => (whole ? wantPlots(feed, panel.plots, false) : undefined), [feed, wantKey(panel.plots), whole]);
  useEffect(() => wantLines(feed, panel.plots, limit), [feed, wantKey(panel.plots), limit]);
  const body = useFocusKept<HTMLTableSectionElement>();
  const rows = new Map<string, TableRow>();
  const kinds: (Kind | null)[] = panel.plots.map(() => null);
  const lost: string[] = [];
  let others = 0; // rows that the server has not sent
  const hosts = new Set(panel.plots.map((p) => p.host ?? "")).size > 1;
  panel.plots.forEach((p, k) => {
    if (p.promql !== undefined) {
      const a = feed.queries.get(p.promql, from, to);
      const kind = queryKind(p.unit);
      kinds[k] = kind;
      if (a.error) lost.push(`${plain(p.promql.slice(0, 200))}: ${plain(a.error)}`);
      for (const s of a.series) {
        const name = plain(queryLegend({ ...p, legend: undefined }, s.labels, false));
        const last = s.v[s.v.length - 1];
        if (to - s.t[s.t.length - 1] > 2 * a.step + 5) continue;
        let r = rows.get(name);
        if (!r) rows.set(name, (r = { key: name, name, cells: panel.plots.map(() => null) }));
        r.cells[k] = last * kind.unit.factor;
      }
      return;
    }
    const f = feed.of(p.host);
    const m = f?.metas.get(p.metric);
    if (!f || !m) {
      if (f?.absent.has(p.metric) && !p.optional) lost.push(`the collector has no ${p.metric}`);
      if (f && f !== feed && f.status === "lost") lost.push(`${plain(p.host!)}: ${plain(f.message)}`);
      return;
    }
    const table = f.table(p.metric);
    if (!table) return;
    if (table.rest) others = Math.max(others, Number(table.rest.count[table.t.length - 1] ?? 0));
    const put = (inst: string, x: number | string | null) => {
      const name = plain((hosts || inst === "" ? f.host + " " : "") + inst).trim();
      let r = rows.get(f.host + "\n" + inst);
      if (!r) rows.set(f.host + "\n" + inst, (r = { key: f.host + "\n" + inst, name, cells: panel.plots.map(() => null) }));
      r.cells[k] = x;
    };
    try {
      const has = chosenOf(p, f, m);
      if (m.type === "string") {
        for (const inst of table.series.keys()) if (has(inst)) put(inst, plain(textOf(table, inst, to)));
        return;
      }
      const kind = kindOf(m, p.raw === true);
      kinds[k] = kind;
      const age = v.live ? Math.max(3 * v.step, 12) : recordedAge;
      for (const [inst, x] of latestOf(table, kind, to, age, v.live ? 30 : 2 * recordedAge)) if (has(inst)) put(inst, x);
    } catch (e) {
      lost.push(e instanceof Error ? e.message : String(e));
    }
  });
  const heads = panel.plots.map((p) => plain(p.promql !== undefined ? (p.legend && !/\{\{/.test(p.legend) ? p.legend : p.promql.slice(0, 60)) : p.legend && !/%/.test(p.legend) ? p.legend : legend({ ...p, legend: p.legend?.replace(/\s*%[iI]\s*/g, "") || undefined, host: undefined }, "", feed.host, false)));
  const sorted = [...rows.values()].sort((a, b) => {
    const way = sort.up ? 1 : -1;
    if (sort.by < 0) return way * (a.name < b.name ? -1 : 1);
    const x = a.cells[sort.by];
    const y = b.cells[sort.by];
    if (x === null || y === null) return x === y ? (a.name < b.name ? -1 : 1) : x === null ? 1 : -1;
    const c = typeof x === "number" && typeof y === "number" ? x - y : String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0;
    return way * c || (a.name < b.name ? -1 : 1);
  });
  const top = sorted.slice(0, limit);
  const text = (x: number | string | null, k: number) => (typeof x === "string" ? x || "–" : x === null ? "–" : kinds[k] ? showWith(x, kinds[k]!.unit, kinds[k]!.utilization) : String(x));
  if (props.exporter) {
    props.exporter.current = (as) => {
      const line = 18;
      const room = Math.max(90, Math.min(160, 900 / (heads.length + 1)));
      const wide = 200 + room * heads.length;
      const sheet = (): Sheet => ({
        title: panel.title,
        width: wide,
        height: 64 + line * (top.length + 1),
        background: colorOf("--card"),
        shapes: [
          { x: 8, y: 18, text: fit(`${feed.host}: ${panel.title}`, wide - 16, 14), size: 14, bold: true, fill: colorOf("--text") },
          { x: 8, y: 34, text: dated(to, v.zone), fill: inks(theme).text },
          ...heads.map((s, k): Shape => ({ x: 192 + room * (k + 1), y: 56, text: fit(s, room - 6), end: true, fill: inks(theme).text })),
          ...top.flatMap((r, i): Shape[] => [
            { x: 8, y: 56 + line * (i + 1), text: fit(r.name, 184), fill: colorOf("--text") },
            ...r.cells.map((x, k): Shape => ({ x: 192 + room * (k + 1), y: 56 + line * (i + 1), text: fit(text(x, k), room - 6), end: true, fill: colorOf("--text") })),
          ]),
        ],
      });
      const unit = (k: number) => (kinds[k] && unitOf(kinds[k]!) ? ` (${unitOf(kinds[k]!)})` : "");
      write(
        as,
        (ext) => nameOf(feed.host, panel.title, to, ext),
        sheet,
        () => [["name", ...heads.map((s, k) => s + unit(k))], ...sorted.map((r) => [r.name, ...r.cells])],
        () => JSON.stringify({ format: "go-pcp table 1", title: panel.title, host: feed.host, from: Number.isFinite(from) ? new Date(from * 1000).toISOString() : null, time: Number.isFinite(to) ? new Date(to * 1000).toISOString() : null, columns: panel.plots.map((p, k) => ({ title: heads[k], metric: sourceOf(p), unit: kinds[k] ? unitOf(kinds[k]!) : "" })), rows: sorted.map((r) => ({ name: r.name, values: r.cells })) }) + "\n",
      );
    };
  }
  if (!rows.size) return <p class="why tallwhy">{!panel.plots.length ? "No metric yet. Choose some with Edit." : lost.length ? lost.join("; ") : feed.loading ? "Reading the archives…" : v.live ? "Waiting for values…" : "Nothing was recorded of this at this time."}</p>;
  const head = (k: number, title: string) => (
    <th scope="col" key={k} aria-sort={sort.by === k ? (sort.up ? "ascending" : "descending") : undefined}>
      <button type="button" class="sort" title={`Sort by ${title}`} onClick={() => setSort({ by: k, up: sort.by === k ? !sort.up : k < 0 })}>
        {title}
        <span aria-hidden="true">{sort.by === k ? (sort.up ? " ▲" : " ▼") : ""}</span>
      </button>
    </th>
  );
  return (
    <div class="datatable">
      <div class="numbers list" tabIndex={0} role="group" aria-label={`Table of ${panel.title}`}>
        <table style={{ minWidth: `${140 + 90 * heads.length}px` }}>
          <caption class="vh">{panel.title}</caption>
          <thead>
            <tr>
              {head(-1, "name")}
              {heads.map((s, k) => head(k, s))}
            </tr>
          </thead>
          <tbody ref={body}>
            {top.map((r) => (
              <tr key={r.key}>
                <th scope="row" title={r.name}>
                  <span class="name">{r.name}</span>
                </th>
                {r.cells.map((x, k) => {
                  const over = typeof x === "number" ? reached(x, panel.thresholds) : null;
                  return (
                    <td key={k} class={over?.level} title={typeof x === "string" ? x : undefined}>
                      {over && (
                        <span title={`At or above ${describeThreshold(over, kinds[k] ?? undefined)}`}>
                          ▲ <span class="vh">at or above a threshold, </span>
                        </span>
                      )}
                      {text(x, k)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {sorted.length + others > top.length && (
        <button type="button" class="more" onClick={() => setLimit(limit + 50)}>
          {sorted.length + others - top.length} more
        </button>
      )}
      {others > 0 && <p class="note">{others} others are smaller.</p>}
      {lost.length > 0 && <p class="note">Not shown: {lost.join("; ")}.</p>}
    </div>
  );
}

// Words shows a text: headings begin with #, entries of lists with -. Nothing in it is markup.
export function Words(props: { panel: TextPanel }) {
  const out: any[] = [];
  let para: string[] = [];
  let items: string[] = [];
  const flush = () => {
    if (para.length) out.push(<p key={out.length}>{para.join("\n")}</p>);
    if (items.length)
      out.push(
        <ul key={out.length}>
          {items.map((s, i) => (
            <li key={i}>{s}</li>
          ))}
        </ul>,
      );
    para = [];
    items = [];
  };
  for (const line of plain(props.panel.text, true).split("\n")) {
    const heading = /^#{1,6}\s+(.*)/.exec(line);
    const item = /^\s*[-*]\s+(.*)/.exec(line);
    if (heading) {
      flush();
      out.push(<h3 key={out.length}>{heading[1]}</h3>);
    } else if (item) {
      if (para.length) flush();
      items.push(item[1]);
    } else if (!line.trim()) flush();
    else {
      if (items.length) flush();
      para.push(line);
    }
  }
  flush();
  return <div class="words">{out}</div>;
}
