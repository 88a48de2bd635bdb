// Dashboards for what only some hosts have: GPUs, file systems, sensors, services. Each is offered where its metrics have values.

import type { Dashboard, HeatPanel, Panel, Plot, Style, TablePanel } from "./dashboard";
import type { Feed } from "./feed";

// A Row of the table below is a chart: its title, its style, and its lines, each a metric and a legend.
type Row = [title: string, style: Style | "heat" | "table", ...lines: [metric: string, legend?: string][]];

const rows: Record<string, Row[]> = {
  GPUs: [
    ["NVIDIA: busy, %", "line", ["nvidia.gpuactive", "%I"]],
    ["NVIDIA: memory in use", "area", ["nvidia.memused", "%I"]],
    ["NVIDIA: power", "line", ["nvidia.power", "%I"]],
    ["NVIDIA: temperature", "line", ["nvidia.temperature", "%I"]],
    ["NVIDIA: processes", "table", ["nvidia.proc.memused", "memory"], ["nvidia.proc.gpuactive", "busy, %"], ["nvidia.proc.memactive", "memory busy, %"]],
    ["AMD: busy, %", "line", ["amdgpu.gpu.load", "%I"]],
    ["AMD: memory in use", "area", ["amdgpu.memory.used", "%I"]],
    ["AMD: power", "line", ["amdgpu.gpu.average_power", "%I"]],
    ["AMD: temperature", "line", ["amdgpu.gpu.temperature", "%I"]],
    ["Cards: busy, %", "line", ["drm.card.busy", "%I"]],
    ["Cards: engines", "line", ["drm.engine.time", "%I"]],
    ["Cards: memory in use", "area", ["drm.card.memory.used", "%I"]],
    ["Cards: processes", "table", ["drm.proc.time", "busy"], ["drm.proc.vram", "memory of the card"], ["drm.proc.memory", "all memory"]],
    ["Cards: containers", "table", ["drm.container.time", "busy"], ["drm.container.vram", "memory of the card"], ["drm.container.memory", "all memory"]],
  ],
  Latency: [
    ["Disk reads, by microseconds", "heat", ["bpf.disk.all.read.latency"]],
    ["Disk writes, by microseconds", "heat", ["bpf.disk.all.write.latency"]],
    ["Disk flushes, by microseconds", "heat", ["bpf.disk.all.flush.latency"]],
    ["TCP connects, by microseconds", "heat", ["bpf.tcp.connect.latency"]],
    ["Waiting for a processor", "line", ["bpf.runq.time", "all tasks"]],
    ["Programs started", "line", ["bpf.execsnoop.starts", "%I"]],
  ],
  ZFS: [
    ["Cache of ZFS", "line", ["zfs.arc.hits", "hits"], ["zfs.arc.misses", "misses"]],
    ["Size of the cache", "area", ["zfs.arc.size", "size"], ["zfs.arc.c", "target"], ["zfs.arc.c_max", "limit"]],
    ["Parts of the cache", "stack", ["zfs.arc.mru.size", "used recently"], ["zfs.arc.mfu.size", "used often"]],
  ],
  Btrfs: [
    ["Data in use", "area", ["btrfs.allocation.data.bytes_used", "%I"]],
    ["Metadata in use", "area", ["btrfs.allocation.metadata.bytes_used", "%I"]],
    ["Commits", "line", ["btrfs.commit.count", "%I"]],
    ["Time in commits", "line", ["btrfs.commit.total_time", "%I"]],
    ["Errors of devices", "line", ["btrfs.device.read_errs", "read %I"], ["btrfs.device.write_errs", "write %I"], ["btrfs.device.corruption_errs", "corruption %I"]],
  ],
  "SMB shares": [
    ["Requests since the mount, by share", "line", ["cifs.fs.smbs", "%I"]],
    ["Failed reads and writes since the mount", "line", ["cifs.fs.read_fails", "read %I"], ["cifs.fs.write_fails", "write %I"]],
    ["Operations under way", "line", ["cifs.vfs_operations", "file system"], ["cifs.mid_operations", "network"]],
    ["Reconnects since the start", "line", ["cifs.total_reconnects", "reconnects"]],
  ],
  InfiniBand: [
    ["Traffic of ports", "area", ["infiniband.port.in.bytes", "in %I"], ["infiniband.port.out.bytes", "out %I"]],
    ["Packets of ports", "line", ["infiniband.port.in.packets", "in %I"], ["infiniband.port.out.packets", "out %I"]],
    ["Packets dropped", "line", ["infiniband.port.in.errors.drop", "in %I"], ["infiniband.port.out.errors.drop", "out %I"]],
  ],
  Postfix: [
    ["Messages in queues", "line", ["postfix.queues.incoming", "incoming %I"], ["postfix.queues.active", "active %I"], ["postfix.queues.deferred", "deferred %I"], ["postfix.queues.hold", "held %I"]],
    ["Messages received", "line", ["postfix.received", "%I"]],
    ["Messages sent", "line", ["postfix.sent", "%I"]],
  ],
  Elasticsearch: [
    ["Shards", "stack", ["elasticsearch.cluster.active_shards", "active"], ["elasticsearch.cluster.relocating_shards", "relocating"], ["elasticsearch.cluster.initializing_shards", "initializing"], ["elasticsearch.cluster.unassigned_shards", "unassigned"]],
    ["Documents indexed", "line", ["elasticsearch.nodes.indices.indexing.index_total", "%I"]],
    ["Time of indexing", "line", ["elasticsearch.nodes.indices.indexing.index_time_in_millis", "%I"]],
    ["Size of indices", "area", ["elasticsearch.nodes.indices.store.size_in_bytes", "%I"]],
  ],
  Energy: [
    ["Power of processors", "line", ["denki.rapl.energy", "%I"]],
    ["Power of the battery", "line", ["denki.bat.power_now", "%I"]],
    ["Charge of the battery, %", "line", ["denki.bat.capacity", "%I"]],
    ["Power by process", "line", ["denki.proc.energy", "%I"]],
    ["Power by container", "line", ["denki.container.energy", "%I"]],
  ],
  Sensors: [
    ["Temperatures", "line", ["lmsensors.temperature.input", "%I"]],
    ["Fans", "line", ["lmsensors.fan.input", "%I"]],
    ["Voltages", "line", ["lmsensors.voltage.input", "%I"]],
    ["Power", "line", ["lmsensors.power.input", "%I"]],
  ],
};

const mostBuckets = 64; // of a histogram
const tableRows = 20;

function panelOf([title, style, ...lines]: Row): Panel {
  const plots = lines.map(([metric, legend]): Plot => ({ metric, ...(legend ? { legend } : {}), optional: true }));
  if (style === "heat") return { kind: "heat", title, buckets: true, top: mostBuckets, plots } satisfies HeatPanel;
  if (style === "table") return { kind: "table", title, rows: tableRows, plots } satisfies TablePanel;
  return { kind: "chart", title, style, min: 0, plots };
}

// offered returns the dashboards of which the host has values, without the panels of which it has none.
export async function offered(feed: Feed, signal: AbortSignal): Promise<Dashboard[]> {
  const names = Object.values(rows).flatMap((list) => list.map((r) => r[2][0]));
  const there = new Set<string>();
  if (feed.past) for (const m of await feed.recorded.describe(names)) there.add(m.name);
  else for (const [name, t] of await feed.live.read(names, null, signal)) if (t.series.size) there.add(name);
  return Object.entries(rows).flatMap(([title, list]): Dashboard[] => {
    const panels = list.filter((r) => there.has(r[2][0])).map(panelOf);
    return panels.length ? [{ title, panels }] : [];
  });
}
