package helptext

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmns"
)

// loadNames reads a name space; "" means the installed one. The error is the message of
// the C tools without their name.
func loadNames(env *cli.Env, path string) (*pmns.Tree, error) {
	loader := pmns.Loader{DupOK: true, Config: env.Config(), Stderr: env.Stderr}
	tree, err := loader.Load(path)
	if err == nil {
		// The C library also has the two names of event records.
		return tree, tree.Overlay(pmns.Events(), nil)
	}
	if pe, ok := errors.AsType[*pmns.ParseError](err); ok {
		env.FlushOut()
		fmt.Fprint(env.Stderr, pe.Diagnostic)
	}
	return nil, fmt.Errorf("pmLoadASCIINameSpace(%s, 1): %s", cmp.Or(path, "(null)"), cli.ErrText(err))
}

// lookup returns a function that looks names up like the C library: it finds dynamic
// roots.
func lookup(tree *pmns.Tree) func(name string) (pcp.PMID, error) {
	return func(name string) (pcp.PMID, error) {
		id, err := tree.Lookup(name)
		if err != nil && id.IsDynamicRoot() {
			return id, nil
		}
		return id, err
	}
}
