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
