package ieconf

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pcp "github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
)

// A source is a metric of a made-up host, as the agents have it.
type source struct {
	units   string
	counter bool
	insts   []string
	quiet   float64 // the value, or for a counter the rate, in normal operation
}

var (
	cpus   = []string{"cpu0", "cpu1", "cpu2", "cpu3"}
	disks  = []string{"sda", "sdb"}
	mounts = []string{"/dev/sda1", "/dev/sdb1"}
	nics   = []string{"eth0", "eth1"}
	loads  = []string{"1 minute", "5 minute", "15 minute"}
	stalls = []string{"10 second", "1 minute", "5 minute"}

	sensors = []string{"coretemp-isa-0000:Package_id_0", "acpitz-acpi-0:temp1"}
	cards   = []string{"gpu0", "gpu1"}
)

var host = map[string]source{
	"hinv.ncpu": {quiet: 4}, "kernel.all.load": {insts: loads, quiet: 1},
	"kernel.all.cpu.user": {"millisec", true, nil, 500}, "kernel.all.cpu.sys": {"millisec", true, nil, 200}, "kernel.all.cpu.intr": {"millisec", true, nil, 10},
	"kernel.all.cpu.wait.total": {"millisec", true, nil, 100}, "kernel.all.cpu.steal": {"millisec", true, nil, 0}, "kernel.all.pswitch": {"count", true, nil, 3000},
	"kernel.percpu.cpu.idle": {"millisec", true, cpus, 700}, "kernel.percpu.cpu.irq.soft": {"millisec", true, cpus, 20},
	"mem.physmem": {"Kbyte", false, nil, 8e6}, "mem.util.available": {"Kbyte", false, nil, 4e6}, "swap.pagesout": {"count", true, nil, 0},
	"swap.length": {"byte", false, nil, 1e9}, "swap.free": {"byte", false, nil, 9e8}, "mem.vmstat.oom_kill": {"count", true, nil, 0},
	"mem.vmstat.allocstall_normal": {"count", true, nil, 1}, "mem.vmstat.allocstall_movable": {"count", true, nil, 1},
	"kernel.all.pressure.cpu.some.avg": {"", false, stalls, 5}, "kernel.all.pressure.memory.some.avg": {"", false, stalls, 1}, "kernel.all.pressure.memory.full.avg": {"", false, stalls, 0},
	"kernel.all.pressure.io.some.avg": {"", false, stalls, 5}, "kernel.all.pressure.io.full.avg": {"", false, stalls, 2},
	"filesys.full": {"", false, mounts, 80}, "filesys.avail": {"Kbyte", false, mounts, 1e6}, "filesys.usedfiles": {"", false, mounts, 100}, "filesys.maxfiles": {"", false, mounts, 1000},
	"vfs.files.count": {quiet: 1000}, "vfs.files.max": {quiet: 100000},
	"disk.dev.avactive": {"millisec", true, disks, 100}, "disk.dev.aveq": {"millisec", true, disks, 500}, "disk.dev.total": {"count", true, disks, 50}, "disk.dev.total_rawactive": {"millisec", true, disks, 500},
	"disk.md.status":              {"", false, []string{"md0"}, 0},
	"network.interface.in.errors": {"count", true, nics, 0}, "network.interface.out.errors": {"count", true, nics, 0}, "network.interface.in.drops": {"count", true, nics, 1}, "network.interface.out.drops": {"count", true, nics, 1},
	"network.interface.in.bytes": {"byte", true, nics, 1e6}, "network.interface.out.bytes": {"byte", true, nics, 1e6}, "network.interface.baudrate": {"byte / sec", false, nics, 125e6},
	"network.tcp.retranssegs": {"count", true, nil, 1}, "network.tcp.outsegs": {"count", true, nil, 1000}, "network.tcp.listenoverflows": {"count", true, nil, 0}, "network.tcp.reqqfulldrop": {"count", true, nil, 0},
	"network.udp.recvbuferrors": {"count", true, nil, 0}, "network.softnet.dropped": {"count", true, nil, 0},
	"kernel.all.nprocs": {quiet: 300}, "kernel.all.pid_max": {quiet: 32768}, "kernel.all.blocked": {quiet: 1}, "proc.runq.defunct": {"count", false, nil, 1}, "kernel.all.uptime": {"sec", false, nil, 1e6},
	"pmcd.agent.status": {"", false, []string{"linux", "proc"}, 0}, "pmcd.agent.fenced": {"", false, []string{"linux", "proc"}, 0},
	"pmcd.pmie.eval.unknown": {"count", true, []string{"123"}, 0}, "pmcd.pmie.eval.actual": {"count", true, []string{"123"}, 10},
	"apache.idle_servers": {quiet: 5}, "elasticsearch.cluster.status.code": {quiet: 0}, "haproxy.stat.qcur": {"count", false, disks, 1},
	"mysql.status.threads_connected": {"count", false, nil, 10}, "mysql.variables.max_connections": {"count", false, nil, 100},
	"nginx.accepts_count": {"count", true, nil, 100}, "nginx.handled_count": {"count", true, nil, 100}, "postfix.queues.deferred": {"count", false, []string{"total", "0-5 mins"}, 10},
	"postgresql.stat.database.xact_rollback": {"count", true, []string{"postgres"}, 1}, "rabbitmq.queue.messages_ready": {"count", false, []string{"work"}, 10},
	"valkey.stats.evicted_keys": {"count", true, nil, 0}, "infiniband.port.total.errors.link": {"count", true, []string{"mlx5_0:1"}, 0},
	"redis.evicted_keys": {"count", true, []string{"localhost:6379"}, 0}, "zfs.pool.state": {"count", false, []string{"tank"}, 1},
	"btrfs.device.write_errs": {"count", true, disks, 0}, "btrfs.device.read_errs": {"count", true, disks, 0}, "btrfs.device.corruption_errs": {"count", true, disks, 0},
	"memcache.gets": {"count", true, []string{"localhost:11211"}, 100}, "memcache.misses": {"count", true, []string{"localhost:11211"}, 20},
	"chrony.tracking.stratum": {quiet: 3}, "chrony.tracking.sys_time_off": {"sec", false, nil, 0.01},
	"lmsensors.temperature.input": {"temperature (C)", false, sensors, 60},
	"denki.bat.capacity":          {"", false, []string{"battery-0"}, 60}, "nvidia.temperature": {"temperature (C)", false, cards, 60}, "amdgpu.gpu.temperature": {"temperature (C)", false, cards, 60},
	"nvidia.memused": {"byte", false, cards, 1e9}, "nvidia.memtotal": {"byte", false, cards, 8e9}, "amdgpu.memory.used": {"byte", false, cards, 1e9}, "amdgpu.memory.total": {"byte", false, cards, 8e9},
	"bpf.runq.time": {"nanosec", true, nil, 2e9}, "bpf.tcp.connect.failed": {"count", true, nil, 1},
	"kernel.all.entropy.avail": {quiet: 256}, "hinv.cpu.thermal_throttle.core.count": {"count", true, cpus, 0},
}

// loud has the faults for each rule: the value, or the rate, of metrics, for the first instance if they have some.
// The value of a metric that is less than 0 falls: from a million, by as much a second.
var loud = map[string]map[string]float64{
	"cpu.load_average": {"kernel.all.load": 13}, "cpu.util": {"kernel.all.cpu.user": 3700}, "cpu.system": {"kernel.all.cpu.sys": 2500}, "cpu.iowait": {"kernel.all.cpu.wait.total": 2500},
	"cpu.steal": {"kernel.all.cpu.steal": 1000}, "cpu.context_switch": {"kernel.all.pswitch": 90000}, "per_cpu.some_util": {"kernel.percpu.cpu.idle": 5}, "per_cpu.softirq": {"kernel.percpu.cpu.irq.soft": 900},
	"memory.exhausted": {"mem.util.available": 1e5}, "memory.paging": {"swap.pagesout": 60}, "memory.swap_low": {"swap.free": 5e7}, "memory.oom_kill": {"mem.vmstat.oom_kill": 0.01},
	"memory.reclaim": {"mem.vmstat.allocstall_movable": 150}, "pressure.cpu": {"kernel.all.pressure.cpu.some.avg": 70}, "pressure.memory": {"kernel.all.pressure.memory.some.avg": 25},
	"pressure.memory_full": {"kernel.all.pressure.memory.full.avg": 6}, "pressure.io": {"kernel.all.pressure.io.some.avg": 70}, "pressure.io_full": {"kernel.all.pressure.io.full.avg": 50},
	"filesys.filling": {"filesys.full": 96}, "filesys.filling_soon": {"filesys.avail": -100}, "filesys.inodes": {"filesys.usedfiles": 970}, "filesys.vfs_files": {"vfs.files.count": 90000},
	"per_disk.util": {"disk.dev.avactive": 990, "disk.dev.aveq": 6000}, "per_disk.average_wait_time": {"disk.dev.total_rawactive": 15000}, "per_disk.average_queue_length": {"disk.dev.aveq": 60000},
	"raid.degraded": {"disk.md.status": 1}, "per_netif.errors": {"network.interface.out.errors": 2}, "per_netif.drops": {"network.interface.in.drops": 60}, "per_netif.util": {"network.interface.out.bytes": 120e6},
	"network.tcp_retransmits": {"network.tcp.retranssegs": 60}, "network.tcplistenoverflows": {"network.tcp.listenoverflows": 0.1}, "network.tcpqfulldrops": {"network.tcp.reqqfulldrop": 0.1},
	"network.udp_overflows": {"network.udp.recvbuferrors": 20}, "network.softnet_drops": {"network.softnet.dropped": 5}, "process.table_full": {"kernel.all.nprocs": 30000}, "process.blocked": {"kernel.all.blocked": 30},
	"process.zombies": {"proc.runq.defunct": 200}, "system.restarted": {"kernel.all.uptime": 100}, "primary.pmda_status": {"pmcd.agent.status": -12366}, "primary.pmda_fenced": {"pmcd.agent.fenced": 1},
	"primary.unknown_rules": {"pmcd.pmie.eval.unknown": 8}, "entropy.available": {"kernel.all.entropy.avail": 10}, "service.apache_full": {"apache.idle_servers": 0},
	"service.elasticsearch_red": {"elasticsearch.cluster.status.code": 2}, "service.haproxy_queue": {"haproxy.stat.qcur": 20}, "service.mysql_connections": {"mysql.status.threads_connected": 95},
	"service.nginx_dropped": {"nginx.handled_count": 90}, "service.postfix_deferred": {"postfix.queues.deferred": 5000}, "service.postgresql_rollbacks": {"postgresql.stat.database.xact_rollback": 20},
	"service.rabbitmq_backlog": {"rabbitmq.queue.messages_ready": 20000}, "service.redis_evictions": {"redis.evicted_keys": 200}, "filesys.zfs_pool": {"zfs.pool.state": 2},
	"service.memcache_misses": {"memcache.misses": 90}, "service.chrony_unsynchronized": {"chrony.tracking.stratum": 0}, "service.chrony_offset": {"chrony.tracking.sys_time_off": 0.5},
	"power.temperature": {"lmsensors.temperature.input": 98}, "power.battery": {"denki.bat.capacity": 5},
	"gpu.nvidia_temperature": {"nvidia.temperature": 95}, "gpu.amdgpu_temperature": {"amdgpu.gpu.temperature": 95},
	"gpu.nvidia_memory": {"nvidia.memused": 7.9e9}, "gpu.amdgpu_memory": {"amdgpu.memory.used": 7.9e9}, "cpu.run_queue": {"bpf.runq.time": 6e9}, "network.connect_failures": {"bpf.tcp.connect.failed": 20},
	"service.valkey_evictions": {"valkey.stats.evicted_keys": 200}, "network.infiniband_link": {"infiniband.port.total.errors.link": 0.1},
	"filesys.btrfs_errors": {"btrfs.device.corruption_errs": 0.1}, "power.thermal_throttle": {"hinv.cpu.thermal_throttle.core.count": 0.1},
}

// record makes an archive of half an hour.
func record(t *testing.T, wrong map[string]float64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(path, importer.Options{Host: "somehost", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	type series struct {
		source
		handles []importer.Handle
		wrong   *float64
	}
	var all []series
	for name, s := range host {
		spec := importer.Spec{Type: pcp.TypeDouble}
		if s.units != "" {
			u, _, err := pcp.ParseUnits(s.units)
			if err != nil {
				t.Fatal(err)
			}
			spec.Units = u
		}
		if s.counter {
			spec.Sem = pcp.SemCounter
		}
		if s.insts != nil {
			spec.InDom = im.NewInDom()
		}
		m, err := im.NewMetric(name, spec)
		if err != nil {
			t.Fatal(err)
		}
		one := series{source: s, handles: []importer.Handle{m.Handle}}
		if s.insts != nil {
			one.handles = nil
			for _, inst := range s.insts {
				h, err := m.Instance(inst)
				if err != nil {
					t.Fatal(err)
				}
				one.handles = append(one.handles, h)
			}
		}
		if v, ok := wrong[name]; ok {
			one.wrong = &v
			if strings.HasPrefix(name, "kernel.all.pressure.") { // the rules read the average of a minute
				one.handles[0], one.handles[1] = one.handles[1], one.handles[0]
			}
		}
		all = append(all, one)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for sec := 0; sec <= 1800; sec += 60 {
		for _, s := range all {
			for i, h := range s.handles {
				v := s.quiet
				if s.wrong != nil && i == 0 {
					v = *s.wrong
				}
				switch {
				case s.counter:
					v *= float64(sec)
				case v < 0 && v > -1000:
					v = 1e6 + v*float64(sec)
				}
				if err := h.PutDouble(v); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := im.Write(start.Add(time.Duration(sec) * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	return path
}

// evaluate returns the output of the rules for an archive.
func evaluate(t *testing.T, path string, conf []byte) string {
	t.Helper()
	var out, errs bytes.Buffer
	e, err := pmie.New(t.Context(), pmie.Config{Archives: []string{path}, Out: &out, Err: &errs, Zone: time.UTC, Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Load(t.Context(), bytes.NewReader(conf), "conf"); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if errs.Len() > 0 {
		t.Errorf("messages: %s", errs.String())
	}
	return out.String()
}

// TestRulesFire evaluates each built-in rule over an archive in which it must fire, and all of them over a quiet
// one.
func TestRulesFire(t *testing.T) {
	s, err := Builtin(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Rules() {
		if err := s.Modify(r, "enabled", "yes"); err != nil {
			t.Fatal(err)
		}
	}
	conf, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if out := evaluate(t, record(t, nil), conf); out != "" {
		t.Errorf("on a quiet host:\n%s", out)
	}
	for _, r := range s.Rules() {
		wrong := loud[r.Name]
		if wrong == nil {
			t.Errorf("%s: no archive makes it fire", r.Name)
			continue
		}
		what, ok := s.Summary(r)
		if out := evaluate(t, record(t, wrong), conf); !ok || !strings.Contains(out, ": "+what) {
			t.Errorf("%s does nothing with %v; others:\n%s", r.Name, wrong, out)
		}
	}
	if len(loud) != len(s.Rules()) {
		t.Errorf("%d archives for %d rules", len(loud), len(s.Rules()))
	}
}
