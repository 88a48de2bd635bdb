// Colours of lines, and which theme is on.

export type Theme = "light" | "dark";

// Told apart by most people with colour blindness, and each at least 3:1 against its background.
const light = ["#0b6bcb", "#c4480c", "#1a7f4b", "#8a3fc7", "#a66300", "#0e7c86", "#c2185b", "#5b6470", "#4453c4", "#7a6a00"];
const dark = ["#5aa9ff", "#ff9157", "#4fd08a", "#c592ff", "#f0b429", "#43c9d4", "#ff7fae", "#a9b4c0", "#95a2ff", "#cdbf3f"];

export function palette(t: Theme): string[] {
  return t === "dark" ? dark : light;
}

export function inks(t: Theme): { grid: string; text: string } {
  return t === "dark" ? { grid: "#2a323c", text: "#9aa7b4" } : { grid: "#e3e7ec", text: "#5a6572" };
}

const kept = "pcp.theme";

export function chosen(): Theme | null {
  try {
    const t = localStorage.getItem(kept);
    return t === "light" || t === "dark" ? t : null;
  } catch {
    return null;
  }
}

export function wantsDark(): MediaQueryList {
  return matchMedia("(prefers-color-scheme: dark)");
}

export function current(): Theme {
  return chosen() ?? (wantsDark().matches ? "dark" : "light");
}

export function apply(t: Theme): void {
  document.documentElement.dataset.theme = t;
}

export function choose(t: Theme): void {
  try {
    localStorage.setItem(kept, t);
  } catch {
    // it holds until the page is closed
  }
  apply(t);
}

const points = 10.5; // of the letters of the page

// scaleOf returns by how much letters are larger than those of the page.
export function scaleOf(v: { size: number }): number {
  return v.size ? v.size / points : 1;
}

// letters sets the family and the size of letters, as options of pmchart do.
export function letters(v: { font: string; size: number }): void {
  const { style } = document.documentElement;
  style.setProperty("--scale", String(scaleOf(v)));
  style.setProperty("--family", v.font ? JSON.stringify(v.font) : "system-ui");
}
