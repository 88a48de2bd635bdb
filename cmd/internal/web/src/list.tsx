// The numbers that one looks at first, and the rules of pmie.

import { h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { access } from "./access";
import { Actions, beforeOf, Earlier, silencesOf, stateOf, Strip, type AlertState, type Before, type Quiet } from "./alerts";
import { useApp, useFeedVersion } from "./context";
import { Goto } from "./activity";
import type { Feed } from "./feed";
import { ask, Refused, visible } from "./source";
import type { State } from "./state";
import { dated, plain } from "./time";
import { fixed, showWith } from "./units";
import { kindOf, latestOf, type Kind } from "./values";
import { tables } from "./views";

// latest returns the value of each instance at a time: rates for counters.
export function latest(feed: Feed, metric: string, at: number, age: number): { kind: Kind; values: Map<string, number> } | null {
  const m = feed.metas.get(metric);
  const table = feed.table(metric);
  if (!m || !table) return null;
  const kind = kindOf(m, false);
  const values = new Map<string, number>();
  for (const [inst, v] of latestOf(table, kind, at, age, Math.max(4 * age, 30))) if (v !== null) values.set(inst, v);
  return { kind, values };
}

interface Lead {
  to: Partial<State>;
  what: string;
}

function lead(of: string, sort: string, what: string): Lead {
  return { to: { page: "activity", of, sort, filter: "", pid: 0, item: "" }, what };
}

// leads are the ways from a number to what makes it large.
const leads = {
  cpu: lead("process", "cpu", "Which processes use the processors"),
  memory: lead("process", "memory", "Which processes have the memory"),
  read: lead("process", "read", "Which processes read from disks"),
  write: lead("process", "write", "Which processes write to disks"),
  in: lead("interface", "in", "Which interfaces receive"),
  out: lead("interface", "out", "Which interfaces send"),
};

// leadOf picks the way for a rule, by the metrics that it names.
export function leadOf(rule: string): Lead {
  if (/network\.|netifs|sockets?\./i.test(rule)) return /\.out\b/.test(rule) ? leads.out : leads.in;
  if (/pressure\.io|disk|filesys|proc\.io|swap\.page|blkio|\bio\b/i.test(rule)) return /read/i.test(rule) && !/write|total/i.test(rule) ? leads.read : leads.write;
  if (/\bmem|swap|rss|vmstat|oom/i.test(rule)) return leads.memory;
  return leads.cpu;
}

// leadOfMetrics picks the way for a chart, by what it draws: to the table that has it as a column, or as for a rule.
export function leadOfMetrics(names: string[]): Lead {
  for (const t of tables) {
    if (t.by || t.key === "disk") continue; // a process uses the disk
    for (const c of t.columns) if (names.some((n) => c.metrics.includes(n) || c.or?.includes(n))) return lead(t.key, c.key, `Which ${t.plural ?? t.of + "s"} were busy`);
  }
  return names.some((n) => n.startsWith("cgroup.")) ? lead("cgroup", "cpu", "Which control groups were busy") : leadOf(names.join(" "));
}

const pmie = ["pmcd.pmie.pmcd_host", "pmcd.pmie.configfile", "pmcd.pmie.numrules", "pmcd.pmie.eval.true", "pmcd.pmie.actions"];

interface Firing extends AlertState {
  rule: string;
  host: string;
  instance: string;
  value: string; // when the rule was evaluated last
  first: string; // when it became true
  limit: string; // what the value is compared with
  why: string; // the condition
  since: number;
}

// readable writes the numbers of an alert in the user's form.
function readable(s: string): string {
  return plain(s).replace(/^([=<>!]* ?)(-?\d+(?:\.\d+)?)$/, (_, o: string, n: string) => o + fixed(Number(n), n.split(".")[1]?.length ?? 0)) || "–";
}

const alertsEvery = 5000; // ms

interface Known {
  firing: Firing[] | null; // null if the server does not know
  past: Before[];
  silences: Quiet[];
  again: () => void; // asks at once
}

// useFiring asks the server again and again which rules are true, if it knows.
function useFiring(): Known {
  const { feed } = useApp();
  const [list, set] = useState<Firing[] | null>(null);
  const [rest, setRest] = useState<{ past: Before[]; silences: Quiet[] }>({ past: [], silences: [] });
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const look = async () => {
      await visible();
      if (gone) return;
      try {
        const r = await ask(feed.live.base + "alerts", {});
        if (gone) return;
        setRest({ past: beforeOf(r?.past), silences: silencesOf(r?.silences) });
        set(
          !Array.isArray(r?.alerts)
            ? null
            : r.alerts.map((a: any) => ({
                ...stateOf(a),
                rule: String(a.rule ?? ""),
                host: String(a.host ?? ""),
                instance: String(a.instance ?? ""),
                value: String(a.value ?? ""),
                first: String(a.first_value ?? ""),
                limit: String(a.limit ?? ""),
                why: String(a.expression ?? ""),
                since: Date.parse(a.since) / 1000,
              })),
        );
      } catch (e) {
        if (e instanceof Refused && e.status < 500) return; // this server knows of none
      }
      if (!gone) timer = window.setTimeout(() => void look(), alertsEvery);
    };
    if (!feed.past && access.state === "known") void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [feed, access.state, asked]);
  return { firing: list, ...rest, again: () => setAsked((n) => n + 1) };
}

// Alerts shows what pmie processes of the host find, and which rules are true now. Without any there is nothing.
export function Alerts() {
  const { feed, state } = useApp();
  useFeedVersion();
  const { firing, past, silences, again } = useFiring();
  useEffect(() => feed.want(pmie, true), [feed]);
  const v = state.view;
  const to = v.live ? feed.now : v.end;
  const rules = feed.table("pmcd.pmie.numrules");
  if (!rules?.series.size && !firing) return null;
  const text = (name: string, inst: string): string => {
    const t = feed.table(name);
    const cells = t?.series.get(inst);
    if (!t || !cells) return "";
    for (let i = cells.length - 1; i >= 0; i--) if (t.t[i] <= to && cells[i] !== null) return String(cells[i]);
    return "";
  };
  const grown = (name: string, inst: string): number | null => {
    const t = feed.table(name);
    const cells = t?.series.get(inst);
    if (!t || !cells) return null;
    let first: number | null = null;
    let last: number | null = null;
    for (let i = 0; i < cells.length; i++) {
      const c = cells[i];
      if (typeof c !== "number" || t.t[i] < to - v.window || t.t[i] > to) continue;
      first ??= c;
      last = c;
    }
    return first === null || last === null ? null : Math.max(0, last - first);
  };
  // then is what was busy when a rule became true: in the minute after it, since processes are recorded once a minute.
  const then = (f: Firing): Partial<State> => {
    const end = f.since + 60;
    const view = Number.isFinite(end) && end < feed.now ? { ...v, live: false, end, speed: 0 } : v;
    return { ...leadOf(f.why + " " + f.rule).to, view };
  };
  const rows = [...(rules?.series.keys() ?? [])].filter((i) => text("pmcd.pmie.numrules", i) !== "");
  if (!rows.length && !firing) return null;
  return (
    <section class="card wide alerts" aria-label="Alerts">
      <header>
        <h2>Alerts</h2>
      </header>
      {firing && !firing.length && <p class="note">No rule is true now.</p>}
      {!!firing?.length && (
        <div class="numbers list now">
          <table>
            <caption class="vh">Rules that are true now</caption>
            <thead>
              <tr>
                <th scope="col">rule that is true</th>
                <th scope="col">of</th>
                <th scope="col">now</th>
                <th scope="col">when it fired</th>
                <th scope="col">threshold</th>
                <th scope="col">since</th>
              </tr>
            </thead>
            <tbody>
              {firing.map((f) => (
                <tr key={f.rule + f.host + f.instance + f.series} class={"firing" + (f.silence || f.acknowledged ? " quiet" : "")} title={f.why}>
                  <th scope="row">
                    <Goto class="name" to={then(f)} title={`${leadOf(f.why + " " + f.rule).what}, when it became true`}>
                      ⚠ {plain(f.rule)}
                    </Goto>
                    {f.why && <code class="rule">{plain(f.why)}</code>}
                    <Strip periods={f.periods} now={Date.now() / 1000} />
                    <Goto class="busy" to={then(f)} label={`What was busy when it fired: ${plain(f.rule)}`}>
                      What was busy when it fired
                    </Goto>
                    <Actions alert={f} again={again} />
                  </th>
                  <td>{plain(f.instance || f.host)}</td>
                  <td>{readable(f.value)}</td>
                  <td>{readable(f.first)}</td>
                  <td>{readable(f.limit)}</td>
                  <td>{dated(f.since, state.view.zone)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {firing && <Earlier past={past} silences={silences} now={Date.now() / 1000} again={again} />}
      {rows.length > 0 && (
      <div class="numbers list">
        <table>
          <caption class="vh">What pmie processes find</caption>
          <thead>
            <tr>
              <th scope="col">rules file of pmie</th>
              <th scope="col">host</th>
              <th scope="col">rules</th>
              <th scope="col">true</th>
              <th scope="col">actions</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((inst) => {
              const hot = grown("pmcd.pmie.eval.true", inst);
              const acts = grown("pmcd.pmie.actions", inst);
              return (
                <tr key={inst} class={hot ? "firing" : ""}>
                  <th scope="row">
                    <span class="name">
                      {hot ? "⚠ " : ""}
                      {text("pmcd.pmie.configfile", inst) || "standard input"} ({inst})
                    </span>
                  </th>
                  <td>{text("pmcd.pmie.pmcd_host", inst)}</td>
                  <td>{text("pmcd.pmie.numrules", inst)}</td>
                  <td>{hot === null ? "–" : `${hot} times`}</td>
                  <td>{acts ?? "–"}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      )}
    </section>
  );
}

interface Tile {
  title: string;
  value: string;
  note: string;
  part: number | null; // of a whole, for a bar
  to: Partial<State>; // what was busy then
  what: string; // that this is
}

const tileMetrics = [
  "kernel.all.cpu.idle",
  "hinv.ncpu",
  "kernel.all.load",
  "mem.util.available",
  "mem.physmem",
  "swap.used",
  "swap.length",
  "disk.all.total_bytes",
  "disk.all.total",
  "disk.all.read_bytes",
  "disk.all.write_bytes",
  "network.interface.in.bytes",
  "network.interface.out.bytes",
  "kernel.all.pressure.cpu.some.avg",
  "kernel.all.pressure.memory.some.avg",
  "kernel.all.pressure.io.some.avg",
];

// Tiles are the few numbers that one looks at first.
export function Tiles() {
  const { feed, state } = useApp();
  useFeedVersion();
  useEffect(() => feed.want(tileMetrics, true), [feed]);
  const v = state.view;
  const at = v.live ? feed.now : v.end;
  const age = Math.max(3 * v.step, v.live ? 0 : v.window / 4, 5);
  const get = (name: string) => latest(feed, name, at, age);
  const one = (name: string, inst = ""): number | null => {
    const l = get(name);
    if (!l) return null;
    if (inst === "") return l.values.get("") ?? null;
    for (const [k, x] of l.values) if (k.startsWith(inst)) return x;
    return null;
  };
  const sum = (name: string, skip: RegExp): number | null => {
    const l = get(name);
    let s: number | null = null;
    if (l) for (const [k, x] of l.values) if (!skip.test(k)) s = (s ?? 0) + x;
    return s;
  };
  const percent = (x: number | null) => (x === null ? "–" : `${fixed(x * 100, x < 0.0995 ? 1 : 0)} %`);
  const shown = (name: string, x: number | null) => {
    const m = feed.metas.get(name);
    if (!m) return "–";
    const k = kindOf(m, false);
    return showWith(x, k.unit, k.utilization);
  };
  const clamp = (x: number | null) => (x === null ? null : Math.max(0, Math.min(1, x)));

  const ncpu = one("hinv.ncpu");
  const idle = one("kernel.all.cpu.idle");
  const busy = idle === null || !ncpu ? null : clamp(1 - idle / ncpu);
  const load = one("kernel.all.load", "1 ");
  const avail = one("mem.util.available");
  const phys = one("mem.physmem");
  const used = avail === null || !phys ? null : clamp(1 - avail / phys);
  const swap = one("swap.used");
  const swapAll = one("swap.length");
  const lo = /^lo$/;
  const into = sum("network.interface.in.bytes", lo);
  const out = sum("network.interface.out.bytes", lo);
  const waits: [string, number | null][] = [
    ["processors", one("kernel.all.pressure.cpu.some.avg", "10")],
    ["memory", one("kernel.all.pressure.memory.some.avg", "10")],
    ["disks", one("kernel.all.pressure.io.some.avg", "10")],
  ];
  const worst = waits.reduce((a, b) => ((b[1] ?? -1) > (a[1] ?? -1) ? b : a));
  const disks = (one("disk.all.read_bytes") ?? 0) > (one("disk.all.write_bytes") ?? 0) ? leads.read : leads.write;
  const tiles: Tile[] = [
    { title: "CPU", value: percent(busy), note: ncpu ? `of ${ncpu} processor${ncpu === 1 ? "" : "s"}` : "", part: busy, ...leads.cpu },
    { title: "Load", value: load === null ? "–" : fixed(load, 2), note: "1 minute", part: load === null || !ncpu ? null : clamp(load / ncpu), ...leads.cpu },
    { title: "Memory", value: percent(used), note: phys ? `of ${shown("mem.physmem", phys)}` : "", part: used, ...leads.memory },
    { title: "Swap", value: swapAll === 0 ? "none" : shown("swap.used", swap), note: swapAll ? `of ${shown("swap.length", swapAll)}` : "", part: swapAll && swap !== null ? clamp(swap / swapAll) : null, ...leads.memory },
    { title: "Disks", value: shown("disk.all.total_bytes", one("disk.all.total_bytes")), note: (() => { const x = one("disk.all.total"); return x === null ? "" : `${fixed(x, 0)} operations/s`; })(), part: null, ...disks },
    { title: "Network in", value: shown("network.interface.in.bytes", into), note: out === null ? "" : `out ${shown("network.interface.out.bytes", out)}`, part: null, ...((out ?? 0) > (into ?? 0) ? leads.out : leads.in) },
    { title: "Pressure", value: worst[1] === null ? "–" : `${fixed(worst[1], 1)} %`, note: worst[1] === null ? "not known here" : worst[0], part: worst[1] === null ? null : clamp(worst[1] / 100), ...(worst[0] === "disks" ? disks : worst[0] === "memory" ? leads.memory : leads.cpu) },
  ];
  return (
    <dl class="tiles">
      {tiles.map((t) => (
        <div class="tile" key={t.title}>
          <dt>
            <Goto class="stretch" to={t.to} title={t.what}>
              {t.title}
            </Goto>
          </dt>
          <dd>
            <span class="big">{t.value}</span>
            <span class="sub">{t.note || "\u00a0"}</span>
            <span class="level" aria-hidden="true">
              {t.part !== null && <span class={t.part > 0.9 ? "high" : t.part > 0.7 ? "raised" : ""} style={{ width: `${(t.part * 100).toFixed(1)}%` }} />}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
