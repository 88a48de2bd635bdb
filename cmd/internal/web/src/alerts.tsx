// What can be done about an alert, and when it fired before.

import { h } from "preact";
import { useState } from "preact/hooks";
import { headers } from "./access";
import { useApp } from "./context";
import { Refused } from "./source";
import { dated, plain, span } from "./time";

// A Subject is what a silence is about.
interface Subject {
  rule: string;
  host: string;
  instance: string;
  series: string;
}

export interface Quiet extends Subject {
  id: string;
  until: number;
  comment: string;
}

export interface AlertState {
  id: string;
  own: boolean; // the server can silence and acknowledge it
  series: string;
  silence: Quiet | null;
  acknowledged: { at: number; comment: string } | null;
  periods: [number, number | null][]; // seconds from which and until which it fired
}

function seconds(v: unknown): number | null {
  const t = Date.parse(String(v ?? "")) / 1000;
  return Number.isFinite(t) ? t : null;
}

function quietOf(v: any): Quiet | null {
  return v && typeof v === "object" && v.id ? { id: String(v.id), rule: String(v.rule ?? ""), host: String(v.host ?? ""), instance: String(v.instance ?? ""), series: String(v.series ?? ""), until: seconds(v.until) ?? 0, comment: String(v.comment ?? "") } : null;
}

export function periodsOf(v: any): [number, number | null][] {
  return (Array.isArray(v) ? v.slice(-100) : []).flatMap((p: any): [number, number | null][] => {
    const from = seconds(p?.from);
    return from === null ? [] : [[from, seconds(p?.until)]];
  });
}

export function stateOf(a: any): AlertState {
  return {
    id: String(a?.id ?? ""),
    own: a?.own === true,
    series: String(a?.series ?? ""),
    silence: quietOf(a?.silence),
    acknowledged: a?.acknowledgement ? { at: seconds(a.acknowledgement.at) ?? 0, comment: String(a.acknowledgement.comment ?? "") } : null,
    periods: periodsOf(a?.periods),
  };
}

export function silencesOf(v: any): Quiet[] {
  return (Array.isArray(v) ? v.slice(0, 1000) : []).flatMap((s: any) => quietOf(s) ?? []);
}

async function change(base: string, method: string, path: string, body?: object): Promise<void> {
  const r = await fetch(base + "alerts/" + path, { method, headers: { ...headers(), ...(body ? { "Content-Type": "application/json" } : {}) }, body: body && JSON.stringify(body), signal: AbortSignal.timeout(10_000) });
  const v = await r.json().catch(() => null);
  if (!r.ok) throw new Refused(r.status, String(v?.message ?? `${r.status} ${r.statusText}`));
}

const lengths: [number, string][] = [
  [900, "15 minutes"],
  [3600, "1 hour"],
  [8 * 3600, "8 hours"],
  [86400, "1 day"],
  [7 * 86400, "1 week"],
];

// useChange carries out a request, and has the alerts asked for again.
function useChange(again: () => void): (what: Promise<void>, said: string) => void {
  const { say } = useApp();
  return (what, said) =>
    void what.then(
      () => {
        say(said);
        again();
      },
      (e) => say(`This is not done: ${e instanceof Error ? e.message : e}`),
    );
}

// Actions acknowledges an alert, or silences it.
export function Actions(props: { alert: AlertState & { rule: string; host: string; instance: string }; again: () => void }) {
  const { feed, state } = useApp();
  const a = props.alert;
  const run = useChange(props.again);
  const base = feed.live.base;
  const name = plain(a.rule) + (a.instance ? ` of ${plain(a.instance)}` : "");
  if (!a.own) return null;
  return (
    <span class="acts">
      {a.acknowledged ? (
        <button type="button" aria-label={`Take back the acknowledgement of ${name}`} title={`Acknowledged ${dated(a.acknowledged.at, state.view.zone)}; receivers are not notified again until it clears`} onClick={() => run(change(base, "DELETE", `acknowledgements/${encodeURIComponent(a.id)}`), `${name} is no longer acknowledged`)}>
          ✓ Acknowledged
        </button>
      ) : (
        <button type="button" aria-label={`Acknowledge ${name}`} title="Receivers are not notified again until it clears" onClick={() => run(change(base, "PUT", `acknowledgements/${encodeURIComponent(a.id)}`, {}), `${name} is acknowledged`)}>
          Acknowledge
        </button>
      )}
      {a.silence ? (
        <button type="button" aria-label={`Silenced until ${dated(a.silence.until, state.view.zone)} ✕: end the silence of ${name}`} onClick={() => run(change(base, "DELETE", `silences/${encodeURIComponent(a.silence!.id)}`), `${name} is no longer silenced`)}>
          Silenced until {dated(a.silence.until, state.view.zone)} ✕
        </button>
      ) : (
        <select
          aria-label={`Silence ${name}`}
          value=""
          onChange={(e) => {
            const s = Number(e.currentTarget.value);
            e.currentTarget.value = "";
            if (s) run(change(base, "POST", "silences", { rule: a.rule, host: a.host, instance: a.instance, series: a.series, seconds: s }), `${name} is silenced for ${span(s)}`);
          }}
        >
          <option value="">Silence…</option>
          {lengths.map(([s, text]) => (
            <option key={s} value={s}>
              for {text}
            </option>
          ))}
        </select>
      )}
    </span>
  );
}

const stripOf = 86400; // seconds

// Strip shows when an alert fired in the last day.
export function Strip(props: { periods: [number, number | null][]; now: number }) {
  const { state } = useApp();
  const { now } = props;
  const from = now - stripOf;
  const seen = props.periods.filter(([, until]) => until === null || until >= from);
  if (!seen.length) return null;
  const total = seen.reduce((n, [a, b]) => n + Math.max(0, (b ?? now) - Math.max(a, from)), 0);
  const text = `It fired ${seen.length === 1 ? "once" : `${seen.length} times`} in the last day, for ${span(total)}; last from ${dated(seen[seen.length - 1][0], state.view.zone)}`;
  return (
    <svg class="past" viewBox="0 0 1000 8" preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      <rect class="free" width="1000" height="8" />
      {seen.map(([a, b], i) => {
        const x = (Math.max(0, a - from) / stripOf) * 1000;
        return <rect key={i} class="fired" x={x.toFixed(1)} width={Math.max(4, ((Math.min(b ?? now, now) - from) / stripOf) * 1000 - x).toFixed(1)} height="8" />;
      })}
    </svg>
  );
}

export interface Before extends Subject {
  periods: [number, number | null][];
}

export function beforeOf(v: any): Before[] {
  return (Array.isArray(v) ? v.slice(0, 2000) : []).map((p: any) => ({ rule: String(p?.rule ?? ""), host: String(p?.host ?? ""), instance: String(p?.instance ?? ""), series: String(p?.series ?? ""), periods: periodsOf(p?.periods) }));
}

// Earlier lists the alerts that fired in the last day and do not now, and the silences.
export function Earlier(props: { past: Before[]; silences: Quiet[]; now: number; again: () => void }) {
  const { feed, state } = useApp();
  const run = useChange(props.again);
  const [more, setMore] = useState(false);
  const last = (b: Before) => b.periods.reduce((n, [, until]) => Math.max(n, until ?? 0), 0);
  const list = props.past.filter((b) => last(b) > props.now - stripOf).sort((a, b) => last(b) - last(a));
  if (!list.length && !props.silences.length) return null;
  return (
    <details class="earlier">
      <summary>
        {list.length ? `${list.length} ${list.length === 1 ? "alert" : "alerts"} fired earlier in the last day` : "Silences"}
        {list.length && props.silences.length ? ", " : ""}
        {props.silences.length ? `${props.silences.length} ${props.silences.length === 1 ? "silence" : "silences"}` : ""}
      </summary>
      <ul>
        {list.slice(0, more ? 500 : 10).map((b) => (
          <li key={b.rule + "\n" + b.host + "\n" + b.instance + "\n" + b.series}>
            <span>
              {plain(b.rule)} <span class="dim">{plain(b.instance || b.host)}, until {dated(last(b), state.view.zone)}</span>
            </span>
            <Strip periods={b.periods} now={props.now} />
          </li>
        ))}
      </ul>
      {list.length > 10 && !more && (
        <button type="button" onClick={() => setMore(true)}>
          {list.length - 10} more
        </button>
      )}
      {props.silences.length > 0 && (
        <ul aria-label="Silences">
          {props.silences.map((s) => (
            <li key={s.id} class="bar">
              <span class="grow">
                {[s.rule, s.host, s.instance].filter(Boolean).map((x) => plain(x)).join(", ") || "all alerts"}, silenced until {dated(s.until, state.view.zone)}
                {s.comment ? `: ${plain(s.comment)}` : ""}
              </span>
              <button type="button" onClick={() => run(change(feed.live.base, "DELETE", `silences/${encodeURIComponent(s.id)}`), "The silence is over")}>
                End
              </button>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
