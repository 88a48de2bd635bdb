// A chart: a canvas by uPlot, and beside it the numbers as a table.

import { h } from "preact";
import { Goto } from "./activity";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { ChartPanel } from "./dashboard";
import { useApp, useSeenVersion } from "./context";
import { useFocusKept } from "./focus";
import { useSame } from "./same";
import { csv, fileName, numbersOf, png, save, svg, type Picture } from "./export";
import { leadOfMetrics } from "./list";
import { align, draw, maxLines, peak, stack, statsOf, sourceOf, wantKey, wantLines, wantPlots, type Drawing, type Drawn } from "./lines";
import { colorsOf } from "./schemes";
import type { State } from "./state";
import { inks, scaleOf } from "./theme";
import { describeThreshold, inkOf, reached } from "./thresholds";
import { clock, dated, span } from "./time";
import { fixed, formatFor, show, showWith, type Format, type Unit } from "./units";

const none: Unit = { space: 0, time: 0, count: 0, factor: 1, text: "" };
const shareUnit = { unit: none, rate: true, utilization: true };

function canvasHeight(tall: boolean): number {
  return tall ? 360 : 180;
}

// empty says why there is nothing to see.
function empty(d: Drawing, c: ChartPanel, past: boolean, hasRecorded: boolean, loading: boolean): string {
  if (!c.plots.length) return "No metric yet. Choose some with Edit.";
  if (d.lost.length) return d.lost.join("; ");
  if (d.absent.length && d.absent.length === c.plots.length) return `The collector has no ${d.absent.join(", ")}.`;
  if (d.strings.length) return `${d.strings.join(", ")} is not a number; its value is under Metrics.`;
  if (loading) return "Reading the archives…";
  if (past) return hasRecorded ? "Nothing was recorded of this at this time." : "No archives are served here: only what this page has seen itself can be shown again.";
  if (d.waiting) return "Waiting for values…";
  return d.ended.length ? `The collector has no more values of ${d.ended.join(", ")}.` : "No values.";
}

const tops = [5, 10, maxLines, 50, 100];
const mostBands = 6; // lines with their largest samples above their means
const few = 8; // lines of which none need be left out
const inOrder = 8; // layers of a stack whose names are in the order of the picture
const labelled = 3; // lines that have their names in the picture

type Order = "at" | "mean" | "max";

// An Exporter writes what is seen of a chart into a file.
export type Exporter = (as: "png" | "svg" | "csv" | "json") => void;

interface Mark {
  label: string;
  color: string;
  scale: string;
  layer: boolean;
}

const widths = new Map<string, number>(); // of texts

// widthOf is the width of a text on the screen. To ask an element for it would have the page laid out at once.
function widthOf(x: CanvasRenderingContext2D, font: string, text: string): number {
  const key = font + "\n" + text;
  let w = widths.get(key);
  if (w === undefined) {
    x.save();
    x.font = font;
    w = x.measureText(text).width;
    x.restore();
    if (widths.size > 1000) widths.clear();
    widths.set(key, w);
  }
  return w;
}

// placesOf finds places for the names of the largest lines: beside their peaks, or in their layers.
function placesOf(u: uPlot, lines: Mark[], below: number[], font: string): { l: Mark; x: number; y: number; w: number }[] {
  const { min: from, max: to } = u.scales.x;
  const width = u.bbox.width / (devicePixelRatio || 1);
  const height = u.bbox.height / (devicePixelRatio || 1);
  const t = u.data[0];
  const peaks = lines.map((l, k) => {
    const v = u.data[k + 1];
    const b = below[k] >= 0 ? u.data[below[k] + 1] : null;
    let at = -1;
    let most = 0;
    for (let i = 0; i < t.length; i++) {
      const x = v[i];
      if (typeof x !== "number" || t[i] < from! || t[i] > to!) continue;
      const h = x - (b?.[i] ?? 0);
      if (h > most) {
        most = h;
        at = i;
      }
    }
    return { l, k, at, most };
  });
  peaks.sort((a, b) => b.most - a.most);
  const placed: { l: Mark; x: number; y: number; w: number }[] = [];
  for (const p of peaks) {
    if (placed.length === labelled || p.at < 0) break;
    const v = u.data[p.k + 1][p.at]!;
    const base = below[p.k] >= 0 ? (u.data[below[p.k] + 1][p.at] ?? 0) : 0;
    const top = u.valToPos(v, p.l.scale);
    const bottom = u.scales[p.l.scale].distr === 3 ? height : u.valToPos(base, p.l.scale);
    if (bottom - top < 14) continue; // it is too small to be pointed at
    const w = Math.min(widthOf(u.ctx, font, p.l.label) + 6, 0.7 * width);
    const x = Math.max(0, Math.min(u.valToPos(t[p.at], "x") - w / 2, width - w));
    const y = Math.max(0, Math.min(p.l.layer ? (top + bottom) / 2 - 8 : top + 1, height - 16));
    if (!placed.some((q) => Math.abs(q.y - y) < 15 && q.x < x + w && x < q.x + q.w)) placed.push({ l: p.l, x, y, w });
  }
  return placed;
}

// mark writes the names of the largest lines into the picture.
function mark(u: uPlot, lines: Mark[], below: number[], font: string): void {
  const old = [...u.over.querySelectorAll<HTMLElement>(".mark")];
  const placed = lines.length < 2 ? [] : placesOf(u, lines, below, font);
  for (const e of old.splice(placed.length)) e.remove();
  placed.forEach((p, i) => {
    let e = old[i];
    if (!e) {
      e = document.createElement("span");
      e.className = "mark";
      e.setAttribute("aria-hidden", "true");
      u.over.append(e);
    }
    if (e.textContent !== p.l.label) e.textContent = p.l.label;
    e.style.color = p.l.color;
    e.style.transform = `translate(${Math.round(p.x)}px, ${Math.round(p.y)}px)`;
  });
}

// peakOfStack is the largest sum of lines at one time.
function peakOfStack(lines: Drawing["lines"]): number {
  const sums = stack(align(lines).v, false, lines.map((l) => l.back));
  let most = 0;
  for (const x of sums[sums.length - 1] ?? []) if (typeof x === "number" && x > most) most = x;
  return most;
}

// showPin draws the time that was clicked.
function showPin(u: uPlot, at: number | null): void {
  let e = u.over.querySelector<HTMLElement>(".pin");
  if (at === null) {
    e?.remove();
    return;
  }
  if (!e) {
    e = document.createElement("div");
    e.className = "pin";
    u.over.append(e);
  }
  e.style.left = `${u.valToPos(at, "x")}px`;
}

// A Peak is the largest value that is drawn in charts one above the other, which have the same axis.
export interface Peak {
  values: number[]; // by chart
  changed(): void;
}

export function Chart(props: { panel: ChartPanel; tall?: boolean; exporter?: { current: Exporter | null }; before?: number; peak?: Peak; index?: number }) {
  const before = props.before ?? 0;
  const shared = props.peak;
  const { feed, state, theme, zoom } = useApp();
  const box = useRef<HTMLDivElement>(null);
  const wide = useRef(0); // pixels; to ask the element each time would have the page laid out
  const complete = useRef(false);
  const version = useSeenVersion(box, complete);
  const panel = props.panel;
  useEffect(() => wantPlots(feed, panel.plots, true, true), [feed, wantKey(panel.plots)]);

  const [hidden, setHidden] = useState<Set<string>>(new Set());
  const [hover, setHover] = useState<number | null>(null);
  const [chosen, setPin] = useState<number | null>(null); // the time that was clicked
  const plot = useRef<uPlot | null>(null);
  const shape = useRef("");
  const made = useRef<unknown[]>([]); // what the picture was made of
  const now = useRef(state);
  const way = useRef<Partial<State>>({}); // to what this chart is about
  now.current = state;
  const dragging = useRef(false); // from the press on this chart until the release, anywhere

  const v = state.view;
  const to = v.live ? feed.now : v.end;
  const from = to - v.window;
  const pin = chosen !== null && chosen >= from && chosen <= to ? chosen : null;
  const pinned = useRef(pin);
  pinned.current = pin;
  const lead = useMemo(() => leadOfMetrics(panel.plots.map((p) => p.metric)), [panel]);
  way.current = lead.to;
  const [chosenTop, setTop] = useState<number | null>(null);
  const limit = chosenTop ?? panel.top ?? maxLines;
  useEffect(() => wantLines(feed, panel.plots, limit), [feed, wantKey(panel.plots), limit]);
  const [points, setPoints] = useState(400);
  const d = useMemo(() => draw(panel, feed, from, to, points, limit), [panel, feed, from, to, version, points, limit]);
  complete.current = d.lines.length > 0 && !d.waiting && !feed.loading;
  const stacked = panel.style === "stack" || panel.style === "share";
  const share = panel.style === "share";
  const colors = colorsOf(theme, panel.scheme, panel.colors);
  const log = !!panel.log && !stacked;
  // A line keeps its colour while others come and go.
  const given = useRef(new Map<string, number>());
  if (given.current.size > 1000) given.current.clear();
  const used = new Set(d.lines.map((l) => given.current.get(l.key)));
  let next = 0;
  const colored = d.lines.map((l) => {
    if (l.rest) return { ...l, color: l.color! };
    let n = given.current.get(l.key);
    if (n === undefined) {
      while (used.has(next)) next++;
      n = next;
      used.add(n);
      given.current.set(l.key, n);
    }
    return { ...l, color: l.color ?? colors[n % colors.length] };
  });
  // What is drawn only if one asks for it is in the set if one did.
  const isHidden = (l: Drawn) => hidden.has(l.key) !== !!l.off;
  const visible = colored.filter((l) => !isHidden(l));
  const rest = colored.find((l) => l.rest)?.rest;
  const several = colored.filter((l) => !l.rest).length + d.more;
  // Lines of the second axis cannot be in a stack.
  const inStack = stacked ? visible.filter((l) => l.axis === 0) : [];
  const others = stacked ? visible.filter((l) => l.axis !== 0) : visible;

  const kinds = share ? [shareUnit] : d.kinds;
  const formats: Format[] = kinds.map((k, axis) => {
    let m = 0;
    for (const l of visible) if (l.axis === axis) for (const x of l.all.v) if (x !== null && Math.abs(x) > m) m = Math.abs(x);
    return formatFor(k.unit, axis === 0 && panel.max !== undefined && panel.max > m && !k.utilization ? panel.max : m, k.utilization);
  });

  const mine = shared && !stacked ? Math.max(0, ...visible.filter((l) => l.axis === 0).map((l) => peak(l.upper ?? l))) : shared ? peakOfStack(inStack) : 0;
  useEffect(() => {
    if (!shared || shared.values[props.index!] === mine) return;
    shared.values[props.index!] = mine;
    shared.changed();
  }, [shared, mine]);
  const atLeast = useRef(0);
  atLeast.current = shared ? Math.max(0, ...shared.values.filter(Number.isFinite)) : 0;

  // The picture is drawn in the same frame as the numbers beside it.
  useLayoutEffect(() => {
    const el = box.current;
    if (!el || dragging.current) return; // what is dragged over stands still
    // The pointer moves often: the picture is the same meanwhile.
    const inputs = [d, panel, hidden, theme, v, from, to, before, atLeast.current, props.tall];
    if (shape.current && made.current.length && inputs.every((x, i) => x === made.current[i])) return;
    made.current = inputs;
    if (!visible.length) {
      plot.current?.destroy();
      plot.current = null;
      shape.current = "";
      return;
    }
    // Above means, the largest samples: of some lines, since bands over bands show nothing.
    const banded = panel.style === "line" || panel.style === "area" ? others.filter((l) => l.upper) : [];
    const uppers = banded.length <= mostBands ? banded : [];
    const a = align([...inStack, ...others, ...uppers.map((l) => l.upper!)]);
    const above = a.v.splice(inStack.length + others.length);
    const sums = stack(a.v.slice(0, inStack.length), share, inStack.map((l) => l.back));
    const order = [...inStack, ...others];
    // On a logarithmic axis, what is not above zero is drawn at the lower edge: a power of ten of the unit that is shown.
    const floors = kinds.map((_, axis) => {
      let m = Infinity;
      order.forEach((l, k) => l.axis === axis && a.v[k].forEach((x) => typeof x === "number" && x > 0 && x < m && (m = x)));
      const scale = formats[axis].scale;
      return axis === 0 && panel.min !== undefined && panel.min > 0 ? panel.min : Math.pow(10, Math.floor(Math.log10((Number.isFinite(m) ? m : 1) * scale) + 1e-9)) / scale;
    });
    const lifted = log ? a.v.map((cells, k) => cells.map((x) => (typeof x === "number" && x < floors[order[k].axis] ? floors[order[k].axis] : x))) : a.v;
    const data = [a.t, ...sums, ...lifted.slice(inStack.length), ...above] as uPlot.AlignedData;
    const width = wide.current || (wide.current = el.clientWidth) || 320;
    const height = canvasHeight(!!props.tall);
    const marks = order.map((l, i) => ({ label: l.label, color: opaque(l.color), scale: l.axis ? "y2" : "y", layer: i < inStack.length }));
    const below = order.map((_, i) => (i < inStack.length ? i - 1 : -1));
    const stepOf = (l: (typeof order)[number]): -1 | 0 | 1 => (panel.style === "bar" ? 0 : l.back ? -1 : d.joint ? 1 : 0);
    const next = JSON.stringify([order.map((l) => [l.key, l.label, l.color, l.axis, stepOf(l)]), panel.style, panel.min, panel.max, log && floors, panel.thresholds, uppers.map((l) => l.key), before, theme, v.zone, formats, width, height]);
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
    const scale = scaleOf(v);
    const axisFont = `${11 * scale}px ${v.font ? JSON.stringify(v.font) + ", " : ""}system-ui, sans-serif`;
    const two = kinds.length > 1 && order.some((l) => l.axis === 1);
    const range =
      (limits: boolean) =>
      (_: uPlot, min: number | null, max: number | null): [number, number] => {
        if (share) return [0, 1];
        const most = limits ? Math.max(max ?? 0, ...(panel.thresholds ?? []).map((t) => t.value), atLeast.current) : (max ?? 0);
        if (log) {
          const lo = floors[limits ? 0 : 1];
          const scale = formats[limits ? 0 : 1].scale;
          const hi = limits && panel.max !== undefined ? panel.max : Math.pow(10, Math.ceil(Math.log10(most * scale) - 1e-9)) / scale;
          return [lo, hi > lo ? hi : lo * 10];
        }
        if (most > 0) max = most;
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
      size: 52 * scale,
      grid: { stroke: ink.grid, width: 1, show: k === 0 },
      ticks: { show: false },
      splits: (_u, _i, min, max) => (log ? decades(min, max, formats[k]) : ticks(min, max, formats[k], height)),
      ...(log ? { filter: (_: uPlot, splits: number[]) => splits } : {}),
      values: (_, splits) => splits.map((s) => tick(s, log ? [0, s] : splits, formats[k])),
    });
    const stepped = new Map([-1, 1].map((align) => [align, uPlot.paths.stepped?.({ align: align as -1 | 1 })]));
    const bars = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 });
    const opts: uPlot.Options = {
      width,
      height,
      data,
      pxAlign: 1,
      legend: { show: false },
      cursor: {
        sync: { key: "pcp" + (before || "") },
        drag: { x: true, y: false, setScale: false },
        points: { size: 6 },
        focus: { prox: -1 },
      },
      scales: {
        x: { time: true, min: from, max: to, auto: false },
        y: { range: range(true), ...(log ? { distr: 3 as const, log: 10 as const } : {}) },
        ...(two ? { y2: { range: range(false), ...(log ? { distr: 3 as const, log: 10 as const } : {}) } } : {}),
      },
      tzDate: (ts: number) => (v.zone === "local" ? new Date(ts * 1e3) : uPlot.tzDate(new Date(ts * 1e3), v.zone)),
      axes: [
        {
          stroke: ink.text,
          font: axisFont,
          size: 26 * scale,
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
            ...(stepOf(l) ? { paths: stepped.get(stepOf(l)) } : {}),
            ...(inSum && i === 0 ? { fill: l.color + "66" } : {}),
            ...(panel.style === "area" ? { fill: translucent(l.color) } : {}),
            ...(panel.style === "bar" && bars ? { paths: bars, fill: translucent(l.color) } : {}),
          };
        }),
        ...uppers.map((l): uPlot.Series => ({ scale: l.axis ? "y2" : "y", stroke: opaque(l.color) + "66", width: 1, points: { show: false }, ...(stepOf(l) ? { paths: stepped.get(stepOf(l)) } : {}) })),
      ],
      bands: [
        ...inStack.slice(1).map((l, i) => ({ series: [i + 2, i + 1] as [number, number], fill: opaque(l.color) + "66" })),
        ...uppers.map((l, i) => ({ series: [order.length + 1 + i, order.indexOf(l) + 1] as [number, number], fill: opaque(l.color) + "2e" })),
      ],
      hooks: {
        draw: [
          (x) => {
            mark(x, marks, below, axisFont);
            limits(x, panel);
            showPin(x, pinned.current);
          },
        ],
        ready: [
          (x) => {
            x.over.addEventListener("mousedown", (e) => {
              if (e.button !== 0) return;
              dragging.current = true;
              const began = e.clientX;
              addEventListener(
                "mouseup",
                (e) => {
                  dragging.current = false;
                  const left = x.cursor.left ?? -1;
                  if (Math.abs(e.clientX - began) <= 4 && left >= 0) setPin(x.posToVal(left, "x"));
                },
                { once: true },
              );
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
              if (b - a >= 2) zoom({ live: false, end: b, window: b - a, speed: 0 }, { ...way.current, page: now.current.page, pid: now.current.pid, item: now.current.item, of: now.current.pid || now.current.item ? now.current.of : way.current.of, over: "window" });
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
      const width = el.clientWidth;
      if (width) setPoints(Math.max(200, Math.round(width / 100) * 100));
      wide.current = width;
      if (u && width && u.width !== width) {
        shape.current = "";
        u.setSize({ width, height: canvasHeight(!!props.tall) });
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

  const toggle = (key: string) =>
    setHidden((hidden) => {
      const s = new Set(hidden);
      if (!s.delete(key)) s.add(key);
      return s;
    });
  // sampleAt is the time of the sample whose value is drawn at a time.
  const sampleAt = (t: number): number => {
    let best = t;
    const l = visible[0]?.all;
    if (l?.back) best = l.t.find((x, i) => x >= t && l.v[i] !== null) ?? t;
    return Math.min(best, t + Math.max(v.window / 20, 2 * v.step));
  };
  // around is the part of the window in whose middle a time is.
  const around = (t: number) => {
    const window = Math.max(60, v.window / 10);
    return { end: Math.min(to, t + window / 2), window };
  };
  const choose = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[e.key];
    const edge = { Home: from, End: to }[e.key];
    if (e.key === "Escape") setPin(null);
    else if (by !== undefined) setPin(Math.max(from, Math.min(to, (pin ?? to) + by * Math.max(v.step, v.window / 100))));
    else if (edge !== undefined) setPin(edge);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const why = visible.length ? "" : colored.length ? "All lines are hidden." : empty(d, panel, !v.live, feed.hasRecorded, feed.loading || (feed.past && feed.status === "connecting"));
  const step = Math.max(v.step * 2.5, v.window / 200);
  const title = panel.title.replace(/%[hH]/g, feed.host);
  const seenAt = hover ?? pin; // the time of the numbers beside the picture
  useEffect(() => {
    if (plot.current) showPin(plot.current, pin);
  }, [pin]);
  const measured = colored.map((l) => ({ ...l, stats: statsOf(l, seenAt, step) }));
  // Layers that were chosen one by one read from the top, as the picture does. All else comes by size: at the pointer, or in the window.
  const [order, setOrder] = useState<Order>("max");
  const by = seenAt === null ? order : "at";
  const rows =
    stacked && (panel.plots.length > 1 || colored.length < 2) && colored.length <= inOrder
      ? [...measured].reverse()
      : [...measured].sort((a, b) => Number(!!a.rest) - Number(!!b.rest) || (b.stats[by] ?? -Infinity) - (a.stats[by] ?? -Infinity));
  const body = useFocusKept<HTMLTableSectionElement>();
  const heads = useSame();
  const column = (key: Order, title: string, hint: string) => (
    <th scope="col" aria-sort={by === key ? "descending" : undefined}>
      <button type="button" class="sort" title={hint} onClick={() => setOrder(key)}>
        {title}
      </button>
    </th>
  );
  const joint = d.joint;
  const largest = joint ? `The largest sample: of ${span(joint.before)} each until ${clock(joint.at, v.zone, true, v.window > 86400)}, of ${span(joint.after)} each after it` : "The largest sample";
  if (props.exporter) {
    props.exporter.current = (as) => {
      const u = plot.current;
      const name = (ext: string) => fileName(`${feed.host} ${title} ${Number.isFinite(to) ? new Date(to * 1000).toISOString().slice(0, 19) : ""}`.trim(), ext);
      const shownLines = [...inStack, ...others];
      if (as === "csv") {
        const a = align(shownLines.map((l) => l.all));
        const unit = (l: (typeof shownLines)[number]) => (l.kind.utilization ? "share of 1" : formatFor(l.kind.unit, 0, false).unit);
        save(name("csv"), "text/csv;charset=utf-8", csv([["time", ...shownLines.map((l) => l.label + (unit(l) ? ` (${unit(l)})` : ""))], ...a.t.map((t, i) => [new Date(t * 1000).toISOString(), ...a.v.map((w) => w[i])]).filter((r) => r.slice(1).some((x) => typeof x === "number"))]));
        return;
      }
      if (as === "json") {
        save(name("json"), "application/json", numbersOf({ title, host: feed.host, from, to }, shownLines.map((l) => ({ label: l.label, metric: sourceOf(panel.plots[Number(l.key.split(" ", 1)[0])]), instance: l.rest ? l.label : l.key.slice(l.key.indexOf(" ") + 1), kind: l.kind, t: l.all.t, v: l.all.v }))));
        return;
      }
      if (!u) return;
      const style = getComputedStyle(document.documentElement);
      const color = (k: string) => style.getPropertyValue(k).trim();
      const p: Picture = {
        title: (feed.host ? feed.host + ": " : "") + title,
        when: `${dated(from, v.zone)} – ${dated(to, v.zone)}`,
        unit: formats.map((f) => f.unit).filter(Boolean).join(", "),
        u,
        thresholds: (panel.thresholds ?? []).map((t) => ({ value: t.value, color: inkOf(t.level), text: describeThreshold(t, kinds[0]) })),
        heads: [v.live ? "now" : "last", "mean", "max"],
        ink: { ...inks(theme), background: color("--card"), strong: color("--text") },
        lines: shownLines.map((l, i) => {
          const s = statsOf(l, null, step);
          const cell = (x: number | null) => showWith(x, l.kind.unit, l.kind.utilization);
          return {
            label: l.label, color: opaque(l.color), cells: [cell(s.at), cell(s.mean), cell(s.max)], below: i < inStack.length ? i - 1 : -1,
            fill: i < inStack.length || panel.style === "area" || panel.style === "bar", step: panel.style === "bar" ? 0 : l.back ? -1 : d.joint ? 1 : 0, scale: l.axis ? "y2" : "y",
          };
        }),
      };
      if (as === "svg") save(name("svg"), "image/svg+xml", svg(p));
      else void png(p).then((b) => b && save(name("png"), "image/png", b));
    };
  }
  const summary = [...measured]
    .sort((a, b) => peak(b.all) - peak(a.all))
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
        <button type="button" class="choose" aria-expanded={pin !== null} onKeyDown={choose} onClick={() => setPin(pin === null ? to : null)}>
          Choose a time in {title}: ← →
        </button>
      )}
      {pin !== null && colored.length > 0 && (
        <div class="pinned" role="group" aria-label={`${title} at ${dated(pin, v.zone)}`}>
          <span>{clock(pin, v.zone, true, v.window > 86400)}</span>
          <Goto class="button" to={{ ...lead.to, view: { ...v, live: false, end: sampleAt(pin), speed: 0 }, host: state.host, from: state.from, over: "" }} title={lead.what + ", at this time"}>
            Activity then
          </Goto>
          {feed.hasRecorded && (
            <Goto class="button" to={{ page: "diagnose", pid: 0, item: "", view: { ...v, ...around(pin), live: false, speed: 0 }, host: state.host, from: state.from }} title="What changed around this time, compared with before">
              What changed
            </Goto>
          )}
          <button type="button" onClick={() => zoom({ live: false, end: Math.min(to, pin + v.window / 10), window: Math.max(10, v.window / 5), speed: 0 })}>
            Zoom in
          </button>
          <button type="button" class="icon" aria-label="Choose no time" onClick={() => setPin(null)}>
            ✕
          </button>
        </div>
      )}
      {colored.length > 0 && (
        <div class="numbers">
          <table>
            <caption class="vh">
              {title}, {seenAt === null ? "last values" : `values at ${dated(seenAt, v.zone)}`}
            </caption>
            <thead>
              <tr>
                <th scope="col">
                  <span class="vh">Line</span>
                </th>
                {column("at", seenAt === null ? (v.live ? "now" : "last") : clock(seenAt, v.zone, true, false), "Order by the last value")}
                {column("mean", "mean", "The mean in time; order by it")}
                {column("max", "max", largest + "; order by it")}
              </tr>
            </thead>
            <tbody ref={body}>
              {rows.map((l) => {
                const s = l.stats;
                const off = isHidden(l);
                const over = l.axis === 0 ? reached(s.at, panel.thresholds) : null;
                return (
                  <tr key={l.key} class={off ? "off" : ""}>
                    {heads(l.key, [off, l.label, l.color, over?.level], () => (
                      <th scope="row">
                        <button type="button" class="line" aria-pressed={!off} title={`${off ? "Show" : "Hide"} ${l.label}`} onClick={() => toggle(l.key)}>
                          <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
                            <rect width="10" height="10" rx="2" fill={l.color} />
                          </svg>
                          <span class="name">{l.label}</span>
                          {over && (
                            <span class={"over " + over.level} title={`At or above ${describeThreshold(over, l.kind)}`}>
                              ▲<span class="vh"> at or above a threshold</span>
                            </span>
                          )}
                        </button>
                      </th>
                    ))}
                    <td class={over?.level}>{showWith(s.at, l.kind.unit, l.kind.utilization)}</td>
                    <td>{showWith(s.mean, l.kind.unit, l.kind.utilization)}</td>
                    <td>{showWith(s.max, l.kind.unit, l.kind.utilization)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {(joint || d.means > 0) && colored.length > 0 && (
        <p class="note joint">
          {joint && `Samples every ${span(joint.before)} until ${clock(joint.at, v.zone, true, v.window > 86400)}, then every ${span(joint.after)}. `}
          {d.means > 0 && `Means of ${span(d.means)} are drawn${panel.style === "line" || panel.style === "area" ? ", and above them in pale colours the largest samples" : ""}; max is that of samples.`}
        </p>
      )}
      {several > few && (
        <p class="note">
          <label>
            Draw the{" "}
            <select aria-label={`Lines of ${title}`} value={limit} onChange={(e) => setTop(Number(e.currentTarget.value))}>
              {[...new Set([...tops, limit])].sort((a, b) => a - b).map((n) => (
                <option key={n} value={n}>
                  {n} largest
                </option>
              ))}
            </select>{" "}
            of {several} lines
          </label>
        </p>
      )}
      {(panel.thresholds?.length || log) && colored.length > 0 && (
        <p class="note">
          {!!panel.thresholds?.length && `Thresholds: ${panel.thresholds.map((t) => describeThreshold(t, kinds[0])).join(", ")}. `}
          {log && "The axis is logarithmic; what is not above zero is at its lower end."}
        </p>
      )}
      {d.ended.length > 0 && colored.length > 0 && <p class="note">The collector has no more values of {d.ended.join(", ")}.</p>}
      {(d.more > 0 || d.other.length > 0 || ((d.absent.length > 0 || d.lost.length > 0) && colored.length > 0)) && (
        <p class="note">
          {colored.length > 0 && d.lost.length > 0 && `Not drawn: ${d.lost.join("; ")}. `}
          {d.more > 0 && `${d.more} more lines are not drawn${rest ? `; “others” is their ${rest}` : ""}. `}
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

// limits draws the thresholds of a chart.
function limits(u: uPlot, panel: ChartPanel): void {
  const x = u.ctx;
  for (const t of panel.thresholds ?? []) {
    const y = u.valToPos(t.value, "y", true);
    if (!(y >= u.bbox.top && y <= u.bbox.top + u.bbox.height)) continue;
    x.save();
    x.strokeStyle = inkOf(t.level);
    x.lineWidth = devicePixelRatio || 1;
    x.setLineDash([6 * x.lineWidth, 4 * x.lineWidth]);
    x.beginPath();
    x.moveTo(u.bbox.left, y);
    x.lineTo(u.bbox.left + u.bbox.width, y);
    x.stroke();
    x.restore();
  }
}

// decades are the powers of ten of the unit that is shown.
function decades(min: number, max: number, f: Format | undefined): number[] {
  const scale = f?.scale ?? 1;
  const a = Math.ceil(Math.log10(min * scale) - 1e-9);
  const b = Math.floor(Math.log10(max * scale) + 1e-9);
  const step = Math.max(1, Math.ceil((b - a) / 8));
  const out: number[] = [];
  for (let e = a; e <= b && out.length < 50; e += step) out.push(Math.pow(10, e) / scale);
  return out.length ? out : [min];
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
  return Math.abs(x) >= 1e7 ? x.toExponential(1) : fixed(x, digits);
}

export { show };
