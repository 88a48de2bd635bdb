package options

import (
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmns"
)

// definitions returns the derived metrics of all contexts. The first call loads
// those of the installation.
func (o *Sources) definitions() *derive.Set {
	log := o.opts.DebugLog()
	if o.derived == nil {
		cfg := o.config()
		// -D config shows settings that are read, and C does not read this one.
		seven := cfg.Named("PCP_COMPAT") && cfg.Get("PCP_COMPAT") == "7"
		o.derived = &derive.Set{Debug: log, Report: o.tell, Version7: seven}
		_ = o.derived.LoadInstalled(cfg) // mistakes have been reported
	}
	if o.derived.Debug != log {
		o.derived.Debug = log // -D came after an option that loaded definitions
	}
	return o.derived
}

// UseDerived gives a context the derived metrics, as the contexts have that o opens.
func (o *Sources) UseDerived(c *pmapi.Context) {
	if set := o.definitions(); set.Len() > 0 || set.Debug.On(debugname.Derive) {
		c.UseDerived(set, o.tell)
	}
}

// AddDerived adds the names of the derived metrics to a name space, except those that
// it already has.
func (o *Sources) AddDerived(t *pmns.Tree) {
	for d := range o.definitions().All() {
		_ = t.Add(d.Name, d.PMID)
	}
}

// LoadDerived adds the definitions of derived metrics in a list of files and directories to those
// of all contexts that are opened from then on (pmLoadDerivedConfig(3)). It prints the mistakes
// in definitions, leaves these out, and returns an error if a file cannot be read.
func (o *Sources) LoadDerived(path string) error {
	_, err := o.definitions().Load(path)
	return err
}

// DefineDerived adds the definition of a derived metric to those of all contexts that are opened from then on
// (pmRegisterDerivedMetric(3)); UseDerived gives it to an open context. The error is a [*derive.Error].
func (o *Sources) DefineDerived(name, expr string) error { return o.definitions().Add(name, expr) }

// tell prints the mistakes in definitions, as pmprintf(3) does.
func (o *Sources) tell(err error) {
	if err == nil {
		return
	}
	o.msg().Printf("%s\n", err)
	o.msg().Flush()
}
