// Which resource is short, and what changed: a diagnosis, as the server makes it of now or of the time that is shown.

import { h, Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Goto } from "./activity";
import { access } from "./access";
import { useApp, useFeedVersion } from "./context";
import { chartOf, type Dashboard, type Panel } from "./dashboard";
import { ask, Refused } from "./source";
import { link, shown, type State, type View } from "./state";
import { clock, dated, plain, span } from "./time";
import { fixed, parseUnit, showWith } from "./units";

interface Taker {
  kind: string;
  instance: string;
  pid: number;
  user: string;
  group: string;
  value: number;
  units: string;
  rank: string;
  metrics: string[];
}

interface Evidence {
  expression: string;
  value: number;
  units: string;
  time: number;
  command: string;
}

interface Finding {
  id: string;
  severe: boolean;
  text: string;
  instance: string;
  since: number;
  until: number; // NaN if it is true to the end
  time: number; // of the worst value
  samples: number;
  limit: string;
  metrics: string[];
  takers: Taker[];
  more: number;
  cause: string;
  evidence: Evidence[];
  command: string;
}

interface Change {
  metric: string;
  instance: string;
  before: number;
  after: number;
  units: string;
  more: number;
}

interface Result {
  findings: Finding[];
  changes: Change[];
  compared: { start: number; end: number; before: number; beforeEnd: number; values: number } | null;
  unchecked: { id: string; reason: string }[];
  start: number;
  end: number;
  interval: number;
  samples: number;
  checked: number;
}

const patience = 100_000; // ms, more than the server takes at most
const maxList = 1000;

const list = (v: unknown): any[] => (Array.isArray(v) ? v.slice(0, maxList) : []);
const text = (v: unknown): string => (typeof v === "string" ? v : "");
const number = (v: unknown): number => (typeof v === "number" ? v : NaN);
const time = (v: unknown): number => Date.parse(text(v)) / 1000;

// metricsOf returns the names of metrics in an expression.
function metricsOf(expression: string): string[] {
  return [...new Set(expression.match(/[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+/g) ?? [])];
}

// readResult reads the answer of the server.
export function readResult(v: any): Result {
  const c = v?.compared;
  return {
    findings: list(v?.findings).map((f) => ({
      id: text(f?.id),
      severe: f?.severity === "error",
      text: text(f?.text),
      instance: text(f?.instance),
      since: time(f?.since),
      until: time(f?.until),
      time: time(f?.time),
      samples: number(f?.samples),
      limit: text(f?.limit),
      metrics: list(f?.metrics).map(text).filter(Boolean),
      takers: list(f?.takers).map((t) => ({
        kind: text(t?.kind),
        instance: text(t?.instance),
        pid: Number(t?.pid) || 0,
        user: text(t?.user),
        group: text(t?.container) || text(t?.cgroup),
        value: number(t?.value),
        units: text(t?.units),
        rank: text(t?.rank),
        metrics: metricsOf(text(t?.expression)),
      })),
      more: Number(f?.more) || 0,
      cause: text(f?.cause),
      evidence: list(f?.evidence).map((e) => ({ expression: text(e?.expression), value: number(e?.value), units: text(e?.units), time: time(e?.time), command: text(e?.command) })),
      command: text(f?.command),
    })),
    changes: list(v?.changes).map((c) => ({ metric: text(c?.metric), instance: text(c?.instance), before: number(c?.before), after: number(c?.after), units: text(c?.units), more: Number(c?.more) || 0 })),
    compared: c ? { start: time(c.start), end: time(c.end), before: time(c.before_start), beforeEnd: time(c.before_end), values: Number(c.values) || 0 } : null,
    unchecked: list(v?.unchecked).map((u) => ({ id: text(u?.id), reason: text(u?.reason) })),
    start: time(v?.verdict?.start),
    end: time(v?.verdict?.end),
    interval: number(v?.verdict?.interval),
    samples: number(v?.verdict?.samples),
    checked: number(v?.verdict?.checked),
  };
}

// amount prints a value with the unit that the server has for it.
function amount(v: number, units: string): string {
  if (!Number.isFinite(v)) return "–";
  if (units === "%") return `${fixed(v, Number.isInteger(v) || v >= 99.95 ? 0 : 1)} %`;
  const u = parseUnit(units);
  if (units !== "" && !u.space && !u.time && !u.count && !u.extra) {
    const digits = Number.isInteger(v) || Math.abs(v) >= 100 ? 0 : Math.abs(v) >= 10 ? 1 : 2;
    return fixed(v, digits) + (units.startsWith("/") ? units : " " + plain(units));
  }
  return showWith(v * u.factor, { ...u, text: "" });
}

// around is the view with a stretch of time in its middle.
function around(v: View, start: number, end: number, now: number): View {
  const window = Math.max(120, Math.ceil((end - start) * 2));
  const last = end + window / 4;
  return { ...v, live: false, speed: 0, window, end: now && last > now ? Math.max(now, end) : last };
}

const rankNames: Record<string, string> = { mean: "on average", peak: "at most", growth: "more" };
const maxKept = 20;

// results has those of this page, so that going back to them does not ask again.
const results = new Map<string, Result>();

// ToChart is a link to charts of metrics at a time.
function ToChart(props: { title: string; metrics: string[]; view: View; label: string }) {
  const { state, set } = useApp();
  const panels: Panel[] = props.metrics.filter((m) => !m.startsWith("hinv.")).map((m) => ({ ...chartOf({ metric: m }), title: m, top: 8 }));
  const dashboard: Dashboard = { title: props.title.slice(0, 200), panels };
  const to: Partial<State> = { page: "charts", view: props.view, dashboard };
  return (
    <a
      class="button"
      href={link({ ...state, ...to })}
      aria-label={props.label}
      onClick={(e) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey) return;
        e.preventDefault();
        shown(dashboard); // it is beside those that are kept
        set(to);
      }}
    >
      Chart →
    </a>
  );
}

function Command(props: { text: string }) {
  const { say } = useApp();
  if (!props.text) return null;
  return (
    <div class="commandline">
      <code tabIndex={0}>{plain(props.text)}</code>
      <button type="button" onClick={() => void navigator.clipboard?.writeText(props.text).then(() => say("The command is copied"), () => say("The browser does not allow copying"))}>
        Copy
      </button>
    </div>
  );
}

function OneFinding(props: { f: Finding; r: Result; at: (t: number) => string }) {
  const { feed, state } = useApp();
  const { f, r, at } = props;
  const until = Number.isFinite(f.until) ? f.until : r.end;
  const view = around(state.view, f.since, until, feed.now);
  const atWorst: View = { ...view, end: Math.min(view.end, f.time + Math.max(r.interval, 1)) };
  const metrics = [...new Set([...f.metrics, ...(f.takers[0]?.metrics ?? [])])];
  return (
    <li class={"finding " + (f.severe ? "error" : "warning") + (f.cause ? " effect" : "")}>
      <div class="bar">
        <span class="badge">{f.severe ? "Error" : "Warning"}</span>
        <h3>{plain(f.text)}</h3>
        <span class="count">{f.id}</span>
        <ToChart title={f.text} metrics={metrics} view={view} label={`Chart of ${f.text}`} />
      </div>
      <dl>
        <dt>Since</dt>
        <dd>
          {at(f.since)}
          {f.since <= r.start + r.interval ? ", the start, or before" : ""}
          {Number.isFinite(f.until) ? `, until ${at(f.until)}` : ", to the end"}; in {f.samples} of {r.samples} samples
        </dd>
        {f.takers.length > 0 && (
          <Fragment>
            <dt>Taken by</dt>
            <dd>
              <ul>
                {f.takers.map((t, i) => (
                  <li key={i}>
                    {t.pid ? (
                      <Goto to={{ page: "activity", of: "process", pid: t.pid, view: r.end > feed.now - 30 && state.view.live ? state.view : atWorst }} title="Its past">
                        {plain(`process ${t.pid} ${t.instance}`)}
                      </Goto>
                    ) : (
                      plain(`${t.kind} ${t.instance}`)
                    )}
                    {t.user || t.group ? ` (${plain([t.user && "user " + t.user, t.group].filter(Boolean).join(", "))})` : ""}: <b>{amount(t.value, t.units)}</b> {rankNames[t.rank] ?? ""}
                  </li>
                ))}
              </ul>
            </dd>
          </Fragment>
        )}
        {f.more > 0 && (
          <Fragment>
            <dt>Also</dt>
            <dd>true of {f.more} more</dd>
          </Fragment>
        )}
        {f.cause && (
          <Fragment>
            <dt>Effect of</dt>
            <dd>{f.cause}</dd>
          </Fragment>
        )}
        {f.evidence.map((e, i) => (
          <Fragment key={i}>
            <dt>{i === 0 ? "Evidence" : "Who"}</dt>
            <dd>
              <code>{plain(e.expression)}</code> was <b>{amount(e.value, e.units)}</b>
              {Number.isFinite(e.time) && ` at ${at(e.time)}`}
              {i === 0 && f.limit && `; the limit is ${f.limit}`}
              <Command text={e.command} />
            </dd>
          </Fragment>
        ))}
        {f.command && (
          <Fragment>
            <dt>Next</dt>
            <dd>
              <Command text={f.command} />
            </dd>
          </Fragment>
        )}
      </dl>
    </li>
  );
}

function Changes(props: { r: Result; at: (t: number) => string }) {
  const { feed, state } = useApp();
  const { r, at } = props;
  const c = r.compared;
  if (!c) return <p class="note">Nothing is recorded of the time before, so that it is not known what changed.</p>;
  const view = around(state.view, c.start, c.end, feed.now);
  return (
    <Fragment>
      <p class="note">
        {dated(c.start, state.view.zone)} to {at(c.end)}, compared with {dated(c.before, state.view.zone)} to {at(c.beforeEnd)}: medians of {fixed(c.values, 0)} values, the largest differences first.
      </p>
      {r.changes.length === 0 ? (
        <p class="why">Nothing changed by much.</p>
      ) : (
        <div class="numbers list values">
          <table class="changes">
            <caption class="vh">What changed</caption>
            <thead>
              <tr>
                <th scope="col">metric</th>
                <th scope="col">before</th>
                <th scope="col">then</th>
                <th scope="col">
                  <span class="vh">chart</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {r.changes.map((x) => (
                <tr key={x.metric + x.instance}>
                  <th scope="row">
                    <span class="name" title={plain(x.metric + " " + x.instance)}>
                      {plain(x.metric)}
                      {x.instance && ` [${plain(x.instance)}]`}
                    </span>
                    {x.more > 0 && <span class="rule">and {x.more} more instances</span>}
                  </th>
                  <td>{amount(x.before, x.units)}</td>
                  <td>{amount(x.after, x.units)}</td>
                  <td>
                    <ToChart title={x.metric} metrics={[x.metric]} view={view} label={`Chart of ${x.metric}`} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Fragment>
  );
}

// Diagnose is a page of its own.
export function Diagnose() {
  const { feed, state } = useApp();
  useFeedVersion();
  const v = state.view;
  const live = v.live && !feed.past;
  const key = live ? `now ${state.host}` : `${feed.host} ${Math.round(v.end - v.window)} ${Math.round(v.end)}`;
  const [done, setDone] = useState<{ key: string; result: Result } | null>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState("");
  const abort = useRef<AbortController | null>(null);
  const ready = live ? feed.status === "ok" : !!feed.host && v.end > 0 && !v.speed && !v.live;

  const run = async (again: boolean) => {
    const kept = results.get(key);
    if (kept && !again) {
      setDone({ key, result: kept });
      return;
    }
    abort.current?.abort();
    const mine = (abort.current = new AbortController());
    setBusy(live ? "Taking six samples, a second apart…" : "Reading the archives…");
    setError("");
    try {
      const params: Record<string, string | undefined> = live ? { host: state.host || undefined } : { host: feed.host, start: String(v.end - v.window), end: String(v.end), whole: "true" };
      const result = readResult(await ask(feed.live.base + "diagnose", params, mine.signal, patience));
      results.delete(key);
      results.set(key, result);
      if (results.size > maxKept) results.delete(results.keys().next().value!);
      setDone({ key, result });
    } catch (e) {
      if (mine.signal.aborted) return;
      setError(e instanceof Refused && e.status === 404 && /^404 /.test(e.message) ? "This server makes no diagnoses." : e instanceof Error ? e.message : String(e));
    }
    if (abort.current === mine) setBusy("");
  };
  // The first is made at once, and each further one when one asks for it.
  const began = useRef(false);
  useEffect(() => {
    if (!ready || began.current) return;
    began.current = true;
    void run(false);
  }, [ready]);
  useEffect(() => () => abort.current?.abort(), []);

  const r = done?.result;
  const day = !!r && r.end - r.start > 80_000;
  const at = (t: number) => clock(t, v.zone, true, day);
  const stale = !!done && done.key !== key;
  const what = live ? "now" : `the ${span(v.window)} to ${dated(v.end, v.zone)}`;
  return (
    <div class="diagnose">
      <div class="tools">
        <h1>Diagnosis</h1>
        <button type="button" class="primary" disabled={!ready || !!busy} onClick={() => void run(true)}>
          {done && !stale ? "Diagnose again" : `Diagnose ${what}`}
        </button>
        <span class="note" role="status">
          {busy || (r && `${dated(r.start, v.zone)} to ${at(r.end)}, ${r.samples} samples; ${r.checked} rules checked`)}
        </span>
      </div>
      {error && (
        <div class="trouble" role="alert">
          <strong>There is no diagnosis.</strong> <span>{plain(error)}</span>
        </div>
      )}
      {stale && <p class="note">This is of another time than the one that is shown.</p>}
      {!done && !error && !busy && <p class="why tallwhy">{ready ? "" : "Waiting for values…"}</p>}
      {r && (
        <Fragment>
          <section class="card" aria-label="Findings">
            <header>
              <h2>{r.findings.length ? `Short, ${r.findings.length} ${r.findings.length === 1 ? "finding" : "findings"}` : "Nothing is short"}</h2>
            </header>
            {r.findings.length > 0 && (
              <ol class="findings">
                {r.findings.map((f, i) => (
                  <OneFinding key={i} f={f} r={r} at={at} />
                ))}
              </ol>
            )}
            {access.state === "unknown" && <p class="note">Processes and control groups are shown to the user who started the collector: open the address, with its token, that it printed.</p>}
            {r.unchecked.length > 0 && (
              <details class="note">
                <summary>{r.unchecked.length === 1 ? "1 rule was" : `${r.unchecked.length} rules were`} not checked, for lack of metrics</summary>
                <ul>
                  {r.unchecked.map((u) => (
                    <li key={u.id}>
                      {u.id}: {plain(u.reason)}
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </section>
          <section class="card" aria-label="What changed">
            <header>
              <h2>What changed</h2>
            </header>
            <Changes r={r} at={at} />
          </section>
        </Fragment>
      )}
    </div>
  );
}
