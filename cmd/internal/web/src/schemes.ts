// Colours of lines by the name of a scheme, and of heat maps.

import { palette, type Theme } from "./theme";

interface Scheme {
  title: string;
  light: string[];
  dark: string[];
}

// Each colour has at least 3:1 against the background of a card.
const schemes: Record<string, Scheme> = {
  cool: {
    title: "Cool",
    light: ["#0b6bcb", "#0e7c86", "#4453c4", "#1a7f4b", "#6a4fc9", "#3b6e8f", "#23707a", "#5b6470"],
    dark: ["#5aa9ff", "#43c9d4", "#95a2ff", "#4fd08a", "#b9a4ff", "#8dc0e0", "#7fd6c2", "#a9b4c0"],
  },
  warm: {
    title: "Warm",
    light: ["#c4480c", "#a66300", "#c2185b", "#9b2c2c", "#7a6a00", "#a8483d", "#8f4b1d", "#8a3f6b"],
    dark: ["#ff9157", "#f0b429", "#ff7fae", "#ff8a80", "#cdbf3f", "#ffb08a", "#e0a070", "#f29ad0"],
  },
  grey: {
    title: "Grey",
    light: ["#1b232c", "#3d4853", "#5a6572", "#7a8490", "#2c3640", "#4b5662", "#6a7581", "#838d98"],
    dark: ["#f2f5f8", "#cfd6dd", "#aab4bf", "#8792a0", "#e1e6eb", "#bcc5ce", "#98a3b0", "#7b8794"],
  },
  traffic: {
    title: "Green, amber, red",
    light: ["#1a7f4b", "#a66300", "#b3261e"],
    dark: ["#4fd08a", "#f0b429", "#ff8a80"],
  },
};

export const schemeNames: [string, string][] = [["", "As the page"], ...Object.entries(schemes).map(([k, s]): [string, string] => [k, s.title])];

// colorsOf returns the colours of lines. An unknown scheme is that of the page.
export function colorsOf(t: Theme, scheme: string | undefined, own: string[] | undefined): string[] {
  if (own?.length) return own;
  const s = scheme !== undefined && Object.hasOwn(schemes, scheme) ? schemes[scheme] : undefined;
  return s ? s[t] : palette(t);
}

// From little to much; each can be told from its neighbours with any colour vision.
const ramps: Record<string, string[]> = {
  "": ["#30123b", "#3b528b", "#21918c", "#5ec962", "#fde725"],
  heat: ["#1b0c41", "#781c6d", "#cf4446", "#fb9a06", "#fcffa4"],
  blue: ["#10233f", "#1d4e89", "#3f88c5", "#8fc1e3", "#e6f3fb"],
  grey: ["#1c1f23", "#4a5058", "#7d858e", "#b4bac1", "#f1f3f5"],
};

export const rampNames: [string, string][] = [["", "Viridis"], ["heat", "Heat"], ["blue", "Blue"], ["grey", "Grey"]];

const made = new Map<string, string[]>();

// rampOf returns 256 colours, from little to much.
export function rampOf(scheme: string | undefined): string[] {
  const key = scheme !== undefined && Object.hasOwn(ramps, scheme) ? scheme : "";
  let r = made.get(key);
  if (!r) {
    const rgb = ramps[key].map((s) => [1, 3, 5].map((i) => parseInt(s.slice(i, i + 2), 16)));
    r = Array.from({ length: 256 }, (_, i) => {
      const x = (i / 255) * (rgb.length - 1);
      const k = Math.min(rgb.length - 2, Math.floor(x));
      return "#" + rgb[k].map((c, j) => Math.round(c + (rgb[k + 1][j] - c) * (x - k)).toString(16).padStart(2, "0")).join("");
    });
    made.set(key, r);
  }
  return r;
}
