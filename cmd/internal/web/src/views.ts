// Dashboards that come with the page.

import type { ChartPanel, Dashboard, Plot, Style } from "./dashboard";

function chart(title: string, style: Style, plots: Plot[], limits: { min?: number; max?: number } = {}): ChartPanel {
  return { kind: "chart", title, style, plots, ...limits };
}

function plot(metric: string, legend?: string, more: Partial<Plot> = {}): Plot {
  return { metric, ...(legend ? { legend } : {}), ...more };
}

const perCPU = { per: "hinv.ncpu", optional: true };
const noLoopback = { unmatch: "^(lo$|sit|veth|br-|docker|virbr|ifb|dummy|tunl|teql)" };

const cpu = chart(
  "Processors",
  "stack",
  [
    plot("kernel.all.cpu.user", "user", perCPU),
    plot("kernel.all.cpu.nice", "nice", perCPU),
    plot("kernel.all.cpu.sys", "system", perCPU),
    plot("kernel.all.cpu.intr", "interrupts", perCPU),
    plot("kernel.all.cpu.wait.total", "waiting for disks", perCPU),
    plot("kernel.all.cpu.steal", "stolen", perCPU),
  ],
  { min: 0, max: 1 },
);
const load = chart("Load", "line", [plot("kernel.all.load", "%I"), plot("hinv.ncpu", "processors", { optional: true })], { min: 0 });
const memory = chart(
  "Memory",
  "stack",
  [
    plot("mem.util.other", "programs", { optional: true }),
    plot("mem.util.bufmem", "buffers", { optional: true }),
    plot("mem.util.cached", "cached", { optional: true }),
    plot("mem.util.free", "free", { optional: true }),
  ],
  { min: 0 },
);
const diskBytes = chart("Disk throughput", "area", [plot("disk.all.read_bytes", "read"), plot("disk.all.write_bytes", "written")], { min: 0 });
const diskOps = chart("Disk operations", "area", [plot("disk.all.read", "reads"), plot("disk.all.write", "writes")], { min: 0 });
const diskBusy = chart("Disks busy", "line", [plot("disk.dev.avactive", "%i", { optional: true })], { min: 0 });
const net = chart("Network", "area", [plot("network.interface.in.bytes", "in %i", noLoopback), plot("network.interface.out.bytes", "out %i", noLoopback)], { min: 0 });
const packets = chart("Network packets", "line", [plot("network.interface.in.packets", "in %i", noLoopback), plot("network.interface.out.packets", "out %i", noLoopback)], { min: 0 });
const netErrors = chart("Network errors and drops", "line", [
  plot("network.interface.in.errors", "in errors %i", noLoopback),
  plot("network.interface.out.errors", "out errors %i", noLoopback),
  plot("network.interface.in.drops", "in drops %i", noLoopback),
  plot("network.interface.out.drops", "out drops %i", noLoopback),
]);
const pressure = chart(
  "Pressure, % of the last 10 s",
  "line",
  [
    plot("kernel.all.pressure.cpu.some.avg", "processors", { match: "^10", optional: true }),
    plot("kernel.all.pressure.memory.some.avg", "memory", { match: "^10", optional: true }),
    plot("kernel.all.pressure.io.some.avg", "disks", { match: "^10", optional: true }),
  ],
  { min: 0 },
);

export const overview: Dashboard = {
  title: "Overview",
  panels: [
    cpu,
    load,
    memory,
    diskBytes,
    net,
    pressure,
  ],
};

// A Column of a table has the sum of some metrics, or if they have no values that of others.
export interface Column {
  key: string;
  title: string;
  hint?: string;
  metrics: string[];
  or?: string[];
  age?: boolean; // how long ago a process began
  count?: boolean; // how many processes are in a row
  never?: string; // why there may be no value at all
  seldom?: string; // why an instance may have none
}

// A Subject is what a table is about.
export interface Subject {
  key: string;
  title: string;
  of: string; // what an instance is
  columns: Column[];
  plural?: string; // of of
  detail?: boolean; // they are processes
  pairs?: boolean; // instances may have the name of a device after them, as "/a::sda"
  by?: "user" | "container"; // a row has what belongs to one: processes of a user, the control group of a container
  needs?: string[]; // metrics that are texts about an instance
  guarded?: boolean; // collectors show them only to users that they know
}

// byProcess are the metrics that describe a process.
export const byProcess = { args: "proc.psinfo.psargs", user: "proc.id.uid_nm", start: "proc.psinfo.start_time", up: "kernel.all.uptime" };

// byContainer are those of a container.
export const byContainer = { name: "containers.name", group: "containers.cgroup", engine: "containers.engine" };

const ownIO = "the kernel shows the disk traffic of a process only to its user and to root.";
const noController = "the kernel does not count it for this group: its controller is not enabled there, or it is the root group.";

const groupColumns: Column[] = [
  { key: "cpu", title: "CPU", metrics: ["cgroup.cpu.stat.usage"], or: ["cgroup.cpuacct.usage"], seldom: noController, never: noController },
  { key: "memory", title: "Memory", metrics: ["cgroup.memory.current"], or: ["cgroup.memory.usage"], seldom: noController, never: "the controller “memory” is not enabled on this host" },
  { key: "read", title: "Read", metrics: ["cgroup.io.stat.rbytes"], or: ["cgroup.blkio.all.io_service_bytes.read"], seldom: noController, never: "the controller “io” is not enabled on this host, or no group used a disk" },
  { key: "write", title: "Written", metrics: ["cgroup.io.stat.wbytes"], or: ["cgroup.blkio.all.io_service_bytes.write"], seldom: noController, never: "the controller “io” is not enabled on this host, or no group used a disk" },
];

export const tables: Subject[] = [
  {
    key: "process",
    title: "Processes",
    of: "process",
    plural: "processes",
    needs: Object.values(byProcess),
    detail: true,
    guarded: true,
    columns: [
      { key: "cpu", title: "CPU", hint: "Processor time, 100 % is one processor", metrics: ["proc.psinfo.utime", "proc.psinfo.stime"] },
      { key: "memory", title: "Memory", hint: "Resident memory", metrics: ["proc.psinfo.rss"] },
      { key: "read", title: "Read", hint: "Read from disks", metrics: ["proc.io.read_bytes"], never: ownIO, seldom: ownIO },
      { key: "write", title: "Written", hint: "Written to disks", metrics: ["proc.io.write_bytes"], never: ownIO, seldom: ownIO },
      { key: "threads", title: "Threads", metrics: ["proc.psinfo.threads"] },
      { key: "age", title: "Age", hint: "Time since it began", metrics: [], age: true },
      { key: "faults", title: "Faults", hint: "Page faults, of any kind", metrics: ["proc.psinfo.minflt", "proc.psinfo.maj_flt"] },
    ],
  },
  {
    key: "container",
    title: "Containers",
    of: "container",
    by: "container",
    pairs: true,
    needs: Object.values(byContainer),
    guarded: true,
    columns: groupColumns,
  },
  {
    key: "cgroup",
    title: "Control groups",
    of: "control group",
    pairs: true,
    guarded: true,
    columns: groupColumns,
  },
  {
    key: "user",
    title: "Users",
    of: "user",
    by: "user",
    needs: [byProcess.user],
    guarded: true,
    columns: [
      { key: "cpu", title: "CPU", hint: "Processor time of all their processes, 100 % is one processor", metrics: ["proc.psinfo.utime", "proc.psinfo.stime"] },
      { key: "memory", title: "Memory", hint: "Resident memory of all their processes; what they share counts in each", metrics: ["proc.psinfo.rss"] },
      { key: "read", title: "Read", hint: "Read from disks", metrics: ["proc.io.read_bytes"], never: ownIO, seldom: ownIO },
      { key: "write", title: "Written", hint: "Written to disks", metrics: ["proc.io.write_bytes"], never: ownIO, seldom: ownIO },
      { key: "threads", title: "Threads", metrics: ["proc.psinfo.threads"] },
      { key: "processes", title: "Processes", metrics: [], count: true },
    ],
  },
  {
    key: "disk",
    title: "Disks",
    of: "disk",
    columns: [
      { key: "read", title: "Read", metrics: ["disk.dev.read_bytes"] },
      { key: "write", title: "Written", metrics: ["disk.dev.write_bytes"] },
      { key: "reads", title: "Reads", metrics: ["disk.dev.read"] },
      { key: "writes", title: "Writes", metrics: ["disk.dev.write"] },
      { key: "busy", title: "Busy", metrics: ["disk.dev.avactive"] },
    ],
  },
  {
    key: "interface",
    title: "Network interfaces",
    of: "interface",
    columns: [
      { key: "in", title: "In", metrics: ["network.interface.in.bytes"] },
      { key: "out", title: "Out", metrics: ["network.interface.out.bytes"] },
      { key: "inpackets", title: "Packets in", metrics: ["network.interface.in.packets"] },
      { key: "outpackets", title: "Packets out", metrics: ["network.interface.out.packets"] },
      { key: "errors", title: "Errors, drops", metrics: ["network.interface.in.errors", "network.interface.out.errors", "network.interface.in.drops", "network.interface.out.drops"] },
    ],
  },
];

export const builtin: Dashboard[] = [
  {
    title: "Processors",
    panels: [
      cpu,
      chart("Busy, by processor", "line", [plot("kernel.percpu.cpu.user", "%i user"), plot("kernel.percpu.cpu.sys", "%i system")], { min: 0 }),
      load,
      chart("Context switches and interrupts", "line", [plot("kernel.all.pswitch", "switches"), plot("kernel.all.intr", "interrupts")], { min: 0 }),
      chart("Tasks", "line", [plot("kernel.all.running", "running", { optional: true }), plot("kernel.all.blocked", "blocked", { optional: true })], { min: 0 }),
      pressure,
    ],
  },
  {
    title: "Memory",
    panels: [
      memory,
      chart("Available", "area", [plot("mem.util.available", "available")], { min: 0 }),
      chart("Swap space", "stack", [plot("swap.used", "used"), plot("swap.free", "free")], { min: 0 }),
      chart("Paging", "line", [plot("swap.pagesin", "in"), plot("swap.pagesout", "out")], { min: 0 }),
      chart("Page faults", "line", [plot("mem.vmstat.pgfault", "all"), plot("mem.vmstat.pgmajfault", "major")], { min: 0 }),
      chart("Kernel memory", "stack", [plot("mem.util.slab", "slab"), plot("mem.util.pageTables", "page tables"), plot("mem.util.kernelStack", "stacks")], { min: 0 }),
    ],
  },
  {
    title: "Disks",
    panels: [
      diskBytes,
      diskOps,
      diskBusy,
      chart("Reads, by disk", "line", [plot("disk.dev.read_bytes", "%i")], { min: 0 }),
      chart("Writes, by disk", "line", [plot("disk.dev.write_bytes", "%i")], { min: 0 }),
      chart("File systems full, %", "line", [plot("filesys.full", "%I")], { min: 0 }),
    ],
  },
  { title: "Network", panels: [net, packets, netErrors, chart("TCP", "line", [plot("network.tcp.insegs", "segments in"), plot("network.tcp.outsegs", "segments out"), plot("network.tcp.retranssegs", "sent again")], { min: 0 }), chart("TCP connections", "line", [plot("network.tcp.currestab", "established")], { min: 0 })] },
  {
    title: "Collector",
    panels: [
      chart("Requests and answers", "line", [plot("pmcd.pdu_in.total", "in"), plot("pmcd.pdu_out.total", "out")], { min: 0 }),
      chart("CPU of agents", "stack", [plot("pmcd.cputime.total", "all"), plot("pmcd.cputime.per_pdu_in", "per request", { optional: true })], { min: 0 }),
      chart("Rules of pmie that are true", "bar", [plot("pmcd.pmie.eval.true", "%i", { optional: true }), plot("pmcd.pmie.actions", "actions %i", { optional: true })], { min: 0 }),
    ],
  },
];
