// Views of pmchart(1), as dashboards: one for each tab.

import { maxNotes, maxPanels, maxPlots, type ChartPanel, type Dashboard, type Plot, type Style } from "./dashboard";
import { compile } from "./pattern";

const stylesOf: Record<string, Style> = { plot: "line", line: "line", bar: "bar", stacking: "stack", area: "area", utilization: "share" };
const maxView = 1 << 20;
const maxTabs = 50;
const maxScheme = 100; // colours

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
  if (rgbi) return "#" + rgbi.slice(1).map((x) => Math.round(255 * Math.min(1, Number(x) || 0)).toString(16).padStart(2, "0")).join("");
  const hex = /^#([0-9a-f]+)$/i.exec(s);
  if (hex && hex[1].length % 3 === 0 && hex[1].length <= 12) {
    const n = hex[1].length / 3;
    return "#" + [0, 1, 2].map((i) => hex[1].slice(i * n, i * n + n)).map((x) => (n === 1 ? x + x : x.slice(0, 2))).join("");
  }
  return /^[a-z]+$/i.test(s) && CSS.supports("color", s) ? s.toLowerCase() : undefined;
}

export function isView(text: string): boolean {
  return /^#(km|pm)chart/i.test(text);
}

// parseView reads a view; name is what its first tab is called, unless it has a name of its own. What has no counterpart is
// in the notes of the dashboards.
export function parseView(text: string, name: string): Dashboard[] {
  if (text.length > maxView) throw new Error(`${name}: longer than ${maxView} bytes`);
  if (!isView(text)) throw new Error(`${name}: the first line is not #kmchart`);
  const boards: Dashboard[] = [{ title: name, panels: [] }];
  let board = boards[0];
  let tabHost: string | undefined;
  const schemes = new Map<string, { colors: string[]; next: number }>();
  let scheme: string[] | undefined; // of the charts that follow
  let window: number | undefined;
  let version = false;
  let skipped = false; // the plots of a chart that is not imported
  let chart: ChartPanel | null = null;
  text.split(/\r?\n/).forEach((line, n) => {
    const fail = (what: string): never => {
      throw new Error(`${name}, line ${n + 1}: ${what}`);
    };
    const note = (what: string) => {
      board.notes ??= [];
      if (board.notes.length < maxNotes) board.notes.push(`line ${n + 1}: ${what}`.slice(0, 1000));
    };
    if (/^\s*(#|$)/.test(line)) return;
    const w = words(line);
    let i = 0;
    const word = (what: string): string => (i < w.length ? w[i++].text : fail(what + " is missing"));
    const count = (what: string): number => {
      const s = word(what);
      const v = Number(s);
      return Number.isInteger(v) && v >= 0 && v <= 1e9 ? v : fail(`${JSON.stringify(s)} is not a number`);
    };
    const hostOf = (s: string): string | undefined => {
      if (s === "*") return undefined;
      if (!s.includes("/")) return s;
      note(`the archive ${s} is not opened: the host of the page is shown`);
      return undefined;
    };
    const key = word("a keyword").toLowerCase();
    switch (key) {
      case "version":
        version = true;
        return;
      case "global": {
        const what = word("what is global").toLowerCase();
        if (!["width", "height", "xpos", "ypos", "points"].includes(what)) fail(`${JSON.stringify(what)} is unknown as global`);
        const v = count("the value of " + what);
        if (what === "points") window = Math.max(10, v, window ?? 0);
        else note(`global ${what}: the browser places its windows`);
        return;
      }
      case "scheme":
      case "colorscheme": {
        const title = word("the name of the scheme");
        const colors: string[] = [];
        for (const x of w.slice(i, i + maxScheme)) {
          const c = color(x.text);
          if (c) colors.push(c);
          else note(`the colour ${x.text} is unknown`);
        }
        if (w.length - i > maxScheme) note(`of the scheme ${title}, colours after the first ${maxScheme} are left out`);
        if (title === "#-cycle") fail("#-cycle is the name of the scheme of the page");
        if (!schemes.has(title) && colors.length) {
          schemes.set(title, { colors, next: 0 });
          scheme = colors;
        }
        return;
      }
      case "view":
      case "tab": {
        const title = word("the name of the tab");
        if (boards.length > maxTabs) fail(`more than ${maxTabs} tabs`);
        if (board.panels.length || (boards.length > 1 && !board.panels.length)) {
          board = { title, panels: [] };
          boards.push(board);
        } else board.title = title;
        chart = null;
        tabHost = undefined;
        while (i < w.length) {
          const k = word("").toLowerCase();
          if (k === "host") tabHost = hostOf(word("the host"));
          else if (k === "points") board.window = Math.max(10, count("the number of points"));
          else if (k === "samples") {
            count("the number of samples");
            note("samples: the page keeps samples by their age");
          } else fail(`${JSON.stringify(k)} is unknown in a tab`);
        }
        return;
      }
      case "chart": {
        if (!version) fail("a chart before the version");
        const c: ChartPanel = { kind: "chart", title: "", style: "line", plots: [] };
        skipped = false;
        while (i < w.length) {
          const k = word("").toLowerCase();
          if (k === "title") c.title = word("the title");
          else if (k === "style") {
            const s = word("the style");
            if (s.toLowerCase() === "event") skipped = true;
            else if (!Object.hasOwn(stylesOf, s.toLowerCase())) fail(`${JSON.stringify(s)} is not a style`);
            else c.style = stylesOf[s.toLowerCase()];
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
            else note(`scale from ${min} to ${max}: the first limit is not below the second`);
          } else if (k === "legend" || k === "antialiasing") {
            if (word(k).toLowerCase() === "off") note(`${k} off: each chart has ${k === "legend" ? "the names of its lines" : "smooth lines"}`);
          } else if (k === "scheme") {
            const s = word("the scheme");
            if (schemes.has(s)) c.colors = schemes.get(s)!.colors;
            else note(`the scheme ${s} is unknown`);
          } else fail(`${JSON.stringify(k)} is unknown in a chart`);
        }
        if (scheme && !c.colors) c.colors = scheme;
        chart = c;
        if (skipped) note(`the chart ${c.title || "without a title"}: charts of events are not supported`);
        else if (board.panels.length >= maxPanels) {
          skipped = true;
          note(`the chart ${c.title || "without a title"}: a tab has at most ${maxPanels} charts`);
        } else board.panels.push(c);
        return;
      }
      case "plot":
      case "optional-plot": {
        const c = chart ?? fail("a plot before the first chart");
        const p: Plot = { metric: "" };
        if (key === "optional-plot") p.optional = true;
        let host = tabHost;
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
              compile(s);
            } catch (e) {
              fail(e instanceof Error ? e.message : String(e));
            }
            return s;
          };
          if (k === "legend" || k === "title") p.legend = word("the legend");
          else if (k === "color" || k === "colour") {
            const s = word("the colour");
            const of = schemes.get(s);
            if (of) p.color = of.colors[of.next++ % of.colors.length];
            else if (s !== "#-cycle") {
              const found = color(s);
              if (found) p.color = found;
              else note(`the colour ${s} is unknown`);
            }
          } else if (k === "host") host = hostOf(word("the host"));
          else if (k === "metric") p.metric = word("the metric");
          else if (k === "instance") p.instances = [rest("the instance")];
          else if (k === "matching") p.match = pattern();
          else if (k === "not-matching") p.unmatch = pattern();
          else fail(`${JSON.stringify(k)} is unknown in a plot`);
        }
        if (!p.metric) fail("a plot without a metric");
        if (host !== undefined) p.host = host;
        if (c.plots.length < maxPlots) c.plots.push(p);
        else note(`the plot of ${p.metric}: a chart has at most ${maxPlots} plots`);
        return;
      }
      default:
        fail(`${JSON.stringify(key)} is unknown`);
    }
  });
  if (!boards.some((b) => b.panels.length || b.notes)) throw new Error(`${name}: no chart`);
  for (const b of boards) {
    if (window !== undefined) b.window ??= window;
    for (const c of b.panels) c.title ||= (c as ChartPanel).plots.map((p) => p.metric).join(", ").slice(0, 4000);
  }
  return boards;
}

// joined makes one dashboard of those of tabs, each below its name.
export function joined(boards: Dashboard[], title: string): Dashboard {
  if (boards.length === 1) return boards[0];
  const notes = boards.flatMap((b) => b.notes ?? []).slice(0, maxNotes);
  return {
    title,
    panels: boards.flatMap((b) => [{ kind: "text" as const, title: b.title, text: "" }, ...b.panels]).slice(0, maxPanels),
    ...(boards[0].window ? { window: boards[0].window } : {}),
    ...(notes.length ? { notes } : {}),
  };
}
