// Recording of what is shown, to an archive on the server.

import { Fragment, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { access, headers, settled } from "./access";
import { useApp, useFeedVersion } from "./context";
import type { Panel } from "./dashboard";
import { Dialog } from "./dialog";
import { ask, Refused, visible } from "./source";
import { dated } from "./time";
import { parseUnit, showWith } from "./units";
import { filled } from "./variables";
import { overview } from "./views";
import type { State } from "./state";

interface Recording {
  id: string;
  began: number;
  until: number;
  ended: number; // NaN while it is running
  metrics: number;
  folio: string;
  running: boolean;
  bytes: number;
  message: string;
}

const durations: [number, string][] = [[60, "1 minute"], [600, "10 minutes"], [3600, "1 hour"], [6 * 3600, "6 hours"], [24 * 3600, "1 day"]];
const every = 5000; // ms between two looks at recordings that are running

function read(v: any): Recording[] {
  return (Array.isArray(v?.recordings) ? v.recordings : []).slice(0, 200).map((r: any) => ({
    id: String(r.id), began: Date.parse(r.began) / 1000, until: Date.parse(r.until) / 1000, ended: Date.parse(r.ended) / 1000,
    metrics: Number(r.metrics) || 0, folio: String(r.folio ?? ""), running: r.running === true, bytes: Number(r.bytes) || 0, message: String(r.message ?? ""),
  }));
}

const mostCharts = 200; // of a view, and
const mostPlots = 1000; // of all its charts

interface ViewPlot {
  metric: string;
  legend?: string;
  instance?: string;
  match?: string;
  unmatch?: string;
}

interface ViewChart {
  title: string;
  style: string;
  plots: ViewPlot[];
}

// chartsOf returns the charts of the view of a recording: those on the page, with the metrics that are recorded.
function chartsOf(state: State, metrics: string[]): ViewChart[] {
  const recorded = new Set(metrics);
  const panels: Panel[] = state.page === "charts" ? state.dashboard.panels.map((p) => filled(p, state.dashboard)) : state.page === "overview" ? overview.panels : [];
  let room = mostPlots;
  const out = panels.flatMap((p): ViewChart[] => {
    if (!("plots" in p)) return [];
    const plots = p.plots
      .filter((q) => q.promql === undefined && !q.host && recorded.has(q.metric))
      .flatMap(({ metric, legend, instances, match, unmatch }): ViewPlot[] => (instances?.length ? instances.map((instance) => ({ metric, legend, instance })) : [{ metric, legend, match, unmatch }]))
      .slice(0, room);
    room -= plots.length;
    return plots.length ? [{ title: p.title, style: p.kind === "chart" ? p.style : "line", plots }] : [];
  });
  if (out.length) return out.slice(0, mostCharts);
  return metrics.slice(0, mostCharts).map((metric) => ({ title: metric, style: "line", plots: [{ metric }] }));
}

async function send(method: string, path: string, body?: unknown): Promise<void> {
  const r = await fetch(path, { method, headers: { ...headers(), "Content-Type": "application/json" }, body: body ? JSON.stringify(body) : undefined });
  const v = await r.json().catch(() => null);
  if (!r.ok) throw new Refused(r.status, String(v?.message ?? `${r.status} ${r.statusText}`));
}

// Recorder is the button that opens the recordings.
export function Recorder() {
  const { feed, state, say } = useApp();
  useFeedVersion();
  const [shown, setShown] = useState(false);
  const [list, setList] = useState<Recording[]>([]);
  const [problem, setProblem] = useState("");
  const [none, setNone] = useState(false); // the server does not record
  const [looks, setLooks] = useState(0);
  const [seconds, setSeconds] = useState(600);
  const base = feed.live.base + "recordings";
  const running = list.filter((r) => r.running).length;
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const look = async () => {
      await settled;
      await visible();
      if (gone || access.state !== "known") return;
      try {
        const all = read(await ask(base, {}));
        if (gone) return;
        setList(all);
        setNone(false);
        if (shown || all.some((r) => r.running)) timer = window.setTimeout(() => void look(), every);
      } catch (e) {
        if (gone) return;
        if (e instanceof Refused && e.status === 404) setNone(true);
        else timer = window.setTimeout(() => void look(), every);
      }
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [base, shown, looks, access.state]);
  const act = (method: string, path: string, what: string, body?: unknown) =>
    send(method, base + path, body).then(
      () => {
        setProblem("");
        say(what);
        setLooks((n) => n + 1);
      },
      (e) => setProblem(e instanceof Error ? e.message : String(e)),
    );
  const why = feed.past
    ? "These values are from archives already."
    : access.state === "unknown"
      ? "Recording requires the address with the token, as “pcp up” prints it."
      : none || access.state === "none"
        ? "This server does not record; “pcp up” and “pcp chart” do."
        : state.host
          ? "Only the collector of this server is recorded: choose its own host first."
          : feed.status !== "ok"
            ? "The collector does not answer."
            : "";
  const zone = state.view.zone;
  const what = shown ? feed.wanted() : { metrics: [], charts: [] };
  return (
    <>
      <button type="button" class={"icon" + (running ? " recording" : "")} aria-label={running ? `Recordings, ${running} running` : "Record"} title="Record what is shown" onClick={() => setShown(true)}>
        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
          <circle cx="8" cy="8" r="5" fill={running ? "currentColor" : "none"} stroke="currentColor" stroke-width="1.4" />
        </svg>
      </button>
      {shown && (
        <Dialog title="Recordings" onClose={() => setShown(false)}>
          {why ? (
            <p class="note">{why}</p>
          ) : (
            <form
              class="record"
              onSubmit={(e) => {
                e.preventDefault();
                void act("POST", "", "Recording.", { metrics: what.metrics, charts: chartsOf(state, what.charts), interval: Math.max(state.view.step, 0.1), seconds });
              }}
            >
              <label class="select">
                <span>Record for</span>
                <select value={String(seconds)} onChange={(e) => setSeconds(Number(e.currentTarget.value))}>
                  {durations.map(([n, s]) => (
                    <option key={n} value={String(n)}>
                      {s}
                    </option>
                  ))}
                </select>
              </label>{" "}
              <button type="submit" disabled={!what.metrics.length}>
                Record what is shown
              </button>
              <p class="note">
                {what.metrics.length} metrics, every {state.view.step} s, to an archive on the server.
              </p>
            </form>
          )}
          {problem && <p role="alert">{problem}</p>}
          {list.length > 0 && (
            <ul class="recordings">
              {list.map((r) => (
                <li key={r.id}>
                  {dated(r.began, zone)} – {r.running ? `recording until ${dated(r.until, zone)}` : Number.isFinite(r.ended) ? dated(r.ended, zone) : "?"}, {r.metrics} metrics, {showWith(r.bytes, parseUnit("byte"))}
                  {r.message && `; ${r.message}`}{" "}
                  {r.running ? (
                    <button type="button" aria-label={"Stop the recording of " + dated(r.began, zone)} onClick={() => void act("POST", `/${r.id}/stop`, "Stopped.")}>
                      Stop
                    </button>
                  ) : (
                    <button type="button" aria-label={"Remove the recording of " + dated(r.began, zone)} onClick={() => void act("DELETE", `/${r.id}`, "Removed.")}>
                      Remove
                    </button>
                  )}
                  <br />
                  <code>pmafm {r.folio} replay</code>
                </li>
              ))}
            </ul>
          )}
        </Dialog>
      )}
    </>
  );
}
