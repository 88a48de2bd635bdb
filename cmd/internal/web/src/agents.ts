// Dashboards for what only some hosts have: GPUs, file systems, sensors, services. Each is offered where its metrics have values.

import type { Dashboard, HeatPanel, Panel, Plot, Style, TablePanel } from "./dashboard";
import type { Feed } from "./feed";

// A Row of the table below is a chart: its title, its style, and its lines, each a metric and a legend.
// The values of the style "signed" may be negative.
type Row = [title: string, style: Style | "heat" | "table" | "signed", ...lines: [metric: string, legend?: string][]];

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
  PostgreSQL: [
    ["Sessions", "stack", ["postgresql.stat.database.numbackends", "%I"]],
    ["Transactions", "line", ["postgresql.stat.database.xact_commit", "committed %I"], ["postgresql.stat.database.xact_rollback", "rolled back %I"]],
    ["Rows changed", "line", ["postgresql.stat.database.tup_inserted", "inserted %I"], ["postgresql.stat.database.tup_updated", "updated %I"], ["postgresql.stat.database.tup_deleted", "deleted %I"]],
    ["Blocks", "line", ["postgresql.stat.database.blks_hit", "from the cache %I"], ["postgresql.stat.database.blks_read", "from disk %I"]],
    ["Rows read by sequential scans", "line", ["postgresql.stat.user_tables.seq_tup_read", "%I"]],
  ],
  "MySQL and MariaDB": [
    ["Clients", "line", ["mysql.status.threads_connected", "connected"], ["mysql.status.threads_running", "running"]],
    ["Statements", "line", ["mysql.status.com_select", "select"], ["mysql.status.com_insert", "insert"], ["mysql.status.com_update", "update"], ["mysql.status.com_delete", "delete"]],
    ["Slow queries", "line", ["mysql.status.slow_queries", "slow"]],
    ["Reads of InnoDB's pages", "line", ["mysql.status.innodb_buffer_pool_read_requests", "all"], ["mysql.status.innodb_buffer_pool_reads", "from disk"]],
    ["Time of waiting for row locks", "line", ["mysql.status.innodb_row_lock_time", "waiting"]],
    ["Traffic", "area", ["mysql.status.bytes_received", "received"], ["mysql.status.bytes_sent", "sent"]],
  ],
  Redis: [
    ["Clients", "line", ["redis.connected_clients", "connected %I"], ["redis.blocked_clients", "blocked %I"]],
    ["Commands", "line", ["redis.total_commands_processed", "%I"]],
    ["Memory in use, bytes", "area", ["redis.used_memory", "%I"]],
    ["Reads of keys", "line", ["redis.keyspace_hits", "found %I"], ["redis.keyspace_misses", "missing %I"]],
    ["Keys removed", "line", ["redis.expired_keys", "expired %I"], ["redis.evicted_keys", "for lack of memory %I"]],
  ],
  Valkey: [
    ["Clients", "line", ["valkey.clients.connected", "connected"], ["valkey.clients.blocked", "blocked"]],
    ["Commands", "line", ["valkey.stats.total_commands", "commands"]],
    ["Memory in use", "area", ["valkey.memory.used", "in use"], ["valkey.memory.used_rss", "resident"]],
    ["Reads of keys", "line", ["valkey.stats.keyspace_hits", "found"], ["valkey.stats.keyspace_misses", "missing"]],
    ["Keys removed", "line", ["valkey.stats.expired_keys", "expired"], ["valkey.stats.evicted_keys", "for lack of memory"]],
  ],
  Memcached: [
    ["Reads of items", "line", ["memcache.hits", "found %I"], ["memcache.misses", "missing %I"]],
    ["Writes of items", "line", ["memcache.sets", "%I"]],
    ["Memory of the items", "area", ["memcache.bytes", "%I"]],
    ["Connections", "line", ["memcache.current_connections", "%I"]],
  ],
  nginx: [
    ["Requests", "line", ["nginx.requests_count", "requests"]],
    ["Connections", "stack", ["nginx.reading", "reading"], ["nginx.writing", "writing"], ["nginx.waiting", "idle"]],
    ["Connections accepted and handled", "line", ["nginx.accepts_count", "accepted"], ["nginx.handled_count", "handled"]],
  ],
  Apache: [
    ["Requests", "line", ["apache.total_accesses", "requests"]],
    ["Traffic", "area", ["apache.total_kbytes", "sent"]],
    ["Workers", "stack", ["apache.busy_servers", "busy"], ["apache.idle_servers", "idle"]],
    ["Busy workers", "stack", ["apache.sb_reading", "reading"], ["apache.sb_writing_reply", "replying"], ["apache.sb_keepalive", "keeping a connection"], ["apache.sb_dns_lookup", "looking a name up"], ["apache.sb_closing", "closing"]],
  ],
  HAProxy: [
    ["HTTP requests", "line", ["haproxy.stat.req_tot", "%I"]],
    ["Sessions", "line", ["haproxy.stat.scur", "%I"]],
    ["Requests in the queue", "line", ["haproxy.stat.qcur", "%I"]],
    ["Errors", "line", ["haproxy.stat.hrsp_5xx", "status 5xx %I"], ["haproxy.stat.econ", "no connection %I"]],
    ["Traffic", "area", ["haproxy.stat.bin", "received %I"], ["haproxy.stat.bout", "sent %I"]],
    ["Average time to respond", "line", ["haproxy.stat.rtime", "%I"]],
  ],
  RabbitMQ: [
    ["Messages ready", "stack", ["rabbitmq.queue.messages_ready", "%I"]],
    ["Messages unacknowledged", "stack", ["rabbitmq.queue.messages_unacknowledged", "%I"]],
    ["Consumers", "line", ["rabbitmq.queue.consumers", "%I"]],
    ["Memory of queues", "area", ["rabbitmq.queue.memory", "%I"]],
  ],
  "Time (chrony)": [
    ["Offset of the system clock", "signed", ["chrony.tracking.sys_time_off", "now"], ["chrony.tracking.rms_off", "average"]],
    ["Distance to the reference clock", "line", ["chrony.tracking.root_delay", "delay"], ["chrony.tracking.root_disp", "dispersion"]],
    ["Offsets of sources", "signed", ["chrony.sourcestats.offset", "%I"]],
  ],
  "Caches of processors": [["Share of the last level caches in use", "stack", ["resctrl.llc.occupancy", "%I"]]],
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
  if (style === "signed") return { kind: "chart", title, style: "line", plots };
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
