// What every part of the page can reach.

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Feed } from "./feed";
import type { State, View } from "./state";
import type { Plot, Dashboard } from "./dashboard";
import type { Theme } from "./theme";

// An Against is another time, or another host, that is shown below.
export interface Against {
  feed: Feed;
  before: number; // seconds, 0 for another host
  title: string;
}

export interface App {
  feed: Feed;
  state: State;
  theme: Theme;
  set(patch: Partial<State>): void;
  setView(patch: Partial<View>): void;
  zoom(patch: Partial<View>, more?: Partial<State>): void; // as setView, with a way back
  setDashboard(d: Dashboard): void;
  addChart(...plots: Plot[]): void;
  say(text: string): void; // to the user, also aloud
  against: Against | null; // what charts are compared with
}

export const AppContext = createContext<App>(null as unknown as App);

export function useApp(): App {
  return useContext(AppContext);
}

// useFeedVersion has a component drawn again when the feed has something new.
export function useFeedVersion(): number {
  const { feed } = useApp();
  const [n, set] = useState(0);
  useEffect(() => feed.subscribe(() => set((x) => x + 1)), [feed]);
  return n;
}

// useFeedPart has a component drawn again when a part of the feed has changed.
export function useFeedPart(part: (f: Feed) => string): void {
  const { feed } = useApp();
  const [, set] = useState("");
  useEffect(() => {
    const look = () => set(part(feed));
    look();
    return feed.subscribe(look);
  }, [feed]);
}

const unseen = 5000; // ms between two drawings of what is not on the screen

// useSeenVersion is useFeedVersion for an element that is seldom drawn again while it is not on the screen, once it has all it needs.
export function useSeenVersion(ref: { current: Element | null }, complete: { current: boolean }): number {
  const { feed } = useApp();
  const [n, set] = useState(0);
  useEffect(() => {
    let seen = true;
    let stale = false;
    let last = -Infinity;
    const draw = () => {
      stale = false;
      last = performance.now();
      set((x) => x + 1);
    };
    const o = new IntersectionObserver((list) => {
      seen = list[list.length - 1].isIntersecting;
      if (seen && stale) draw();
    });
    if (ref.current) o.observe(ref.current);
    const leave = feed.subscribe(() => {
      if (seen || !complete.current || performance.now() - last >= unseen) draw();
      else stale = true;
    });
    addEventListener("beforeprint", draw);
    return () => {
      leave();
      o.disconnect();
      removeEventListener("beforeprint", draw);
    };
  }, [feed]);
  return n;
}
