package helptext

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmns"
)

// loadNames reads a name space; "" is the installed one. The error is the
// message of the C tools but for their name.
func loadNames(env *cli.Env, path string) (*pmns.Tree, error) {
	loader := pmns.Loader{DupOK: true, Config: env.Config(), Stderr: env.Stderr}
	tree, err := loader.Load(path)
	if err == nil {
		// The C library has the two names of event records besides.
		return tree, tree.Overlay(pmns.Events(), nil)
	}
	if pe, ok := errors.AsType[*pmns.ParseError](err); ok {
		env.FlushOut()
		fmt.Fprint(env.Stderr, pe.Diagnostic)
	}
	return nil, fmt.Errorf("pmLoadASCIINameSpace(%s, 1): %s", cmp.Or(path, "(null)"), cli.ErrText(err))
}

// lookup returns the function that looks a name up in the way of the C library:
// a dynamic root is found.
func lookup(tree *pmns.Tree) func(name string) (pcp.PMID, error) {
	return func(name string) (pcp.PMID, error) {
		id, err := tree.Lookup(name)
		if err != nil && id.IsDynamicRoot() {
			return id, nil
		}
		return id, err
	}
}
