package source

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmns"
)

// Limits of the search for similar names: the names compared, and the time.
const (
	hintNames = 50_000
	hintTime  = 2 * time.Second
)

// DidYouMean returns " (did you mean NAME?)" for a name that no metric of c has, if a metric has a
// similar name, and else names the command that lists names. Under its classic name a command
// prints the C tool's message, and gets "" unless a person reads its messages.
func DidYouMean(ctx context.Context, env *cli.Env, c *pmapi.Context, name string) string {
	if !hints(env) {
		return ""
	}
	meant, deepest := lookFor(ctx, c, name)
	if meant == "" {
		return listing(env, c, deepest)
	}
	return meant
}

// lookFor returns the hint at a similar name, "" if there is none, and the part of the name that
// exists.
func lookFor(ctx context.Context, c *pmapi.Context, name string) (meant, deepest string) {
	ctx, cancel := context.WithTimeout(ctx, hintTime)
	defer cancel()
	// The neighbours are first: the whole tree may be large, or have a part that cannot be read.
	for under := name; ; {
		under = under[:max(0, strings.LastIndexByte(under, '.'))]
		meant = hint(name, func(yield func(string) bool) {
			n := 0
			for other, err := range c.Traverse(ctx, under) {
				if err == nil && deepest == "" {
					deepest = under
				}
				if n++; err != nil || n > hintNames || !yield(other) {
					return
				}
			}
		})
		if meant != "" || under == "" {
			return meant, deepest
		}
	}
}

// listing names the command that lists the metrics below a name, or all of them.
func listing(env *cli.Env, c *pmapi.Context, under string) string {
	command := env.Pcp() + " info"
	if _, ok := c.Archive(); ok {
		command += " -a ARCHIVE"
	}
	if under == "" {
		return fmt.Sprintf(" (%q lists the names of all metrics)", command)
	}
	return fmt.Sprintf(" (%q lists the names below %s)", command+" "+under, under)
}

// DidYouMeanIn is DidYouMean for a name space.
func DidYouMeanIn(env *cli.Env, t *pmns.Tree, name string) string {
	leaves, err := t.Leaves("")
	if err != nil {
		return ""
	}
	return DidYouMeanAmong(env, leaves, name)
}

// DidYouMeanAmong is DidYouMean for names and their metrics, such as those of an
// archive.
func DidYouMeanAmong(env *cli.Env, names iter.Seq2[string, pcp.PMID], name string) string {
	if !hints(env) {
		return ""
	}
	return hint(name, func(yield func(string) bool) {
		n := 0
		for other := range names {
			if n++; n > hintNames || !yield(other) {
				return
			}
		}
	})
}

// Hint is DidYouMean for tools whose messages about metrics go to standard output: the hint is a line of its own on
// standard error.
func Hint(ctx context.Context, env *cli.Env, c *pmapi.Context, name string) {
	if !hints(env) {
		return
	}
	if meant, _ := lookFor(ctx, c, name); meant != "" {
		env.FlushOut()
		fmt.Fprintf(env.Stderr, "%s: %s%s\n", env.ProgName(), name, meant)
	}
}

// hints reports whether hints do not disturb: scripts compare what commands print under their classic names.
func hints(env *cli.Env) bool { return !env.Classic() || env.ErrTerminal != nil && env.ErrTerminal() }

func hint(name string, names func(func(string) bool)) string {
	if near := cli.Nearest(name, names); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}
