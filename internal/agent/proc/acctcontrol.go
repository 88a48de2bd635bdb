package proc

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// acctControls are the metrics by which root configures accounting.
var acctControls = [...]control{
	{
		name: "acct.control.open_retry_interval", cluster: acctCluster, item: 23, kind: pcp.TypeU32, sem: discrete, units: sec, forRoot: true,
		help:  "Seconds to wait before accounting is tried again after that has failed",
		long:  "It counts from a failure to switch accounting on. The file of the system is\nlooked for at each fetch. Only root may store.",
		value: func(a *Agent, _ *pmda.Client) pcp.Value { return pcp.Uint32Value(a.machine.acct.get().retry) },
		store: func(a *Agent, _ *pmda.Client, v pcp.Value) error {
			a.machine.acct.change(func(s *acctSettings) { s.retry = v.As(pcp.TypeU32).Uint32() })
			return nil
		},
	},
	{
		name: "acct.control.check_acct_interval", cluster: acctCluster, item: 24, kind: pcp.TypeU32, sem: discrete, units: sec, forRoot: true,
		help:  "Seconds after which it is checked whether records are still written",
		long:  "The agent lets a process of its own end and checks whether the file grows. If\nit does not, the file is opened again. Only root may store.",
		value: func(a *Agent, _ *pmda.Client) pcp.Value { return pcp.Uint32Value(a.machine.acct.get().check) },
		store: func(a *Agent, _ *pmda.Client, v pcp.Value) error {
			a.machine.acct.change(func(s *acctSettings) { s.check = v.As(pcp.TypeU32).Uint32() })
			return nil
		},
	},
	{
		name: "acct.control.file_size_threshold", cluster: acctCluster, item: 25, kind: pcp.TypeU64, sem: discrete, units: byteUnit, forRoot: true,
		help:  "Size above which the agent's own file is replaced by a new one",
		long:  "Bytes. It holds only for the file for which the agent itself has switched\naccounting on, not for that of the system. Only root may store.",
		value: func(a *Agent, _ *pmda.Client) pcp.Value { return pcp.Uint64Value(a.machine.acct.get().threshold) },
		store: func(a *Agent, _ *pmda.Client, v pcp.Value) error {
			a.machine.acct.change(func(s *acctSettings) { s.threshold = v.As(pcp.TypeU64).Uint64() })
			return nil
		},
	},
	{
		name: "acct.control.lifetime", cluster: acctCluster, item: 26, kind: pcp.TypeU32, sem: discrete, units: sec, forRoot: true,
		help:  "Seconds for which a process is shown after its end",
		long:  "Of processes that ended longer ago nothing is kept, and at most of 5,000\nanything. Only root may store.",
		value: func(a *Agent, _ *pmda.Client) pcp.Value { return pcp.Uint32Value(a.machine.acct.get().lifetime) },
		store: func(a *Agent, _ *pmda.Client, v pcp.Value) error {
			a.machine.acct.change(func(s *acctSettings) { s.lifetime = v.As(pcp.TypeU32).Uint32() })
			return nil
		},
	},
	{
		name: "acct.control.refresh", cluster: acctCluster, item: 27, kind: pcp.TypeU32, sem: discrete, units: sec, forRoot: true,
		help:  "Seconds after which the size of the agent's own file is checked",
		long:  "A file larger than acct.control.file_size_threshold is then removed and a new\none begun. Only root may store, and not 0.",
		value: func(a *Agent, _ *pmda.Client) pcp.Value { return pcp.Uint32Value(a.machine.acct.get().interval) },
		store: func(a *Agent, _ *pmda.Client, v pcp.Value) error {
			n := v.As(pcp.TypeU32).Uint32()
			if n == 0 {
				return pcp.ErrPermission
			}
			a.machine.acct.change(func(s *acctSettings) { s.interval = n })
			a.machine.acct.restart()
			return nil
		},
	},
	{
		name: "acct.control.enable_acct", cluster: acctCluster, item: 28, kind: pcp.TypeU32, sem: discrete, forRoot: true,
		help:  "Whether the agent may switch process accounting on, with a file of its own",
		long:  "With 1 the agent switches process accounting on, into the file pmcd/pacct in\nPCP's variable directory, unless the system writes to PCP_PACCT_SYSTEM_PATH. It\nis switched off and the file removed when 0 is stored or the agent ends. The\nkernel has one such file: accounting into another ends. Where the kernel\nrefuses, the store succeeds and there are no values. Only root may store.",
		value: func(a *Agent, _ *pmda.Client) pcp.Value { return pcp.Uint32Value(a.machine.acct.get().enabled) },
		store: func(a *Agent, _ *pmda.Client, v pcp.Value) error {
			was, n := a.machine.acct.get().enabled, v.As(pcp.TypeU32).Uint32()
			a.machine.acct.change(func(s *acctSettings) { s.enabled = n })
			if (was == 0) != (n == 0) {
				a.machine.acct.restart()
			}
			return nil
		},
	},
}

func (c *accounting) get() acctSettings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settings
}

func (c *accounting) change(fn func(s *acctSettings)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(&c.settings)
}

// restart closes the file and opens the file that the settings now select.
func (c *accounting) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reopen()
}
