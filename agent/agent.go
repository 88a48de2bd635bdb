package agent

import (
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/amdgpu"
	"github.com/go-pcp/pcp/internal/agent/apache"
	"github.com/go-pcp/pcp/internal/agent/bonding"
	"github.com/go-pcp/pcp/internal/agent/btrfs"
	"github.com/go-pcp/pcp/internal/agent/chrony"
	"github.com/go-pcp/pcp/internal/agent/cifs"
	"github.com/go-pcp/pcp/internal/agent/denki"
	"github.com/go-pcp/pcp/internal/agent/dm"
	"github.com/go-pcp/pcp/internal/agent/drm"
	"github.com/go-pcp/pcp/internal/agent/elasticsearch"
	"github.com/go-pcp/pcp/internal/agent/haproxy"
	"github.com/go-pcp/pcp/internal/agent/infiniband"
	"github.com/go-pcp/pcp/internal/agent/jbd2"
	"github.com/go-pcp/pcp/internal/agent/kvm"
	"github.com/go-pcp/pcp/internal/agent/linux"
	"github.com/go-pcp/pcp/internal/agent/lmsensors"
	"github.com/go-pcp/pcp/internal/agent/memcache"
	"github.com/go-pcp/pcp/internal/agent/mmv"
	"github.com/go-pcp/pcp/internal/agent/mysql"
	"github.com/go-pcp/pcp/internal/agent/nfsclient"
	"github.com/go-pcp/pcp/internal/agent/nginx"
	"github.com/go-pcp/pcp/internal/agent/nvidia"
	"github.com/go-pcp/pcp/internal/agent/openmetrics"
	"github.com/go-pcp/pcp/internal/agent/opentelemetry"
	"github.com/go-pcp/pcp/internal/agent/perfevent"
	"github.com/go-pcp/pcp/internal/agent/pmcd"
	"github.com/go-pcp/pcp/internal/agent/pmimport"
	"github.com/go-pcp/pcp/internal/agent/postfix"
	"github.com/go-pcp/pcp/internal/agent/postgresql"
	"github.com/go-pcp/pcp/internal/agent/proc"
	"github.com/go-pcp/pcp/internal/agent/rabbitmq"
	"github.com/go-pcp/pcp/internal/agent/redis"
	"github.com/go-pcp/pcp/internal/agent/resctrl"
	"github.com/go-pcp/pcp/internal/agent/sample"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/internal/agent/smart"
	"github.com/go-pcp/pcp/internal/agent/sockets"
	"github.com/go-pcp/pcp/internal/agent/statsd"
	"github.com/go-pcp/pcp/internal/agent/trace"
	"github.com/go-pcp/pcp/internal/agent/trivial"
	"github.com/go-pcp/pcp/internal/agent/txmon"
	"github.com/go-pcp/pcp/internal/agent/xfs"
	"github.com/go-pcp/pcp/internal/agent/zfs"
)

// Builtins returns the table.
func Builtins() []builtin.Spec {
	return []builtin.Spec{
		pmcd.Builtin(),
		linux.Builtin(),
		proc.Builtin(),
		xfs.Builtin(),
		kvm.Builtin(),
		jbd2.Builtin(),
		mmv.Builtin(),
		mmv.BuiltinProxy(),
		nfsclient.Builtin(),
		bonding.Builtin(),
		dm.Builtin(),
		sockets.Builtin(),
		openmetrics.Builtin(),
		opentelemetry.Builtin(),
		pmimport.Builtin(),
		smart.Builtin(),
		amdgpu.Builtin(),
		redis.Builtin(),
		redis.BuiltinValkey(),
		nginx.Builtin(),
		apache.Builtin(),
		haproxy.Builtin(),
		memcache.Builtin(),
		drm.Builtin(),
		nvidia.Builtin(),
		lmsensors.Builtin(),
		denki.Builtin(),
		postgresql.Builtin(),
		mysql.Builtin(),
		chrony.Builtin(),
		rabbitmq.Builtin(),
		postfix.Builtin(),
		elasticsearch.Builtin(),
		zfs.Builtin(),
		btrfs.Builtin(),
		cifs.Builtin(),
		infiniband.Builtin(),
		resctrl.Builtin(),
		perfevent.Builtin(),
		sample.Builtin(),
		simple.Builtin(),
		trace.Builtin(),
		statsd.Builtin(),
		txmon.Builtin(),
		trivial.Builtin(),
	}
}

// Named returns the agent called name.
func Named(name string) (builtin.Spec, bool) {
	for _, b := range Builtins() {
		if b.Name == name {
			return b, true
		}
	}
	return builtin.Spec{}, false
}

// ForDSO returns the agent that replaces a shared object of the C implementation, as a
// dso line of pmcd.conf names it. The entry point counts first, as a file can have
// several: pmproxy_init of pmda_mmv.so is pmproxy. Otherwise the name of the file
// decides, not the label: /.../pmda_linux.so is linux. A path may also be just the name
// of an agent.
func ForDSO(entry, path string) (builtin.Spec, bool) {
	if b, ok := Named(strings.TrimSuffix(entry, "_init")); ok {
		return b, true
	}
	name := strings.TrimPrefix(filepath.Base(path), "pmda_")
	for _, suffix := range []string{".so", ".dylib", ".dll"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return Named(name)
}
