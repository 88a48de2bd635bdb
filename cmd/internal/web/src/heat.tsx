// One metric on all hosts, as a heat map: hosts from above to below, time from left to right.

import { h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useApp } from "./context";
import { parseMetric } from "./dashboard";
import { readHeat, shownIn, valueOf, type Fleet, type Heat } from "./hosts";
import { ask, Refused, type Meta } from "./source";
import { inks } from "./theme";
import { clock, dated, plain } from "./time";
import { Typeahead } from "./typeahead";
import { showWith } from "./units";
import { kindOf } from "./values";

const axis = 20; // pixels of the times
const again = 2000; // ms until a map that is not ready is asked for again

// From little to much; each can be told from its neighbours with any colour vision.
const scale = ["#30123b", "#3b528b", "#21918c", "#5ec962", "#fde725"];

// ramp is the colour of a part of 1.
const ramp: string[] = (() => {
  const rgb = scale.map((s) => [1, 3, 5].map((i) => parseInt(s.slice(i, i + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const x = (i / 255) * (rgb.length - 1);
    const k = Math.min(rgb.length - 2, Math.floor(x));
    return `rgb(${rgb[k].map((c, j) => Math.round(c + (rgb[k + 1][j] - c) * (x - k))).join(",")})`;
  });
})();

// heightOf is the height of a row if there are n.
function heightOf(n: number): number {
  return n <= 30 ? 20 : n <= 200 ? 14 : n <= 2000 ? 6 : 3;
}

export function HeatMap(props: { all: Fleet; rows: number[]; times: { window?: string; end?: string }; openHost: (name: string) => void }) {
  const { feed, state, set, theme } = useApp();
  const { all, rows, times } = props;
  const column = all.columns.find((c) => c.name === state.heat);
  const [heat, setHeat] = useState<Heat | null>(null);
  const [meta, setMeta] = useState<Meta | null>(null);
  const [problem, setProblem] = useState("");
  const base = feed.live.base;
  const drawn = useRef("");

  useEffect(() => {
    let timer = 0;
    const abort = new AbortController();
    if (drawn.current !== state.heat) setHeat(null);
    drawn.current = state.heat;
    setProblem("");
    const look = async () => {
      try {
        let what: Record<string, string | undefined> = { column: state.heat };
        if (!column) {
          const p = parseMetric(state.heat);
          if (!p) throw new Error(`${state.heat} is not a metric`);
          const m = feed.metas.get(p.metric) ?? (feed.past ? [] : await feed.live.describe([p.metric], abort.signal).catch(() => []))[0] ?? (await feed.recorded.describe([p.metric]))[0];
          setMeta(m ?? null);
          what = { metric: p.metric, instance: p.instances?.[0], rate: m?.sem === "counter" ? "true" : undefined };
        }
        const v = readHeat(await ask(base + "fleet/heat", { ...what, ...times }, abort.signal));
        setHeat(v);
        setProblem("");
      } catch (e) {
        if (abort.signal.aborted) return;
        setProblem(e instanceof Error ? (e.name === "TimeoutError" ? "no answer in time" : e.message) : String(e));
        if (e instanceof Refused && e.status === 503) timer = window.setTimeout(() => void look(), again);
      }
    };
    void look();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
    // A new table has new values: then the map is asked for again too.
  }, [base, state.heat, times, all.time]);

  const shown = (v: number | null): string => {
    if (v === null) return "no value";
    if (column) return shownIn(column, v);
    if (!meta) return showWith(v, { space: 0, time: 0, count: 0, factor: 1, text: "" });
    const k = kindOf(meta, false);
    return showWith(v * k.unit.factor, k.unit, k.utilization);
  };
  // The colours reach as far as nearly all values do: one host must not make all others dark.
  const top = useMemo(() => {
    if (!heat) return 1;
    const highs = rows.flatMap((i) => heat.rows.get(all.hosts[i])?.high ?? []).sort((a, b) => a - b);
    return highs.length ? highs[Math.min(highs.length - 1, Math.floor(highs.length * 0.99))] || 1 : 1;
  }, [heat, rows]);

  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ w: 300, h: 300 });
  const [y0, setY0] = useState(0);
  const [at, setAt] = useState<{ row: number; point: number; keys: boolean } | null>(null);
  const rowH = heightOf(rows.length);
  const left = rowH >= 14 ? Math.min(180, Math.round(size.w * 0.3)) : 8;
  useEffect(() => {
    const el = box.current!;
    const measure = () => setSize({ w: el.clientWidth, h: el.clientHeight });
    const o = new ResizeObserver(measure);
    o.observe(el);
    measure();
    return () => o.disconnect();
  }, []);

  const points = heat?.points ?? 60;
  const cell = (size.w - left) / points;
  useEffect(() => {
    const c = canvas.current!;
    const ratio = Math.min(2, devicePixelRatio || 1);
    const w = Math.max(1, Math.round(size.w * ratio));
    const hh = Math.max(1, Math.round(size.h * ratio));
    if (c.width !== w || c.height !== hh) {
      c.width = w;
      c.height = hh;
    }
    const g = c.getContext("2d");
    if (!g) return;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, size.w, size.h);
    const ink = inks(theme);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    if (!heat) return;
    const first = Math.max(0, Math.floor(y0 / rowH));
    const last = Math.min(rows.length, Math.ceil((y0 + size.h) / rowH));
    for (let r = first; r < last; r++) {
      const y = axis + r * rowH - y0;
      const p = heat.rows.get(all.hosts[rows[r]]);
      if (left > 8) {
        g.fillStyle = ink.text;
        g.fillText(plain(all.hosts[rows[r]]), 0, y + rowH / 2, left - 8);
      }
      if (!p) continue;
      for (let k = 0; k < points; k++) {
        const v = valueOf(p, k);
        if (v === null) continue;
        g.fillStyle = ramp[Math.max(0, Math.min(255, Math.round((v / top) * 255)))] ?? ramp[0];
        const x = Math.round(left + k * cell);
        g.fillRect(x, y, Math.round(left + (k + 1) * cell) - x, rowH > 4 ? rowH - 1 : rowH);
      }
    }
    // The times stay above the rows.
    g.clearRect(0, 0, size.w, axis);
    g.fillStyle = ink.text;
    const span = heat.step * points;
    for (let k = 0, n = Math.max(2, Math.floor((size.w - left) / 110)); k < n; k++) {
      const p = Math.floor((k * points) / n);
      g.fillText(clock(heat.start + p * heat.step, state.view.zone, false, span > 86400), left + p * cell, axis / 2);
    }
    if (at && at.row < rows.length) {
      g.strokeStyle = theme === "dark" ? "#ffffff" : "#000000";
      g.lineWidth = 1.5;
      g.strokeRect(left + at.point * cell - 1, axis + at.row * rowH - y0 - 1, cell + 2, Math.max(rowH, 4) + 1);
    }
  }, [heat, rows, size, y0, theme, at, top, left, state.view.zone]);

  const find = (e: { clientX: number; clientY: number }) => {
    const r = box.current!.getBoundingClientRect();
    const x = e.clientX - r.left;
    const y = e.clientY - r.top;
    const row = Math.floor((y - axis + box.current!.scrollTop) / rowH);
    if (y < axis || row < 0 || row >= rows.length || x < 0) return null;
    return { row, point: Math.max(0, Math.min(points - 1, Math.floor((x - left) / cell))), keys: false };
  };
  const go = (row: number, point: number) => {
    const k = Math.max(0, Math.min(rows.length - 1, row));
    const el = box.current!;
    if (k * rowH < el.scrollTop) el.scrollTop = k * rowH;
    else if (axis + (k + 1) * rowH > el.scrollTop + size.h) el.scrollTop = axis + (k + 1) * rowH - size.h;
    setAt({ row: k, point: Math.max(0, Math.min(points - 1, point)), keys: true });
  };
  const now = at ?? { row: -1, point: points - 1, keys: true };
  const page = Math.max(1, Math.floor(size.h / rowH) - 1);
  const keys: Record<string, () => void> = {
    ArrowDown: () => go(now.row + 1, now.point),
    ArrowUp: () => go(now.row - 1, now.point),
    ArrowLeft: () => go(Math.max(0, now.row), now.point - 1),
    ArrowRight: () => go(Math.max(0, now.row), now.point + 1),
    PageDown: () => go(now.row + page, now.point),
    PageUp: () => go(now.row - page, now.point),
    Home: () => go(0, now.point),
    End: () => go(rows.length - 1, now.point),
    Enter: () => at && rows[at.row] !== undefined && props.openHost(all.hosts[rows[at.row]]),
  };
  const host = at && rows[at.row] !== undefined ? all.hosts[rows[at.row]] : "";
  const row = host && heat?.rows.get(host);
  const text = at && host && heat ? [plain(host), shown(row ? valueOf(row, at.point) : null), dated(heat.start + at.point * heat.step, state.view.zone)] : null;
  const title = column ? column.title : plain(state.heat);
  const tipX = at ? left + at.point * cell : 0;
  const tipY = at ? axis + (at.row + 1) * rowH - y0 : 0;
  return (
    <section class="card wide heat" aria-label={`${title} on all hosts`}>
      <div class="bar">
        <label class="select">
          <span>Show</span>
          <select aria-label="Value of the heat map" value={column ? column.name : ""} onChange={(e) => e.currentTarget.value && set({ heat: e.currentTarget.value })}>
            {all.columns.map((c) => (
              <option key={c.name} value={c.name}>
                {c.title}
              </option>
            ))}
            {!column && <option value="">{plain(state.heat)}</option>}
          </select>
        </label>
        <Typeahead label="A metric on all hosts" placeholder="or a metric" onPick={(s) => { const p = parseMetric(s); if (p) set({ heat: s.trim() }); return !!p; }} />
        <span class="legend" aria-hidden="true">
          {shown(0)} <span class="ramp" style={{ background: `linear-gradient(to right, ${scale.join(",")})` }} /> {shown(top)}
        </span>
      </div>
      {problem && (
        <p class="why" role="status">
          {problem}
        </p>
      )}
      {!problem && heat && heat.rows.size === 0 && (
        <p class="why" role="status">
          No host has values of {title} at this time.
        </p>
      )}
      <div
        class="map"
        ref={box}
        tabIndex={0}
        role="group"
        aria-label={`Heat map of ${title}, ${rows.length} hosts: arrow keys move, Enter opens the host`}
        onScroll={() => box.current && setY0(box.current.scrollTop)}
        onPointerMove={(e) => setAt(find(e))}
        onPointerLeave={() => setAt((a) => (a?.keys ? a : null))}
        onBlur={() => setAt(null)}
        onClick={(e) => {
          const p = find(e);
          if (p) props.openHost(all.hosts[rows[p.row]]);
        }}
        onKeyDown={(e) => {
          const f = e.altKey || e.ctrlKey || e.metaKey || e.shiftKey ? undefined : keys[e.key];
          if (!f) return;
          f();
          e.preventDefault();
          e.stopPropagation();
        }}
      >
        <div class="sheet" style={{ height: `${axis + rows.length * rowH}px` }}>
          <canvas ref={canvas} aria-hidden="true" style={{ width: `${size.w}px`, height: `${size.h}px` }} />
        </div>
      </div>
      {text && (
        <div class="tip" aria-hidden="true" style={{ left: `${Math.max(0, Math.min(tipX, size.w - 240))}px`, top: `${(box.current?.offsetTop ?? 0) + Math.min(tipY + 4, size.h - 60)}px` }}>
          <strong>{text[0]}</strong>
          <span>{text[1]}</span>
          <span>{text[2]}</span>
        </div>
      )}
      <div class="vh" role="status">
        {at?.keys && text ? text.join(", ") : ""}
      </div>
    </section>
  );
}
