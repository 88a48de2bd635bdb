// Units of metrics: what the text of a descriptor means, and how numbers of it are shown.

// Dims are the dimensions of a unit, and factor is what a number of it is in bytes, seconds, counts, volts, amperes and
// watts. Degrees are not converted.
export interface Unit {
  space: number;
  time: number;
  count: number;
  extra?: string; // °C, °F, K, V, A or W
  per?: boolean; // divided by extra
  factor: number;
  text: string; // as it stands, for a unit that is not understood
}

const spaces = ["byte", "Kbyte", "Mbyte", "Gbyte", "Tbyte", "Pbyte", "Ebyte", "Zbyte", "Ybyte"];
const times: Record<string, number> = { nanosec: 1e-9, microsec: 1e-6, millisec: 1e-3, sec: 1, min: 60, hour: 3600 };

// extras are the names of extra units and of their scales, and for each its unit and factor.
const extras: Record<string, Record<string, [string, number]>> = {
  temperature: { "(C)": ["°C", 1], "(F)": ["°F", 1], "(K)": ["K", 1] },
  voltage: { "(V)": ["V", 1], "(mV)": ["V", 1e-3], "(uV)": ["V", 1e-6] },
  current: { "(A)": ["A", 1], "(mA)": ["A", 1e-3], "(uA)": ["A", 1e-6] },
  power: { "(kW)": ["W", 1e3], "(W)": ["W", 1], "(mW)": ["W", 1e-3], "(uW)": ["W", 1e-6] },
};

// parseUnit reads units as PCP prints them: "Kbyte / sec", "count x 10^3", "byte^2", "temperature (C)", "none".
export function parseUnit(text: string): Unit {
  const u: Unit = { space: 0, time: 0, count: 0, factor: 1, text };
  const bad = { ...u, text: text === "none" ? "" : text };
  if (text === "" || text === "none") return { ...u, text: "" };
  const halves = text.split("/");
  if (halves.length > 2) return bad;
  for (let h = 0; h < halves.length; h++) {
    const sign = h === 0 ? 1 : -1;
    const words = halves[h].trim().split(/\s+/).filter(Boolean);
    for (let i = 0; i < words.length; i++) {
      const m = /^([A-Za-z]+)(?:\^(\d+))?$/.exec(words[i]);
      if (!m) return bad;
      const power = sign * Number(m[2] ?? 1);
      const space = spaces.indexOf(m[1]);
      if (space >= 0) {
        u.space += power;
        u.factor *= Math.pow(1024, space * power);
      } else if (m[1] in times) {
        u.time += power;
        u.factor *= Math.pow(times[m[1]], power);
      } else if (m[1] === "count") {
        u.count += power;
        if (words[i + 1] === "x") {
          const e = /^10\^(-?\d+)$/.exec(words[i + 2] ?? "");
          if (!e) return bad;
          u.factor *= Math.pow(10, Number(e[1]) * power);
          i += 2;
        }
      } else if (Object.hasOwn(extras, m[1])) {
        const e = extras[m[1]][words[++i] ?? ""];
        if (!e || u.extra || m[2]) return bad;
        u.extra = e[0];
        u.per = sign < 0;
        u.factor *= Math.pow(e[1], sign);
      } else return bad;
    }
  }
  if (u.space === 0 && u.time === 0 && u.count === 0 && !u.extra) return bad;
  return u;
}

const share = "share";

// rateOf is the unit of a counter's rate.
export function rateOf(u: Unit): Unit {
  // A time per time has no dimension left: it is a share.
  if (u.extra) return { ...u, time: u.time - 1, text: "" };
  if (u.space || u.time || u.count) return { ...u, time: u.time - 1, text: u.time === 1 && !u.space && !u.count ? share : "" };
  return { ...u, time: -1, text: "" };
}

// sameKind reports whether numbers of the two may share an axis.
export function sameKind(a: Unit, b: Unit): boolean {
  const known = a.space || a.time || a.count || a.extra;
  return a.space === b.space && a.time === b.time && a.count === b.count && a.extra === b.extra && !a.per === !b.per && (!!known || a.text === b.text);
}

// A Format shows numbers that are in the units without a prefix.
export interface Format {
  unit: string; // what stands at the axis
  scale: number; // numbers are multiplied by it
  binary: boolean;
}

const binary = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const decimal = ["", "k", "M", "G", "T", "P"];
const prefixes: [string, number][] = [["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1], ["m", 1e-3], ["µ", 1e-6]];

export function isUtilization(u: Unit, rate: boolean): boolean {
  return rate && u.space === 0 && u.time === 0 && u.count === 0 && u.text === share;
}

// formatFor picks the multiple of a unit in which numbers up to max are easily read.
export function formatFor(u: Unit, max: number, utilization: boolean): Format {
  const m = Math.abs(max) || 0;
  if (utilization) return { unit: "%", scale: 100, binary: false };
  const { space, time, count } = u;
  if (u.extra) {
    if (space || count || u.per || time < -1 || time > 1) return { unit: baseText(u), scale: 1, binary: false };
    if (time === 1 && u.extra !== "W" || u.extra === "K" || u.extra.startsWith("°")) return { unit: baseText(u), scale: 1, binary: false };
    const [prefix, size] = prefixes.find((p) => m >= p[1]) ?? ["", 1];
    return { unit: prefix + (time === 1 ? "J" : baseText(u)), scale: 1 / size, binary: false };
  }
  if (space === 1 && count === 0 && (time === 0 || time === -1)) {
    let i = 0;
    while (i < binary.length - 1 && m >= Math.pow(1024, i + 1)) i++;
    return { unit: binary[i] + (time ? "/s" : ""), scale: Math.pow(1024, -i), binary: true };
  }
  if (space === 0 && time === 1) {
    const per = count === -1 ? "/op" : count === 0 ? "" : "·count";
    if (m >= 86400 * 3) return { unit: "d" + per, scale: 1 / 86400, binary: false };
    if (m >= 3600 * 3) return { unit: "h" + per, scale: 1 / 3600, binary: false };
    if (m >= 1 || m === 0) return { unit: "s" + per, scale: 1, binary: false };
    if (m >= 1e-3) return { unit: "ms" + per, scale: 1e3, binary: false };
    if (m >= 1e-6) return { unit: "µs" + per, scale: 1e6, binary: false };
    return { unit: "ns" + per, scale: 1e9, binary: false };
  }
  if (space === 0 && (count === 1 || count === 0) && (time === 0 || time === -1)) {
    let i = 0;
    while (i < decimal.length - 1 && m >= Math.pow(1000, i + 1) * 10) i++;
    const text = u.text && count === 0 && time === 0 ? " " + u.text : "";
    return { unit: (decimal[i] + (time ? "/s" : "") + text).trim(), scale: Math.pow(1000, -i), binary: false };
  }
  return { unit: baseText(u), scale: 1, binary: false };
}

function baseText(u: Unit): string {
  const word = (name: string, p: number) => (p ? name + (Math.abs(p) > 1 ? "^" + Math.abs(p) : "") : "");
  const pos = [!u.per && u.extra, u.space > 0 && word("byte", u.space), u.time > 0 && word("s", u.time), u.count > 0 && word("count", u.count)].filter(Boolean);
  const neg = [u.per && u.extra, u.space < 0 && word("byte", u.space), u.time < 0 && word("s", u.time), u.count < 0 && word("count", u.count)].filter(Boolean);
  return pos.join("·") + (neg.length ? "/" + neg.join("·") : "");
}

const formats = new Map<number, Intl.NumberFormat>();

// fixed prints a number with so many digits behind the comma, in the form of the user's language.
export function fixed(x: number, digits: number): string {
  let f = formats.get(digits);
  if (!f) formats.set(digits, (f = new Intl.NumberFormat(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: "min2", signDisplay: "negative" } as Intl.NumberFormatOptions)));
  return f.format(x);
}

// show prints a number with three to four digits.
export function show(v: number | null | undefined, f: Format): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  const x = v * f.scale;
  const a = Math.abs(x);
  if (Number.isInteger(x) && a < 1e6) return fixed(x, 0);
  if (a >= 1e6) return x.toExponential(2);
  if (a >= 100) return fixed(x, 0);
  if (a >= 10) return fixed(x, 1);
  if (a >= 0.095) return fixed(x, 2);
  if (a >= 0.00095) return fixed(x, 3);
  return x.toExponential(1);
}

// showWith prints a number with the unit that suits it.
export function showWith(v: number | null | undefined, u: Unit, utilization = false): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  const f = formatFor(u, v, utilization);
  return show(v, f) + (f.unit ? (f.unit === "%" ? " %" : " " + f.unit) : "");
}
