package source

import (
	"context"
	"time"

	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/tool/cli"
)

// What looking for the name that was meant may cost: so many names are compared, and it may take so long.
const (
	hintNames = 50_000
	hintTime  = 2 * time.Second
)

// DidYouMean returns " (did you mean NAME?)" for a name that no metric of c has, if one has a name that is
// spelt almost so. Under its classic name a command prints what the C tool does, and gets "".
func DidYouMean(ctx context.Context, env *cli.Env, c *pmapi.Context, name string) string {
	if env.Classic() {
		return ""
	}
	return hint(name, func(yield func(string) bool) {
		ctx, cancel := context.WithTimeout(ctx, hintTime)
		defer cancel()
		n := 0
		for other, err := range c.Traverse(ctx, "") {
			if n++; err != nil || n > hintNames || !yield(other) {
				return
			}
		}
	})
}

// DidYouMeanIn is DidYouMean for a name space.
func DidYouMeanIn(env *cli.Env, t *pmns.Tree, name string) string {
	if env.Classic() {
		return ""
	}
	leaves, err := t.Leaves("")
	if err != nil {
		return ""
	}
	return hint(name, func(yield func(string) bool) {
		n := 0
		for other := range leaves {
			if n++; n > hintNames || !yield(other) {
				return
			}
		}
	})
}

func hint(name string, names func(func(string) bool)) string {
	if near := cli.Nearest(name, names); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}
