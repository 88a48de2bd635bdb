// Views of pmchart(1), as dashboards.

import type { ChartPanel, Dashboard, Plot, Style } from "./dashboard";

const stylesOf: Record<string, Style> = { plot: "line", line: "line", bar: "bar", stacking: "stack", area: "area", utilization: "share" };
const maxView = 1 << 20;

// words divides a line at white space outside of quotes. It also says where each began.
function words(line: string): { text: string; at: number }[] {
  const out: { text: string; at: number }[] = [];
  const re = /"((?:[^"\\]|\\.)*)"|(\S+)/g;
  for (let m = re.exec(line); m; m = re.exec(line)) {
    out.push({ text: m[1] !== undefined ? m[1].replace(/\\(.)/g, "$1") : m[2], at: m.index });
  }
  return out;
}

// color takes the colours that a browser knows too, in pmchart's way of writing them.
function color(s: string): string | undefined {
  const rgbi = /^rgbi:([\d.]+)[:/]([\d.]+)[:/]([\d.]+)$/i.exec(s);
  if (rgbi) return "#" + rgbi.slice(1).map((x) => Math.round(255 * Math.min(1, Number(x))).toString(16).padStart(2, "0")).join("");
  const hex = /^#([0-9a-f]+)$/i.exec(s);
  if (hex && hex[1].length % 3 === 0 && hex[1].length <= 12) {
    const n = hex[1].length / 3;
    return "#" + [0, 1, 2].map((i) => hex[1].slice(i * n, i * n + n)).map((x) => (n === 1 ? x + x : x.slice(0, 2))).join("");
  }
  return /^[a-z]+$/i.test(s) ? s.toLowerCase() : undefined;
}

export function isView(text: string): boolean {
  return /^#(km|pm)chart/i.test(text);
}

// parseView reads a view; name is what the dashboard is called.
export function parseView(text: string, name: string): Dashboard {
  if (text.length > maxView) throw new Error(`${name}: longer than ${maxView} bytes`);
  if (!isView(text)) throw new Error(`${name}: the first line is not #kmchart`);
  const panels: ChartPanel[] = [];
  const schemes = new Map<string, string[]>();
  const lines = text.split(/\r?\n/);
  let version = false;
  lines.forEach((line, n) => {
    const fail = (what: string): never => {
      throw new Error(`${name}, line ${n + 1}: ${what}`);
    };
    if (/^\s*(#|$)/.test(line)) return;
    const w = words(line);
    let i = 0;
    const word = (what: string): string => (i < w.length ? w[i++].text : fail(what + " is missing"));
    const key = word("a keyword").toLowerCase();
    switch (key) {
      case "version":
        version = true;
        return;
      case "global":
        return;
      case "scheme":
      case "colorscheme": {
        const scheme = word("the name of the scheme");
        schemes.set(scheme, w.slice(i).flatMap((x) => color(x.text) ?? []));
        return;
      }
      case "chart": {
        if (!version) fail("a chart before the version");
        const c: ChartPanel = { kind: "chart", title: "", style: "line", plots: [] };
        while (i < w.length) {
          const k = word("").toLowerCase();
          if (k === "title") c.title = word("the title");
          else if (k === "style") {
            const s = word("the style");
            c.style = stylesOf[s.toLowerCase()] ?? fail(`${JSON.stringify(s)} is not a style`);
          } else if (k === "scale") {
            const limit = (): number => {
              let s = word("a limit of the scale");
              if (/^(from|to)$/i.test(s)) s = word("a limit of the scale");
              const v = Number(s);
              return Number.isFinite(v) ? v : fail(`${JSON.stringify(s)} is not a number`);
            };
            const min = limit();
            const max = limit();
            if (min < max) Object.assign(c, { min, max });
          } else if (k === "legend" || k === "antialiasing" || k === "scheme") word(k);
          else fail(`${JSON.stringify(k)} is unknown in a chart`);
        }
        panels.push(c);
        return;
      }
      case "plot":
      case "optional-plot": {
        const c = panels[panels.length - 1] ?? fail("a plot before the first chart");
        const p: Plot = { metric: "" };
        if (key === "optional-plot") p.optional = true;
        while (i < w.length) {
          const k = word("").toLowerCase();
          // Instances and patterns go on to the end of the line.
          const rest = (what: string): string => {
            if (i >= w.length) fail(what + " is missing");
            const s = line.slice(w[i].at).trim();
            i = w.length;
            return /^".*"$/.test(s) ? s.slice(1, -1).replace(/\\(["\\])/g, "$1") : s;
          };
          const pattern = (): string => {
            const s = rest("the pattern");
            try {
              new RegExp(s);
            } catch {
              fail(`${JSON.stringify(s)} is not a regular expression`);
            }
            return s;
          };
          if (k === "legend" || k === "title") p.legend = word("the legend");
          else if (k === "color" || k === "colour") {
            const s = word("the colour");
            if (s !== "#-cycle") p.color = color(s);
            if (p.color === undefined) delete p.color;
          } else if (k === "host") word("the host");
          else if (k === "metric") p.metric = word("the metric");
          else if (k === "instance") p.instances = [rest("the instance")];
          else if (k === "matching") p.match = pattern();
          else if (k === "not-matching") p.unmatch = pattern();
          else fail(`${JSON.stringify(k)} is unknown in a plot`);
        }
        if (!p.metric) fail("a plot without a metric");
        c.plots.push(p);
        return;
      }
      default:
        fail(`${JSON.stringify(key)} is unknown`);
    }
  });
  if (!panels.length) throw new Error(`${name}: no chart`);
  for (const c of panels) c.title ||= c.plots.map((p) => p.metric).join(", ");
  return { title: name, panels };
}
