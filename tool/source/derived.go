package source

import (
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/tool/cli"
)

// definitions returns the derived metrics of all contexts. The first call loads
// those of the installation.
func (o *Options) definitions() *derive.Set {
	if o.derived == nil {
		o.derived = new(derive.Set)
		o.tell(o.derived.LoadInstalled(o.env.Config()))
	}
	return o.derived
}

// loadDerived adds the definitions of files. It returns why it cannot, or "".
func (o *Options) loadDerived(path string) string {
	_, err := o.definitions().Load(path)
	errs, ok := errors.AsType[derive.Errors](err)
	if !ok {
		if err == nil {
			return ""
		}
		return o.whyNot(err)
	}
	o.tell(errs)
	// What else there is comes after these.
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range all.Unwrap() {
			if !errors.Is(err, pcp.ErrBadDerive) {
				return o.whyNot(err)
			}
		}
	}
	return ""
}

// whyNot returns why a file cannot be read. The C tools do not say which.
func (o *Options) whyNot(err error) string {
	if o.env.Classic() {
		return cli.ErrText(pcp.Code(err))
	}
	return err.Error()
}

// tell prints what is wrong with definitions, as pmprintf(3) does.
func (o *Options) tell(err error) {
	if err == nil {
		return
	}
	o.env.Printf("%s\n", err)
	o.env.Flush()
}
