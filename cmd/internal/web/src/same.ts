// Parts of lists that are the same from one second to the next.

import type { VNode } from "preact";
import { useRef } from "preact/hooks";

interface Part {
  of: unknown[];
  part: VNode;
}

// useSame returns a function that makes a part of a list by its key, or returns the part of the last time if it is made of the same values:
// then it is not compared with what is on the page. Parts that are not used again are forgotten, since each has all of the page around it.
export function useSame() {
  const parts = useRef(new Map<string, Part>());
  const before = parts.current;
  const now = (parts.current = new Map<string, Part>());
  return (key: string, of: unknown[], make: () => VNode): VNode => {
    const old = before.get(key);
    const p = old && old.of.length === of.length && old.of.every((x, i) => x === of[i]) ? old : { of, part: make() };
    now.set(key, p);
    return p.part;
  };
}
