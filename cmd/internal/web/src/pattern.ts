// Regular expressions from files and links, which must not take forever.

const maxPattern = 1000; // characters
const kept = new Map<string, RegExp | Error>();
const maxCache = 500;

// endless returns why a pattern might take forever on a name, or "".
function endless(p: string): string {
  const repeats: boolean[] = [false]; // for each open group, whether something in it repeats or is one of several
  for (let i = 0; i < p.length; i++) {
    const c = p[i];
    if (c === "\\") {
      if (/[1-9k]/.test(p[i + 1] ?? "")) return "it refers back to a group";
      i++;
    } else if (c === "[") {
      while (++i < p.length && p[i] !== "]") if (p[i] === "\\") i++;
    } else if (c === "(") repeats.push(false);
    else if (c === "|") repeats[repeats.length - 1] = true;
    else if (c === ")") {
      const inside = repeats.length > 1 && repeats.pop()!;
      if (inside && /^(?:[*+]|\{\d+,?\d*\})/.test(p.slice(i + 1, i + 20))) return "it repeats a group that repeats";
      if (inside) repeats[repeats.length - 1] = true;
    } else if (c === "*" || c === "+" || (c === "{" && /^\{\d+,\d*\}/.test(p.slice(i, i + 20)))) repeats[repeats.length - 1] = true;
  }
  return "";
}

// compile makes a regular expression, or throws an error that names the pattern.
export function compile(p: string): RegExp {
  let r = kept.get(p);
  if (!r) {
    const shown = JSON.stringify(p.length > 100 ? p.slice(0, 100) + "…" : p);
    const why = p.length > maxPattern ? `it is longer than ${maxPattern} characters` : endless(p);
    if (why) r = new Error(`the pattern ${shown} is not supported: ${why}`);
    else {
      try {
        r = new RegExp(p);
      } catch {
        r = new Error(`${shown} is not a regular expression`);
      }
    }
    if (kept.size >= maxCache) kept.clear();
    kept.set(p, r);
  }
  if (r instanceof Error) throw r;
  return r;
}
