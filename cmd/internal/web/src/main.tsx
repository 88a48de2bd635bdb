// The page: one collector, everything alive.

import { h, render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { access, enter, takeToken } from "./access";
import { Activity, TableCard } from "./activity";
import { Charts } from "./boards";
import { Browse } from "./browse";
import { AppContext, useApp, useFeedPart, type Against, type App } from "./context";
import { chartOf, parseMetric, type Dashboard, type Plot } from "./dashboard";
import { Diagnose } from "./diagnose";
import { Dialog } from "./dialog";
import { Feed } from "./feed";
import { Fleet, useHosts } from "./fleet";
import { Alerts, Tiles } from "./list";
import { Card } from "./panels";
import { Recorder } from "./recording";
import { initial, link, readLink, remember, remembered, shown, sortingOf, windows, type Page, type State, type View } from "./state";
import { apply, choose, current, letters, wantsDark, type Theme } from "./theme";
import { dated, plain, span } from "./time";
import { move, TimeBar, usePlayback } from "./timebar";
import { Typeahead } from "./typeahead";
import { overview, tables } from "./views";

const pages: [Page, string, string][] = [
  ["overview", "Overview", "o"],
  ["activity", "Activity", "a"],
  ["diagnose", "Diagnose", "x"],
  ["metrics", "Metrics", "m"],
  ["charts", "Charts", "c"],
  ["fleet", "Fleet", "f"],
];

// turn is the change to another page. The order and the filter of hosts are not those of processes.
function turn(s: State, p: Page): Partial<State> {
  const to: Partial<State> = { page: p, pid: 0, item: "" };
  if (p === s.page) return to;
  if (p === "fleet") return { ...to, sort: "", filter: "" };
  if (s.page === "fleet") return { ...to, of: "process", ...sortingOf("process"), ...(p === "overview" ? { filter: "" } : {}) };
  // The overview has the table of processes, in the order of that, and all of them.
  if (p === "overview") return { ...to, of: "process", sort: s.of === "process" ? s.sort : sortingOf("process").sort, filter: "" };
  if (p === "activity") return { ...to, filter: sortingOf(s.of).filter };
  return to;
}

const keys: [string, string][] = [
  ["Space", "pause, or go on"],
  ["L", "live"],
  ["← →", "step back and forward"],
  ["Shift ← →", "back and forward by a window"],
  ["+ −", "shorter and longer window"],
  ["Z", "back to what was seen before a part of it; with Shift, forward again"],
  ["B", "what was busy then"],
  ["/", "chart a metric by its name"],
  ["O A X M C F", "overview, activity, diagnosis, metrics, charts, fleet"],
  ["D", "dark or light"],
  ["?", "this list"],
];

const base = new URL(".", document.baseURI).pathname;

function Root() {
  const [state, setState] = useState<State>(() => {
    const s = readLink(location.hash, { ...initial(), dashboard: remembered() });
    if (s.dashboard.panels.length) shown(s.dashboard);
    return location.hash ? s : { ...s, sort: sortingOf("process").sort };
  });
  const [theme, setTheme] = useState<Theme>(current);
  const [said, say] = useState("");
  const [help, setHelp] = useState(false);
  const feed = useMemo(() => new Feed(base, state.host, state.view, undefined, undefined, state.from), [state.host, state.from]);
  const hosts = useHosts(base);
  const placed = useRef("");

  useEffect(() => {
    feed.start();
    return () => feed.stop();
  }, [feed]);
  const against = useAgainst(feed, state);
  useEffect(() => feed.setView(state.view), [feed, state.view]);
  useLayoutEffect(() => letters(state.view), [state.view.font, state.view.size]);

  const set = useCallback((p: Partial<State>) => setState((s) => ({ ...s, ...p })), []);
  const setView = useCallback((p: Partial<View>) => setState((s) => ({ ...s, view: { ...s.view, ...p } })), []);
  const setDashboard = useCallback((d: Dashboard) => {
    remember(d);
    setState((s) => ({ ...s, dashboard: d }));
  }, []);
  const addChart = useCallback((...plots: Plot[]) => {
    setState((s) => {
      const d = { ...s.dashboard, panels: [...s.dashboard.panels, chartOf(...plots)] };
      remember(d);
      return { ...s, page: "charts", dashboard: d };
    });
  }, []);

  // The link follows what one sees: a new page is a step in the history, all else changes the last one.
  const linked = useRef(state); // what the last step of the history is to show
  useLayoutEffect(() => {
    const last = linked.current;
    linked.current = state;
    const url = link(state);
    if (url === location.hash) return;
    const before = readLink(location.hash, initial());
    if (location.hash && (before.page !== state.page || before.pid !== state.pid || before.item !== state.item || before.of !== state.of || before.host !== state.host)) {
      history.replaceState(history.state, "", link(last)); // its own change may still wait
      history.pushState(null, "", url);
      depth.current = ahead.current = 0;
      setZooms(0);
    }
    else {
      // Browsers forbid too many changes in a short time.
      const id = setTimeout(() => history.replaceState(history.state, "", url), 200);
      return () => clearTimeout(id);
    }
  }, [state]);
  // A zoom is a step in the history too, with how many there are to go back.
  const [zooms, setZooms] = useState<number>(history.state?.zooms ?? 0);
  const depth = useRef(zooms);
  const ahead = useRef(0); // zooms that one came back from
  const latest = useRef(state);
  latest.current = state;
  const zoom = useCallback((p: Partial<View>, more: Partial<State> = {}) => {
    const s = latest.current;
    const n = (history.state?.zooms ?? 0) + 1;
    history.replaceState(history.state, "", link(s));
    const next = { ...s, ...more, view: { ...s.view, ...p } };
    history.pushState({ zooms: n }, "", link(next));
    ahead.current = 0;
    depth.current = n;
    setZooms(n);
    setState(next);
  }, []);
  const unzoom = useCallback(() => history.state?.zooms && history.back(), []);
  useEffect(() => {
    const back = () => {
      const n: number = history.state?.zooms ?? 0;
      ahead.current = Math.max(0, ahead.current + depth.current - n);
      depth.current = n;
      setZooms(n);
      setState((s) => {
        const next = readLink(location.hash, { ...initial(), dashboard: s.dashboard });
        if (next.dashboard !== s.dashboard) shown(next.dashboard);
        return next;
      });
    };
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);

  useEffect(() => apply(theme), [theme]);
  useEffect(() => {
    const q = wantsDark();
    const f = () => setTheme(current());
    q.addEventListener("change", f);
    f(); // it may have changed before
    return () => q.removeEventListener("change", f);
  }, []);
  useEffect(() => {
    if (!said) return;
    const id = setTimeout(() => say(""), 6000);
    return () => clearTimeout(id);
  }, [said]);
  const flip = () => {
    const t = theme === "dark" ? "light" : "dark";
    choose(t);
    setTheme(t);
  };

  // Each key finds the state that the key before it left.
  useLayoutEffect(() => {
    const key = (e: KeyboardEvent) => {
      const el = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(el.tagName)) {
        if (e.key === "Escape") el.blur();
        return;
      }
      const v = state.view;
      const step = Math.max(v.step, v.window / 10);
      switch (e.key) {
        case " ":
          if (el.tagName === "BUTTON" || el.tagName === "SUMMARY") return;
          if (v.live && feed.now) setView({ live: false, end: feed.now, speed: 0 });
          else if (!v.live) setView({ speed: v.speed ? 0 : 10 });
          break;
        case "l":
          setView({ live: true, end: 0, speed: 0 });
          break;
        case "ArrowLeft":
        case "ArrowRight": {
          const by = (e.shiftKey ? v.window : step) * (e.key === "ArrowLeft" ? -1 : 1);
          if (!v.live || by < 0) setView({ ...move(v, feed, by), speed: 0 });
          break;
        }
        case "+":
        case "=":
        case "-": {
          const i = windows.findIndex((w) => w[0] >= v.window);
          const to = windows[Math.max(0, Math.min(windows.length - 1, (i < 0 ? windows.length : i) + (e.key === "-" ? 1 : -1)))];
          setView({ window: to[0] });
          break;
        }
        case "/":
          document.getElementById(state.page === "metrics" ? "find" : "add")?.focus();
          break;
        case "d":
          flip();
          break;
        case "b":
          set({ page: "activity", pid: 0, item: "" });
          break;
        case "z":
          unzoom();
          break;
        case "Z":
          if (latest.current && ahead.current > 0) history.forward();
          break;
        case "?":
          setHelp(true);
          break;
        default: {
          const p = pages.find((p) => p[2] === e.key);
          if (!p || (p[0] === "fleet" && hosts < 2)) return;
          set(turn(state, p[0]));
        }
      }
      e.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });

  useEffect(() => {
    const now = state.page + " " + state.pid + " " + state.item;
    if (placed.current !== now) {
      placed.current = now;
      scrollTo(0, 0);
    }
  }, [state.page, state.pid, state.item]);

  const app: App = { feed, state, theme, set, setView, zoom, setDashboard, addChart, say, against };
  return (
    <AppContext.Provider value={app}>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>
        To the charts
      </a>
      <Head several={hosts > 1} flip={flip} help={() => setHelp(true)} />
      <TimeBar unzoom={zooms > 0 ? unzoom : null} />
      <Trouble />
      <main id="main" tabIndex={-1}>
        {state.page === "overview" && <Overview />}
        {state.page === "activity" && <Activity />}
        {state.page === "diagnose" && <Diagnose key={state.host} />}
        {state.page === "metrics" && <Browse />}
        {state.page === "charts" && <Charts />}
        {state.page === "fleet" && <Fleet />}
      </main>
      <Playback />
      <div class="said" role="status" aria-live="polite">
        {said}
      </div>
      {help && (
        <Dialog title="Keys" onClose={() => setHelp(false)}>
          <dl class="keys">
            {keys.map(([k, what]) => (
              <div key={k}>
                <dt>
                  {k.split(" ").map((x) => (
                    <kbd key={x}>{x}</kbd>
                  ))}
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <p class="note">Drag over a chart to look at a part of it; Z goes back. Click on it to see what was busy then. A click on a line's name hides it.</p>
        </Dialog>
      )}
    </AppContext.Provider>
  );
}

// useAgainst makes the feed of what charts are compared with: of the time before by the archives of the same host.
function useAgainst(feed: Feed, state: State): Against | null {
  const { compare, view } = state;
  const host = compare.startsWith("host:") ? compare.slice(5) : "";
  const before = compare && !host ? Number(compare) : 0;
  const [name, setName] = useState(feed.host);
  useEffect(() => {
    setName(feed.host);
    return feed.subscribe(() => setName(feed.host));
  }, [feed]);
  const now = useRef(view);
  now.current = view;
  const shift = () => (before ? { ...now.current, live: false, speed: 0, end: (now.current.live ? feed.now : now.current.end) - before } : now.current);
  const other = useMemo(() => (host ? new Feed(base, host, view, undefined, undefined, feed.past ? "archives" : "any") : before && name ? new Feed(base, name, shift(), undefined, undefined, "archives") : null), [host, before, before ? name : "", feed]);
  useEffect(() => {
    if (!other) return;
    other.start();
    const follow = () => before && feed.now && other.setView(shift());
    const leave = feed.subscribe(follow);
    follow();
    return () => {
      leave();
      other.stop();
    };
  }, [other]);
  useEffect(() => other?.setView(shift()), [other, view]);
  return useMemo(() => (other ? { feed: other, before, title: before ? `${span(before)} before` : host } : null), [other, before, host]);
}

function Playback() {
  usePlayback();
  return null;
}

function Head(props: { several: boolean; flip: () => void; help: () => void }) {
  const { feed, state, set, addChart, theme } = useApp();
  useFeedPart((f) => [f.status, f.past, f.host, ...f.hosts].join("\n"));
  const label = feed.status === "ok" ? (feed.past ? "recorded" : "connected") : feed.status === "lost" ? "not reachable" : "connecting";
  useEffect(() => {
    document.title = (feed.host ? feed.host + " · " : "") + "pcp";
  }, [feed.host]);
  return (
    <header class="head">
      <span class="brand">pcp</span>
      <span class={"host " + feed.status} title={label}>
        <span class="dot" aria-hidden="true" />
        {feed.hosts.length > 1 ? (
          <select aria-label="Host" value={feed.host} onChange={(e) => set({ host: e.currentTarget.value })}>
            {feed.hosts.map((n) => (
              <option key={n} value={n}>
                {plain(n)}
              </option>
            ))}
          </select>
        ) : (
          <span class="name">{plain(feed.host) || "…"}</span>
        )}
        <span class="vh">, {label}</span>
      </span>
      <nav aria-label="Pages">
        {pages.filter(([p]) => p !== "fleet" || props.several || state.page === "fleet").map(([p, name]) => (
          <a key={p} href={"#/" + p} aria-current={state.page === p ? "page" : undefined} onClick={(e) => { e.preventDefault(); set(turn(state, p)); }}>
            {name}
          </a>
        ))}
      </nav>
      <Typeahead id="add" label="Chart a metric" placeholder="Chart a metric  /" onPick={(s) => { const p = parseMetric(s); if (p) addChart(p); return !!p; }} />
      <button type="button" class="icon" aria-label={theme === "dark" ? "Light theme" : "Dark theme"} title="Dark or light (D)" onClick={props.flip}>
        {theme === "dark" ? "☀" : "☾"}
      </button>
      <Recorder />
      <button type="button" class="icon keys" aria-label="Print" title="Print what is seen, or keep it as PDF" onClick={() => print()}>
        <svg viewBox="0 0 16 16" width="14" height="14" fill="none" stroke="currentColor" stroke-width="1.4" aria-hidden="true">
          <path d="M4 6V2h8v4M4 12H2V6h12v6h-2M4 10h8v4H4z" />
        </svg>
      </button>
      <button type="button" class="icon keys" aria-label="Keys" title="Keys (?)" onClick={props.help}>
        ?
      </button>
    </header>
  );
}

function Trouble() {
  const { feed, state } = useApp();
  useFeedPart((f) => [f.status, f.message, f.past, f.pastError, access.problem, f.status === "lost" && f.now, f.clock].join("\n"));
  if (feed.status === "lost" && feed.past) {
    return (
      <div class="trouble" role="alert">
        <strong>The archives cannot be read.</strong> <span>{feed.message}</span>{" "}
        <button type="button" onClick={() => feed.retry()}>
          Try now
        </button>
      </div>
    );
  }
  if (feed.status === "lost") {
    return (
      <div class="trouble" role="alert">
        <strong>The collector {state.host || feed.host || ""} does not answer.</strong> <span>{feed.message}</span>{" "}
        {feed.now > 0 && <span>What is shown ends {dated(feed.now, state.view.zone)}.</span>}{" "}
        {feed.pastError && <span>The archives cannot be read: {feed.pastError}.</span>}{" "}
        <button type="button" onClick={() => feed.retry()}>
          Try now
        </button>
      </div>
    );
  }
  if (access.problem) {
    return (
      <div class="trouble" role="alert">
        <strong>The token of this address is not accepted.</strong> <span>{access.problem}.</span>
      </div>
    );
  }
  if (feed.clock && state.view.live) {
    return (
      <div class="trouble" role="alert">
        <strong>
          The clock of {feed.host || "the host"} was set {feed.clock < 0 ? "back" : "forward"} by {span(Math.abs(feed.clock))}.
        </strong>{" "}
        <span>What was seen before is not drawn.</span>
      </div>
    );
  }
  if (feed.pastError && !state.view.live) {
    return (
      <div class="trouble" role="alert">
        <strong>The archives cannot be read.</strong> <span>{feed.pastError}</span>
      </div>
    );
  }
  return null;
}

const groups = tables.find((t) => t.key === "cgroup")!;

function Overview() {
  return (
    <div>
      <h1 class="vh">Overview</h1>
      <Tiles />
      <div class="grid">
        <Alerts />
        <TableCard subject={tables[0]} rows={8} />
        {overview.panels.map((p, i) => (
          <Card key={i} panel={p} own={false} />
        ))}
        <TableCard subject={groups} rows={8} />
      </div>
    </div>
  );
}

apply(current());
const token = takeToken();
const entered = enter(new URL(".", document.baseURI).pathname, token);
const root = document.getElementById("app");
if (root) {
  const show = () => {
    root.replaceChildren();
    render(<Root />, root);
  };
  // What needs the token waits for it. Without one the head of the page is drawn first, and the rest after that: but
  // a page in the background draws nothing.
  if (token) void entered.then(show);
  else {
    let shown = false;
    const once = () => {
      if (!shown) show();
      shown = true;
    };
    requestAnimationFrame(() => setTimeout(once));
    setTimeout(once, 100);
  }
}
