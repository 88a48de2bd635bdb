// One disk, interface, control group, container or user: its past, and the processes that belong to it.

import { h, type ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo } from "preact/hooks";
import { Goto, groupOf, groupsOf, Table, useVersion, type Row, type Values } from "./activity";
import { AppContext, useApp } from "./context";
import type { ChartPanel, Plot, Style } from "./dashboard";
import type { Feed } from "./feed";
import { Card } from "./panels";
import { plain } from "./time";
import { textOf } from "./values";
import { byContainer, byProcess, tables, type Subject } from "./views";

const ofProcess = "proc.psinfo.cgroups"; // the control groups of a process

// Kinds of charts: lines of one instance each, with their legends.
type Lines = [metric: string, legend: string, optional?: boolean][];

const charts: Record<string, [title: string, style: Style, lines: Lines][]> = {
  disk: [
    ["Throughput", "area", [["disk.dev.read_bytes", "read"], ["disk.dev.write_bytes", "written"]]],
    ["Operations", "area", [["disk.dev.read", "reads"], ["disk.dev.write", "writes"]]],
    ["Busy", "line", [["disk.dev.avactive", "busy"]]],
    ["Time of an operation", "line", [["disk.dev.r_await", "read", true], ["disk.dev.w_await", "write", true]]],
  ],
  interface: [
    ["Traffic", "area", [["network.interface.in.bytes", "in"], ["network.interface.out.bytes", "out"]]],
    ["Packets", "line", [["network.interface.in.packets", "in"], ["network.interface.out.packets", "out"]]],
    ["Errors and drops", "line", [["network.interface.in.errors", "in errors", true], ["network.interface.out.errors", "out errors", true], ["network.interface.in.drops", "in drops", true], ["network.interface.out.drops", "out drops", true]]],
  ],
  cgroup: [
    ["CPU", "line", [["cgroup.cpu.stat.usage", "all", true], ["cgroup.cpu.stat.user", "user", true], ["cgroup.cpu.stat.system", "system", true], ["cgroup.cpuacct.usage", "all", true]]],
    ["Memory", "area", [["cgroup.memory.current", "all", true], ["cgroup.memory.usage", "all", true]]],
    ["Disk I/O", "area", [["cgroup.io.stat.rbytes", "read", true], ["cgroup.io.stat.wbytes", "written", true], ["cgroup.blkio.all.io_service_bytes.read", "read", true], ["cgroup.blkio.all.io_service_bytes.write", "written", true]]],
    ["Pressure, % of the last 10 s", "line", [["cgroup.pressure.cpu.some.avg10sec", "processors", true], ["cgroup.pressure.memory.some.avg10sec", "memory", true], ["cgroup.pressure.io.some.avg10sec", "disks", true]]],
    ["Held back by its limit of CPU", "line", [["cgroup.cpusched.throttled_time", "time", true]]],
  ],
  user: [
    ["CPU in programs, by process", "stack", [["proc.psinfo.utime", "%I"]]],
    ["CPU in the kernel, by process", "stack", [["proc.psinfo.stime", "%I"]]],
    ["Memory, by process", "stack", [["proc.psinfo.rss", "%I"]]],
    ["Written, by process", "stack", [["proc.io.write_bytes", "%I"]]],
    ["Read, by process", "stack", [["proc.io.read_bytes", "%I"]]],
  ],
};

const tallest = 10; // processes in a stack

// panelsOf makes the charts of an item, of which the feed has the given instances.
function panelsOf(kind: string, feed: Feed, has: (inst: string) => boolean): ChartPanel[] {
  return charts[kind].map(([title, style, lines]) => {
    const plots: Plot[] = [];
    for (const [metric, legend, optional] of lines) {
      const more = optional ? { optional } : {};
      const insts = [...(feed.table(metric)?.series.keys() ?? [])].filter(has);
      if (kind === "user") plots.push({ metric, legend, instances: insts, ...more });
      // Of what has a value for each device, each is a line.
      else for (const inst of insts.length ? insts : [""]) plots.push({ metric, legend: insts.length > 1 ? `${legend} ${inst.slice(groupOf(inst).length + 2)}` : legend, instances: [inst], ...more });
    }
    return { kind: "chart", title, style, min: 0, plots, ...(kind === "user" ? { top: tallest } : {}) };
  });
}

const processes = tables[0];

export function Item(props: { subject: Subject; item: string }) {
  const app = useApp();
  const { state } = app;
  const { subject: s, item } = props;
  // What only some users may see is slow: it has a context of its own.
  const feed = s.guarded ? app.feed.busy : app.feed;
  const version = useVersion(feed);
  const v = state.view;
  const at = v.live ? feed.now : v.end;
  const kind = s.key === "container" ? "cgroup" : s.key;
  const needs = useMemo(() => (s.by ? (s.needs ?? []) : []), [s]);
  useEffect(() => (needs.length ? feed.want(needs, false, true) : undefined), [feed, needs]);
  const text = (metric: string) => textOf(feed.table(metric), item, at);
  const group = s.key === "cgroup" ? item : s.key === "container" ? text(byContainer.group) : "";
  const users = feed.table(byProcess.user);
  const has = (inst: string): boolean => {
    if (s.key === "user") return textOf(users, inst, at) === item;
    if (kind === "cgroup") return group !== "" && groupOf(inst) === group;
    return inst === item;
  };
  const made = panelsOf(kind, feed, has).filter((p) => !p.plots.every((q) => q.optional && feed.absent.has(q.metric)));
  const shape = JSON.stringify(made);
  const panels = useMemo<ChartPanel[]>(() => JSON.parse(shape), [shape]); // the same as long as nothing came or went
  const metrics = useMemo(() => charts[kind].flatMap(([, , lines]) => lines.map((l) => l[0])), [kind]);
  useEffect(() => feed.want(metrics, true), [feed, metrics]);
  const keep = useCallback(
    (r: Row, values: Values, when: number): boolean => {
      if (s.key === "user") return textOf(values.table(byProcess.user), r.inst, when) === item;
      if (kind !== "cgroup") return true;
      return group !== "" && groupsOf(textOf(values.table(ofProcess), r.inst, when)).some((g) => g === group || g.startsWith(group + "/"));
    },
    [s, item, group],
  );
  const name = s.key === "container" ? text(byContainer.name) || item : item;
  const title = s.key === "disk" ? "Processes that use disks" : kind === "cgroup" || s.key === "user" ? "Its processes" : "";
  const fact = (what: string, value: ComponentChildren) =>
    value ? (
      <div>
        <dt>{what}</dt>
        <dd>{value}</dd>
      </div>
    ) : null;
  const known = !feed.table(metrics[0]) || version === 0 || made.some((p) => p.plots.some((q) => q.instances?.some((i) => i !== "")));
  return (
    <div class="process">
      <p>
        <Goto class="button" to={{ item: "" }}>
          ← All {s.title.toLowerCase()}
        </Goto>
      </p>
      <section class="card about" aria-label={`${s.of} ${plain(item)}`}>
        <h1 class="command">{plain(name)}</h1>
        {!known && <p class="note">{feed.loading ? "Waiting for values…" : `Nothing is known of this ${s.of} at this time.`}</p>}
        <dl class="facts">
          {fact("What it is", s.of)}
          {fact("Identifier", s.key === "container" && name !== item && plain(item))}
          {fact("Engine", s.key === "container" && plain(text(byContainer.engine)))}
          {fact("Control group", s.key === "container" && group && <Goto to={{ of: "cgroup", item: group }}>{plain(group)}</Goto>)}
        </dl>
      </section>
      <AppContext.Provider value={{ ...app, feed }}>
        <div class="grid">
          {panels.map((p) => (
            <Card key={p.title} panel={p} own={false} fixed />
          ))}
        </div>
      </AppContext.Provider>
      {title && (
        <section class="card below" aria-label={title}>
          <header>
            <h2>{title}</h2>
          </header>
          <Table subject={processes} rows={12} also={kind === "cgroup" ? [ofProcess] : undefined} keep={keep} first={s.key === "disk" ? "write" : undefined} />
        </section>
      )}
    </div>
  );
}
