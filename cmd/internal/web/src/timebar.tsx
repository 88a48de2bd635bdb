// The controls of time: live, pause, steps, speed, window, zone, and the scrubber.

import { h } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Goto } from "./activity";
import { useApp, useFeedPart, useFeedVersion } from "./context";
import { goodZone, speeds, steps, windows, type View } from "./state";
import { clock, dated, plain, span } from "./time";
import { lineOf } from "./values";
import { kindOf } from "./values";
import type { Feed } from "./feed";

const reaches: [number, string][] = [
  [3600, "1 hour"],
  [6 * 3600, "6 hours"],
  [24 * 3600, "1 day"],
  [7 * 24 * 3600, "1 week"],
  [31 * 24 * 3600, "1 month"],
];

const speedNames = speeds.map((s): [number, string] => [s, `${s}×`]);

const tick = 250; // ms between two moves while the past is played

// move returns the view seconds later, or live when that is beyond now.
export function move(v: View, feed: Feed, seconds: number): Partial<View> {
  if (v.live && !feed.now) return {}; // no time is known yet
  const end = (v.live ? feed.now : v.end) + seconds;
  const last = feed.status === "ok" ? feed.now : Math.max(feed.now, feed.extent?.[1] ?? 0);
  if (seconds > 0 && end >= last) return feed.follows ? { live: true, speed: 0, end: 0 } : { live: false, end: last, speed: 0 };
  return { live: false, end: Math.max(end, v.window) };
}

// usePlayback moves the view while it plays.
export function usePlayback(): void {
  const { feed, state, setView } = useApp();
  const v = state.view;
  const ref = useRef(v);
  ref.current = v;
  useFeedPart((f) => (f.past ? String(f.now) : ""));
  useEffect(() => {
    // Archives without a collector are looked at from their end.
    if (feed.past && v.live && feed.now) setView({ live: false, end: feed.now, speed: 0 });
  }, [feed, feed.now, v.live]);
  useEffect(() => {
    if (v.live || !v.speed) return;
    let last = performance.now();
    const id = setInterval(() => {
      const now = performance.now();
      const by = ((now - last) / 1000) * ref.current.speed;
      last = now;
      setView(move(ref.current, feed, by));
    }, tick);
    return () => clearInterval(id);
  }, [v.live, v.speed, feed]);
}

function Select<T extends number | string>(props: { label: string; value: T; options: [T, string][]; onPick: (v: T) => void }) {
  const has = props.options.some((o) => o[0] === props.value);
  // There are hundreds of zones, which need not be compared each second.
  const options = useMemo(
    () =>
      props.options.map(([v, text]) => (
        <option key={String(v)} value={String(v)}>
          {text}
        </option>
      )),
    [props.options],
  );
  return (
    <label class="select">
      <span>{props.label}</span>
      <select
        aria-label={props.label}
        value={String(props.value)}
        onChange={(e) => {
          const o = props.options.find((o) => String(o[0]) === e.currentTarget.value);
          if (o) props.onPick(o[0]);
        }}
      >
        {!has && <option value={String(props.value)}>{typeof props.value === "number" ? span(props.value) : /^\d/.test(props.value) ? `${span(Number(props.value))} before` : props.value}</option>}
        {options}
      </select>
    </label>
  );
}

export function TimeBar(props: { unzoom: (() => void) | null }) {
  const { feed, state, set, setView, theme } = useApp();
  const version = useFeedVersion();
  const v = state.view;
  const now = feed.status === "ok" ? feed.now : Math.max(feed.now, feed.extent?.[1] ?? 0);
  const end = v.live ? now : v.end;
  const [reach, setReach] = useState(3600);
  const all = feed.past && feed.extent ? Math.max(60, Math.ceil(feed.extent[1] - feed.extent[0])) : 0;
  useEffect(() => {
    if (all) setReach(all);
  }, [all]);
  const choices = useMemo<[number, string][]>(() => (all ? [...reaches.filter((r) => r[0] < all), [all, "all"]] : reaches), [all]);
  const [last, setLast] = useState(10); // the speed that was chosen
  useEffect(() => {
    // The scrubber reaches as far back as what is looked at.
    const need = now - end + v.window;
    if (now && need > reach && !all) setReach(reaches.find((r) => r[0] >= need)?.[0] ?? Math.ceil(need / 86400) * 86400);
  }, [now && now - end > 0 ? Math.round(end) : 0, v.window]);
  const from = now - reach;
  const zones = useMemo<[string, string][]>(() => {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const all: string[] = (Intl as any).supportedValuesOf?.("timeZone") ?? [];
    return [["local", `browser (${own})`], ["UTC", "UTC"], ...all.filter((z) => z !== "UTC").map((z): [string, string] => [z, z])];
  }, []);
  const comparisons = useMemo<[string, string][]>(
    () => [
      ["", "nothing"],
      ...([[v.window, "the window before"], [3600, "an hour before"], [86400, "a day before"], [7 * 86400, "a week before"]] as [number, string][])
        .filter(([s], i, all) => i === 0 || s !== all[0][0])
        .map(([s, text]): [string, string] => [String(Math.round(s)), text]),
      ...feed.hosts.filter((n) => n !== feed.host).map((n): [string, string] => ["host:" + n, plain(n)]),
      ...(state.compare.startsWith("host:") && !feed.hosts.includes(state.compare.slice(5)) ? [[state.compare, plain(state.compare.slice(5))] as [string, string]] : []),
    ],
    [v.window, feed.hosts, feed.host, state.compare],
  );
  const step = Math.max(v.step, v.window / 10);
  const playing = !v.live && v.speed !== 0;
  return (
    <section class="time" aria-label="Time">
      <div class="row">
        <div class="group" role="group" aria-label="Move through time">
          <button type="button" title="Back by a window (Shift ←)" aria-label="Back by a window" onClick={() => setView({ ...move(v, feed, -v.window), speed: 0 })}>
            «
          </button>
          <button type="button" title="Step back (←)" aria-label="Step back" onClick={() => setView({ ...move(v, feed, -step), speed: 0 })}>
            ‹
          </button>
          <button
            type="button"
            class="play"
            disabled={!now}
            title={v.live || playing ? "Pause (space)" : "Play (space)"}
            aria-label={v.live || playing ? "Pause" : "Play"}
            onClick={() => (v.live ? setView({ live: false, end: now, speed: 0 }) : setView({ speed: playing ? 0 : last }))}
          >
            {v.live || playing ? "❚❚" : "▶"}
          </button>
          <button type="button" title="Step forward (→)" aria-label="Step forward" disabled={v.live} onClick={() => setView({ ...move(v, feed, step), speed: 0 })}>
            ›
          </button>
          <button type="button" title="Forward by a window (Shift →)" aria-label="Forward by a window" disabled={v.live} onClick={() => setView({ ...move(v, feed, v.window), speed: 0 })}>
            »
          </button>
        </div>
        <button type="button" class={"livebutton" + (v.live ? " on" : "")} aria-pressed={feed.past ? end === now : v.live} title={feed.past ? "The end of what was recorded (L)" : "Follow what happens now (L)"} onClick={() => setView({ live: true, end: 0, speed: 0 })}>
          <span class="dot" aria-hidden="true" /> {feed.past ? "End" : "Live"}
        </button>
        {props.unzoom && (
          <button type="button" title="Back to what was seen before (Z)" onClick={props.unzoom}>
            ⤺ Zoom out
          </button>
        )}
        {!v.live && (state.page !== "activity" || state.pid > 0 || state.item !== "") && (
          <Goto class="button busy" to={{ page: "activity", pid: 0, item: "", over: props.unzoom ? "window" : state.over }} title="Processes and the like, by what they used then (B)">
            Activity then
          </Goto>
        )}
        {!v.live && feed.hasRecorded && state.page !== "diagnose" && (
          <Goto class="button changed" to={{ page: "diagnose", pid: 0, item: "" }} title="What changed in this part of time, compared with before (X)">
            What changed
          </Goto>
        )}
        <time class="when" dateTime={end ? new Date(end * 1000).toISOString() : undefined}>
          {dated(end, v.zone)}
        </time>
        <span class="grow" />
        <Select label="Speed" value={playing ? v.speed : last} options={speedNames} onPick={(s) => { setLast(s); if (playing) setView({ speed: s }); }} />
        <Select label="Compare" value={state.compare} options={comparisons} onPick={(compare) => set({ compare })} />
        <Select label="Window" value={v.window} options={windows} onPick={(w) => setView({ window: w })} />
        <Select label="Every" value={v.step} options={steps} onPick={(s) => setView({ step: s })} />
        <Select label="Zone" value={v.zone} options={zones} onPick={(z) => goodZone(z) && setView({ zone: z })} />
      </div>
      <div class="row scrub">
        <Select label="Reach" value={reach} options={choices} onPick={setReach} />
        <span class="edge">{clock(from, v.zone, false, reach > 86400)}</span>
        <div class="track">
          <Strip from={from} to={now} view={v} end={end} theme={theme} version={version} />
          <input
            type="range"
            id="scrubber"
            aria-label="Time shown"
            aria-valuetext={v.live ? "live" : dated(end, v.zone)}
            min={0}
            max={1000}
            step={1}
            value={reach ? Math.round(((end - from) / reach) * 1000) : 1000}
            onInput={(e) => {
              const k = Number(e.currentTarget.value);
              if (k >= 1000) setView(feed.follows ? { live: true, end: 0, speed: 0 } : { live: false, end: now, speed: 0 });
              else setView({ live: false, end: from + (k / 1000) * reach, speed: 0 });
            }}
          />
        </div>
        <span class="edge">{v.live ? "now" : clock(now, v.zone, false, false)}</span>
      </div>
    </section>
  );
}

const stripMetric = "kernel.all.load";

// Strip draws how loaded the host was along the scrubber, as far as that is known, and the window.
function Strip(props: { from: number; to: number; view: View; end: number; theme: string; version: number }) {
  const { feed } = useApp();
  const ref = useRef<HTMLCanvasElement>(null);
  const [load, setLoad] = useState<{ t: number[]; v: (number | null)[] }>({ t: [], v: [] });
  const reach = props.to - props.from;
  const minute = Math.floor(props.to / 60);
  useEffect(() => {
    if (!feed.hasRecorded || !reach) return;
    const abort = new AbortController();
    feed.recorded
      .read([stripMetric], { from: props.from, to: props.to, step: Math.max(10, reach / 300) }, abort.signal)
      .then(async (m) => {
        const meta = feed.metas.get(stripMetric) ?? (await feed.recorded.describe([stripMetric]))[0];
        const t = m.get(stripMetric);
        const inst = t && [...t.series.keys()].find((i) => i.startsWith("1 "));
        if (t && inst !== undefined && meta) setLoad(lineOf(t, t.series.get(inst)!, kindOf(meta, false), props.from, props.to));
      })
      .catch(() => {}); // it is only the background
    return () => abort.abort();
  }, [feed, feed.hasRecorded, reach > 0 ? Math.round(reach) : 0, minute]);
  const size = useRef({ w: 0, h: 0 });
  const [, resized] = useState(0);
  useEffect(() => {
    const c = ref.current!;
    const o = new ResizeObserver(() => {
      size.current = { w: c.clientWidth, h: c.clientHeight };
      resized((n) => n + 1);
    });
    o.observe(c);
    return () => o.disconnect();
  }, []);
  const drawn = useRef<unknown[]>([]);
  useLayoutEffect(() => {
    const c = ref.current;
    const { w, h: height } = size.current;
    if (!c || !w) return;
    const at = (t: number) => ((t - props.from) / reach) * w;
    const left = at(props.end - props.view.window);
    const right = at(props.end);
    // It moves by less than a pixel in a second, mostly.
    const now = [w, height, props.theme, devicePixelRatio, load, reach, Math.round(2 * at(load.t[0] ?? 0)), Math.round(2 * left), Math.round(2 * right)];
    if (now.every((x, i) => x === drawn.current[i])) return;
    const x = c.getContext("2d");
    if (!x) return;
    drawn.current = now;
    const ratio = window.devicePixelRatio || 1;
    if (c.width !== Math.round(w * ratio) || c.height !== Math.round(height * ratio)) {
      c.width = Math.round(w * ratio);
      c.height = Math.round(height * ratio);
    }
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, w, height);
    const style = getComputedStyle(c);
    if (load.t.length > 1) {
      let max = 0;
      for (const v of load.v) if (v !== null && v > max) max = v;
      x.fillStyle = style.getPropertyValue("--strip");
      const bar = Math.max(1, w / 300);
      load.t.forEach((t, i) => {
        const v = load.v[i];
        if (v !== null) x.fillRect(at(t), height, bar + 0.5, -Math.max(2, (v / (max || 1)) * (height - 2)));
      });
    }
    x.fillStyle = style.getPropertyValue("--window");
    x.fillRect(left, 0, Math.max(2, right - left), height);
  });
  return <canvas ref={ref} class="strip" aria-hidden="true" />;
}
