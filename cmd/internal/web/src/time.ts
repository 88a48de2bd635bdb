// Times and names as they are shown, times in any zone.

import { fixed } from "./units";

const formats = new Map<string, Intl.DateTimeFormat>();

function formatter(key: string, zone: string, o: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const k = key + zone;
  let f = formats.get(k);
  if (!f) formats.set(k, (f = new Intl.DateTimeFormat("en-GB", { ...o, timeZone: zone === "local" ? undefined : zone })));
  return f;
}

const hm: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

// clock prints the time of day, with seconds, or with the day, if asked for.
export function clock(t: number, zone: string, seconds: boolean, day: boolean): string {
  if (!Number.isFinite(t)) return "–";
  const at = new Date(t * 1000);
  if (day) return formatter("d", zone, { day: "numeric", month: "short", ...hm }).format(at).replace(",", "");
  return formatter(seconds ? "s" : "m", zone, seconds ? { ...hm, second: "2-digit" } : hm).format(at);
}

// dated prints date, time and zone.
export function dated(t: number, zone: string): string {
  if (!t || !Number.isFinite(t)) return "–";
  return formatter("f", zone, { year: "numeric", month: "short", day: "numeric", ...hm, second: "2-digit", timeZoneName: "short" }).format(new Date(t * 1000));
}

// span prints a length of time.
export function span(s: number): string {
  if (s > 0 && s < 0.95) return `${fixed(s, 1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  const tenth = (x: number) => fixed(x, Math.abs(x - Math.round(x)) < 0.05 ? 0 : 1);
  if (s < 172800) return `${tenth(s / 3600)} h`;
  return `${tenth(s / 86400)} d`;
}

// plain shows a name with what would not be seen of it, or would change how the rest reads, as signs: control
// characters, those without a width, and those that change the direction. Line breaks may stay.
export function plain(s: string, lines = false): string {
  return s.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (c) => {
    const n = c.charCodeAt(0);
    if (lines && (c === "\n" || c === "\t")) return c;
    if (n < 32) return String.fromCharCode(0x2400 + n);
    return `⟨${n.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
