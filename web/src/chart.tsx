// A chart: a canvas by uPlot, and beside it the numbers as a table.

import { h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { ChartPanel } from "./dashboard";
import { useApp, useFeedVersion } from "./context";
import { align, draw, metricsOf, stack, statsOf, type Drawing } from "./lines";
import { inks, palette } from "./theme";
import { clock, dated } from "./time";
import { formatFor, show, showWith, type Format, type Unit } from "./units";

const none: Unit = { space: 0, time: 0, count: 0, factor: 1, text: "" };
const shareUnit = { unit: none, rate: true, utilization: true };

function canvasHeight(tall: boolean): number {
  return tall ? 360 : 180;
}

// empty says why there is nothing to see.
function empty(d: Drawing, c: ChartPanel, past: boolean, hasRecorded: boolean, loading: boolean): string {
  if (!c.plots.length) return "No metric yet. Choose some with Edit.";
  if (d.absent.length && d.absent.length === c.plots.length) return `The collector has no ${d.absent.join(", ")}.`;
  if (d.strings.length) return `${d.strings.join(", ")} is not a number; its value is under Metrics.`;
  if (loading) return "Reading the archives…";
  if (past) return hasRecorded ? "Nothing was recorded of this at this time." : "No archives are served here: only what this page has seen itself can be shown again.";
  if (d.waiting) return "Waiting for values…";
  return "No values.";
}

export function Chart(props: { panel: ChartPanel; tall?: boolean; onHide?: (key: string) => void }) {
  const { feed, state, theme, setView } = useApp();
  const version = useFeedVersion();
  const panel = props.panel;
  const names = useMemo(() => metricsOf(panel), [panel]);
  useEffect(() => feed.want(names, true), [feed, names.join(" ")]);

  const [hidden, setHidden] = useState<Set<string>>(new Set());
  const [hover, setHover] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = useRef("");
  const dragging = useRef(false); // from the press on this chart until the release, anywhere

  const v = state.view;
  const to = v.live ? feed.now : v.end;
  const from = to - v.window;
  const d = useMemo(() => draw(panel, feed, from, to), [panel, feed, from, to, version]);
  const stacked = panel.style === "stack" || panel.style === "share";
  const share = panel.style === "share";
  const colors = palette(theme);
  const colored = d.lines.map((l, i) => ({ ...l, color: l.color ?? colors[i % colors.length] }));
  const visible = colored.filter((l) => !hidden.has(l.key));
  // Lines of the second axis cannot be in a stack.
  const inStack = stacked ? visible.filter((l) => l.axis === 0) : [];
  const others = stacked ? visible.filter((l) => l.axis !== 0) : visible;

  const kinds = share ? [shareUnit] : d.kinds;
  const formats: Format[] = kinds.map((k, axis) => {
    let m = 0;
    for (const l of visible) if (l.axis === axis) for (const x of l.v) if (x !== null && Math.abs(x) > m) m = Math.abs(x);
    return formatFor(k.unit, axis === 0 && panel.max !== undefined && panel.max > m && !k.utilization ? panel.max : m, k.utilization);
  });

  useEffect(() => {
    const el = box.current;
    if (!el || dragging.current) return; // what is dragged over stands still
    if (!visible.length) {
      plot.current?.destroy();
      plot.current = null;
      shape.current = "";
      return;
    }
    const a = align([...inStack, ...others]);
    const sums = stack(a.v.slice(0, inStack.length), share);
    const data = [a.t, ...sums, ...a.v.slice(inStack.length)] as uPlot.AlignedData;
    const order = [...inStack, ...others];
    const width = el.clientWidth || 320;
    const height = canvasHeight(!!props.tall);
    const next = JSON.stringify([order.map((l) => [l.key, l.label, l.color, l.axis]), panel.style, panel.min, panel.max, theme, v.zone, formats, width, height]);
    const u = plot.current;
    if (u && shape.current === next) {
      u.batch(() => {
        u.setData(data, false);
        u.setScale("x", { min: from, max: to });
      });
      return;
    }
    u?.destroy();
    shape.current = next;
    const ink = inks(theme);
    const axisFont = "11px system-ui, sans-serif";
    const two = kinds.length > 1 && order.some((l) => l.axis === 1);
    const range =
      (limits: boolean) =>
      (_: uPlot, min: number | null, max: number | null): [number, number] => {
        if (share) return [0, 1];
        const lo = limits && panel.min !== undefined ? panel.min : Math.min(0, min ?? 0);
        let hi = limits && panel.max !== undefined ? panel.max : (max ?? 1);
        if (hi <= lo) hi = lo + (hi === 0 ? 1 / (formats[limits ? 0 : 1]?.scale || 1) : Math.abs(hi));
        if (!limits || panel.max === undefined) hi += (hi - lo) * 0.05;
        return [lo, hi];
      };
    const axis = (k: number): uPlot.Axis => ({
      scale: k ? "y2" : "y",
      side: k ? 1 : 3,
      stroke: ink.text,
      font: axisFont,
      size: 52,
      grid: { stroke: ink.grid, width: 1, show: k === 0 },
      ticks: { show: false },
      splits: (_u, _i, min, max) => ticks(min, max, formats[k], height),
      values: (_, splits) => splits.map((s) => tick(s, splits, formats[k])),
    });
    const bars = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 });
    const opts: uPlot.Options = {
      width,
      height,
      data,
      pxAlign: 1,
      legend: { show: false },
      cursor: {
        sync: { key: "pcp" },
        drag: { x: true, y: false, setScale: false },
        points: { size: 6 },
        focus: { prox: -1 },
      },
      scales: {
        x: { time: true, min: from, max: to, auto: false },
        y: { range: range(true) },
        ...(two ? { y2: { range: range(false) } } : {}),
      },
      tzDate: (ts: number) => (v.zone === "local" ? new Date(ts * 1e3) : uPlot.tzDate(new Date(ts * 1e3), v.zone)),
      axes: [
        {
          stroke: ink.text,
          font: axisFont,
          size: 26,
          space: v.window > 86400 ? 90 : 56,
          grid: { stroke: ink.grid, width: 1 },
          ticks: { show: false },
          values: (u2, splits, _a, _s, incr) => splits.map((s) => clock(s, v.zone, incr < 60, (u2.scales.x.max ?? 0) - (u2.scales.x.min ?? 0) > 86400 * 1.5)),
        },
        axis(0),
        ...(two ? [axis(1)] : []),
      ],
      series: [
        {},
        ...order.map((l, i): uPlot.Series => {
          const inSum = i < inStack.length;
          return {
            scale: l.axis ? "y2" : "y",
            stroke: l.color,
            width: inSum ? 1 : 1.5,
            points: { show: false },
            ...(inSum && i === 0 ? { fill: l.color + "66" } : {}),
            ...(panel.style === "area" ? { fill: translucent(l.color) } : {}),
            ...(panel.style === "bar" && bars ? { paths: bars, fill: translucent(l.color) } : {}),
          };
        }),
      ],
      bands: inStack.slice(1).map((l, i) => ({ series: [i + 2, i + 1] as [number, number], fill: opaque(l.color) + "66" })),
      hooks: {
        ready: [
          (x) => {
            x.over.addEventListener("mousedown", (e) => {
              if (e.button !== 0) return;
              dragging.current = true;
              addEventListener("mouseup", () => (dragging.current = false), { once: true });
            });
          },
        ],
        setCursor: [
          (x) => {
            const left = x.cursor.left ?? -1;
            const at = left >= 0 ? x.posToVal(left, "x") : null;
            setHover(at);
          },
        ],
        setSelect: [
          (x) => {
            // The others draw the selection too, but one that was made meanwhile does not know its start.
            const { left, width: w } = x.select;
            if (dragging.current && w > 4) {
              const a = x.posToVal(left, "x");
              const b = x.posToVal(left + w, "x");
              if (b - a >= 2) setView({ live: false, end: b, window: b - a, speed: 0 });
            }
            x.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          },
        ],
      },
    };
    if (inStack.length && opts.series[1]) opts.series[1].fill = opaque(inStack[0].color) + "66";
    plot.current = new uPlot(opts, data, el);
  });

  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const o = new ResizeObserver(() => {
      const u = plot.current;
      if (u && el.clientWidth && u.width !== el.clientWidth) {
        shape.current = "";
        u.setSize({ width: el.clientWidth, height: canvasHeight(!!props.tall) });
      }
    });
    o.observe(el);
    return () => o.disconnect();
  }, [props.tall]);
  useEffect(
    () => () => {
      plot.current?.destroy();
      plot.current = null;
      shape.current = "";
    },
    [],
  );

  const toggle = (key: string) => {
    const s = new Set(hidden);
    if (!s.delete(key)) s.add(key);
    setHidden(s);
  };
  const why = visible.length ? "" : colored.length ? "All lines are hidden." : empty(d, panel, !v.live, feed.hasRecorded, feed.loading);
  const step = Math.max(v.step * 2.5, v.window / 200);
  const title = panel.title.replace(/%[hH]/g, feed.host);
  // Lists that are stacked read from the top, as the picture does.
  const rows = stacked ? [...colored].reverse() : colored;
  const summary = colored
    .slice(0, 6)
    .map((l) => `${l.label} ${showWith(l.last, l.kind.unit, l.kind.utilization)}`)
    .join(", ");
  return (
    <div class="chart">
      <div class={"plot" + (props.tall ? " tall" : "")} role="img" aria-label={`Chart of ${title}: ${summary || why}`}>
        <div class="canvas" ref={box} />
        {why && <p class="why">{why}</p>}
        {formats.length > 0 && visible.length > 0 && (
          <span class="unit" aria-hidden="true">
            {formats[0].unit}
            {formats[1] && visible.some((l) => l.axis === 1) ? ` · right: ${formats[1].unit || "number"}` : ""}
          </span>
        )}
      </div>
      {colored.length > 0 && (
        <div class="numbers">
          <table>
            <caption class="vh">
              {title}, {hover === null ? "last values" : `values at ${dated(hover, v.zone)}`}
            </caption>
            <thead>
              <tr>
                <th scope="col">
                  <span class="vh">Line</span>
                </th>
                <th scope="col">{hover === null ? (v.live ? "now" : "last") : clock(hover, v.zone, true, false)}</th>
                <th scope="col">mean</th>
                <th scope="col">max</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((l) => {
                const s = statsOf(l, hover, step);
                const off = hidden.has(l.key);
                return (
                  <tr key={l.key} class={off ? "off" : ""}>
                    <th scope="row">
                      <button type="button" class="line" aria-pressed={!off} title={`${off ? "Show" : "Hide"} ${l.label}`} onClick={() => toggle(l.key)}>
                        <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
                          <rect width="10" height="10" rx="2" fill={l.color} />
                        </svg>
                        <span class="name">{l.label}</span>
                      </button>
                    </th>
                    <td>{showWith(s.at, l.kind.unit, l.kind.utilization)}</td>
                    <td>{showWith(s.mean, l.kind.unit, l.kind.utilization)}</td>
                    <td>{showWith(s.max, l.kind.unit, l.kind.utilization)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {(d.more > 0 || d.other.length > 0 || (d.absent.length > 0 && colored.length > 0)) && (
        <p class="note">
          {d.more > 0 && `${d.more} more lines are not drawn; choose instances with Edit. `}
          {d.other.length > 0 && `Not drawn, as a third unit has no axis: ${d.other.join(", ")}. `}
          {d.absent.length > 0 && colored.length > 0 && `Not there: ${d.absent.join(", ")}.`}
        </p>
      )}
    </div>
  );
}

function opaque(c: string): string {
  return /^#[0-9a-f]{6}$/i.test(c) ? c : named(c);
}

function translucent(c: string): string {
  return opaque(c) + "33";
}

// named turns the name of a colour into digits, by asking a canvas.
function named(c: string): string {
  const x = document.createElement("canvas").getContext("2d");
  if (!x) return "#888888";
  x.fillStyle = "#888888";
  x.fillStyle = c;
  const s = String(x.fillStyle);
  return /^#[0-9a-f]{6}$/i.test(s) ? s : "#888888";
}

// ticks picks round numbers of the unit that is shown.
function ticks(min: number, max: number, f: Format | undefined, height: number): number[] {
  const scale = f?.scale ?? 1;
  const a = min * scale;
  const b = max * scale;
  const want = Math.max(2, Math.floor(height / 45));
  const raw = (b - a) / want;
  if (!(raw > 0) || !Number.isFinite(raw)) return [min];
  const e = Math.pow(10, Math.floor(Math.log10(raw)));
  const m = raw / e;
  const incr = (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10) * e;
  const out: number[] = [];
  for (let x = Math.ceil(a / incr - 1e-9) * incr; x <= b + incr * 1e-9 && out.length < 50; x += incr) out.push(x / scale);
  return out;
}

function tick(s: number, all: number[], f: Format | undefined): string {
  const scale = f?.scale ?? 1;
  const incr = all.length > 1 ? Math.abs(all[1] - all[0]) * scale : 1;
  const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(incr) + 1e-9)));
  const x = s * scale;
  return Math.abs(x) >= 1e7 ? x.toExponential(1) : x.toFixed(digits);
}

export { show };
