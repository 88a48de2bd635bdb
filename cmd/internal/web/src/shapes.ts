// Pictures made of rectangles and texts, as SVG or PNG.

export interface Shape {
  x: number;
  y: number; // of a text, its base line
  fill: string;
  w?: number; // of a rectangle
  h?: number;
  text?: string;
  size?: number; // of a text, in pixels
  bold?: boolean;
  end?: boolean; // the text ends at x
}

export interface Sheet {
  title: string;
  width: number;
  height: number;
  background: string;
  shapes: Shape[];
}

const font = "system-ui, sans-serif";
const maxSide = 8000; // pixels of a picture

export function escape(s: string): string {
  return s.replace(/[^\t\n\x20-\ud7ff\ue000-\ufffd]/g, "").replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

// fit shortens a text to about so many pixels.
export function fit(s: string, room: number, size = 11): string {
  const n = Math.floor(room / (size * 0.6));
  const all = [...s];
  return all.length > n ? all.slice(0, Math.max(1, n - 1)).join("") + "…" : s;
}

export function sheetSVG(p: Sheet): string {
  const n = (x: number) => String(Math.round(x * 100) / 100);
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${n(p.width)}" height="${n(p.height)}" viewBox="0 0 ${n(p.width)} ${n(p.height)}" font-family="${font}">`,
    `<title>${escape(p.title)}</title>`,
    `<rect width="100%" height="100%" fill="${p.background}"/>`,
  ];
  for (const s of p.shapes) {
    if (s.text === undefined) out.push(`<rect x="${n(s.x)}" y="${n(s.y)}" width="${n(s.w ?? 0)}" height="${n(s.h ?? 0)}" fill="${s.fill}"/>`);
    else out.push(`<text x="${n(s.x)}" y="${n(s.y)}" fill="${s.fill}" font-size="${s.size ?? 11}"${s.bold ? ' font-weight="600"' : ""}${s.end ? ' text-anchor="end"' : ""}>${escape(s.text)}</text>`);
  }
  out.push("</svg>\n");
  return out.join("\n");
}

export function sheetPNG(p: Sheet): Promise<Blob | null> {
  const ratio = Math.max(1, Math.min(devicePixelRatio || 1, maxSide / Math.max(p.width, p.height)));
  const c = document.createElement("canvas");
  c.width = Math.min(maxSide, Math.round(p.width * ratio));
  c.height = Math.min(maxSide, Math.round(p.height * ratio));
  const x = c.getContext("2d");
  if (!x) return Promise.resolve(null);
  x.scale(ratio, ratio);
  x.fillStyle = p.background;
  x.fillRect(0, 0, p.width, p.height);
  for (const s of p.shapes) {
    x.fillStyle = s.fill;
    if (s.text === undefined) x.fillRect(s.x, s.y, s.w ?? 0, s.h ?? 0);
    else {
      x.font = `${s.bold ? "600 " : ""}${s.size ?? 11}px ${font}`;
      x.textAlign = s.end ? "right" : "left";
      x.fillText(s.text, s.x, s.y);
    }
  }
  return new Promise((done) => c.toBlob(done, "image/png"));
}
