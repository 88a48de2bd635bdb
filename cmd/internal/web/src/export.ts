// What is seen, as files: numbers as CSV, a chart as a picture.

import type uPlot from "uplot";
import { escape, fit } from "./shapes";
import { formatFor } from "./units";
import type { Kind } from "./values";

// save has the browser keep a file.
export function save(name: string, type: string, data: string | Blob): void {
  const url = URL.createObjectURL(typeof data === "string" ? new Blob([data], { type }) : data);
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// fileName makes a name of a title.
export function fileName(title: string, ext: string): string {
  return (title.replace(/[^\w.-]+/g, "-").replace(/^[-.]+|-+$/g, "") || "pcp") + "." + ext;
}

// field writes a text so that a spreadsheet takes it as nothing but text.
function field(x: string | number | null | undefined): string {
  if (x === null || x === undefined) return "";
  if (typeof x === "number") return Number.isFinite(x) ? String(x) : "";
  const s = /^[=+\-@\t\r]/.test(x) ? "'" + x : x;
  return /[",\r\n]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
}

export function csv(rows: (string | number | null | undefined)[][]): string {
  return rows.map((r) => r.map(field).join(",") + "\r\n").join("");
}

// A Series has the samples of a line.
export interface Series {
  label: string;
  metric: string;
  instance: string; // "" if there is one value only
  kind: Kind;
  t: number[];
  v: (number | null)[];
}

// numbersOf writes lines as JSON: times as in RFC 3339, values in bytes, seconds and counts.
export function numbersOf(of: { title: string; host: string; from: number; to: number }, lines: Series[]): string {
  const at = (t: number) => (Number.isFinite(t) ? new Date(t * 1000).toISOString() : null);
  return (
    JSON.stringify({
      format: "go-pcp samples 1",
      title: of.title,
      host: of.host,
      from: at(of.from),
      to: at(of.to),
      lines: lines.map((l) => ({ label: l.label, metric: l.metric, ...(l.instance === "" ? {} : { instance: l.instance }), unit: unitOf(l.kind), samples: l.t.flatMap((t, i) => (l.v[i] === null ? [] : [[at(t), l.v[i]]])) })),
    }) + "\n"
  );
}

// unitOf names the unit of numbers in a file.
export function unitOf(k: Kind): string {
  return k.utilization ? "share of 1" : formatFor(k.unit, 0, false).unit;
}

// A Picture is what is drawn of a chart, in pixels of the screen.
export interface Picture {
  title: string;
  when: string;
  unit: string;
  u: uPlot;
  lines: { label: string; color: string; cells: string[]; below: number; fill: boolean; step: -1 | 0 | 1; scale: string }[]; // in the order of u's series
  heads: string[];
  thresholds: { value: number; color: string; text: string }[]; // of the scale y
  ink: { text: string; grid: string; background: string; strong: string };
}

const rowHeight = 18;
const headHeight = 44;
const font = "system-ui, sans-serif";

function sizes(p: Picture): { width: number; height: number; plot: number; columns: number[] } {
  const width = Math.max(p.u.width, 320);
  const columns = p.heads.map((_, i) => width - 8 - 78 * (p.heads.length - 1 - i));
  return { width, plot: p.u.height, height: headHeight + p.u.height + rowHeight * (p.lines.length + 1) + 10, columns };
}

// svg draws a chart again, as lines that can be scaled.
export function svg(p: Picture): string {
  const { width, height, plot, columns } = sizes(p);
  const { u, ink } = p;
  const ratio = devicePixelRatio || 1;
  const box = { left: u.bbox.left / ratio, top: u.bbox.top / ratio + headHeight, width: u.bbox.width / ratio, height: u.bbox.height / ratio };
  const n = (x: number) => String(Math.round(x * 100) / 100);
  const out: string[] = [];
  const text = (x: number, y: number, s: string, more = "") => out.push(`<text x="${n(x)}" y="${n(y)}" fill="${ink.text}" ${more}>${escape(s)}</text>`);
  out.push(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${font}" font-size="11">`,
    `<title>${escape(p.title)}</title>`,
    `<rect width="100%" height="100%" fill="${ink.background}"/>`,
    `<clipPath id="box"><rect x="${n(box.left)}" y="${n(box.top)}" width="${n(box.width)}" height="${n(box.height)}"/></clipPath>`,
  );
  out.push(`<text x="8" y="18" font-size="14" font-weight="600" fill="${ink.strong}">${escape(fit(p.title, width))}</text>`);
  text(8, 34, p.when + (p.unit ? " · " + p.unit : ""));
  u.axes.forEach((a: any) => {
    const splits: number[] = a._splits ?? [];
    const labels: string[] = a._values ?? [];
    splits.forEach((s, i) => {
      if (a.scale === "x") {
        const x = u.valToPos(s, "x") + box.left;
        if (x < box.left || x > box.left + box.width) return;
        out.push(`<path d="M${n(x)} ${n(box.top)}v${n(box.height)}" stroke="${ink.grid}"/>`);
        text(x, box.top + box.height + 16, String(labels[i] ?? ""), 'text-anchor="middle"');
      } else {
        const y = u.valToPos(s, a.scale) + box.top;
        const right = a.side === 1;
        if (!right) out.push(`<path d="M${n(box.left)} ${n(y)}h${n(box.width)}" stroke="${ink.grid}"/>`);
        text(right ? box.left + box.width + 6 : box.left - 6, y + 4, String(labels[i] ?? ""), `text-anchor="${right ? "start" : "end"}"`);
      }
    });
  });
  out.push('<g clip-path="url(#box)">');
  const t = u.data[0];
  p.lines.forEach((l, k) => {
    const v = u.data[k + 1];
    const x = (i: number) => u.valToPos(t[i], "x") + box.left;
    const log = u.scales[l.scale].distr === 3;
    const y = (w: number) => (log && !(w > 0) ? box.height : u.valToPos(w, l.scale)) + box.top;
    const part: [number, number, number][] = []; // x, y, base
    const below = l.below >= 0 ? u.data[l.below + 1] : null;
    const flush = () => {
      if (!part.length) return;
      const steps: [number, number, number][] = [];
      part.forEach((q, i) => {
        if (i && l.step) steps.push(l.step < 0 ? [part[i - 1][0], q[1], q[2]] : [q[0], part[i - 1][1], part[i - 1][2]]);
        steps.push(q);
      });
      const d = steps.map((q, i) => (i ? "L" : "M") + n(q[0]) + " " + n(q[1])).join("");
      if (l.fill) out.push(`<path d="${d}${[...steps].reverse().map((q) => "L" + n(q[0]) + " " + n(q[2])).join("")}Z" fill="${l.color}" fill-opacity="0.35"/>`);
      out.push(`<path d="${d}" fill="none" stroke="${l.color}" stroke-width="1.5" stroke-linejoin="round"/>`);
      part.length = 0;
    };
    for (let i = 0; i < t.length; i++) {
      const w = v[i];
      if (w === undefined) continue;
      if (w === null) flush();
      else part.push([x(i), y(w), y(below?.[i] ?? 0)]);
    }
    flush();
  });
  for (const h of p.thresholds) {
    const y = u.valToPos(h.value, "y") + box.top;
    if (!(y >= box.top && y <= box.top + box.height)) continue;
    out.push(`<path d="M${n(box.left)} ${n(y)}h${n(box.width)}" fill="none" stroke="${h.color}" stroke-dasharray="6 4"><title>${escape(h.text)}</title></path>`);
  }
  out.push("</g>");
  let y = headHeight + plot + rowHeight;
  p.heads.forEach((s, i) => text(columns[i], y - 4, s, 'text-anchor="end"'));
  for (const l of p.lines) {
    y += rowHeight;
    out.push(`<rect x="8" y="${y - 14}" width="10" height="10" rx="2" fill="${l.color}"/>`);
    out.push(`<text x="24" y="${y - 5}" fill="${ink.strong}">${escape(fit(l.label, columns[0] - 90))}</text>`);
    l.cells.forEach((s, i) => text(columns[i], y - 5, s, 'text-anchor="end"'));
  }
  out.push("</svg>\n");
  return out.join("\n");
}

// png puts what is drawn of a chart, its title and its numbers on one canvas.
export function png(p: Picture): Promise<Blob | null> {
  const { width, height, plot, columns } = sizes(p);
  const ratio = Math.max(devicePixelRatio || 1, 1);
  const c = document.createElement("canvas");
  c.width = width * ratio;
  c.height = height * ratio;
  const x = c.getContext("2d");
  if (!x) return Promise.resolve(null);
  x.scale(ratio, ratio);
  x.fillStyle = p.ink.background;
  x.fillRect(0, 0, width, height);
  x.fillStyle = p.ink.strong;
  x.font = "600 14px " + font;
  x.fillText(fit(p.title, width), 8, 18);
  x.font = "11px " + font;
  x.fillStyle = p.ink.text;
  x.fillText(p.when + (p.unit ? " · " + p.unit : ""), 8, 34);
  x.drawImage(p.u.ctx.canvas, 0, headHeight, p.u.width, plot);
  const right = (s: string, i: number, y: number) => {
    x.textAlign = "right";
    x.fillText(s, columns[i], y);
    x.textAlign = "left";
  };
  let y = headHeight + plot + rowHeight;
  p.heads.forEach((s, i) => right(s, i, y - 4));
  for (const l of p.lines) {
    y += rowHeight;
    x.fillStyle = l.color;
    x.fillRect(8, y - 14, 10, 10);
    x.fillStyle = p.ink.strong;
    x.fillText(fit(l.label, columns[0] - 90), 24, y - 5);
    x.fillStyle = p.ink.text;
    l.cells.forEach((s, i) => right(s, i, y - 5));
  }
  return new Promise((done) => c.toBlob(done, "image/png"));
}
