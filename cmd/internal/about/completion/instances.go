package completion

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pmapi"
)

// instancesTimeout is the longest wait after a key press.
const instancesTimeout = time.Second

// wantsInstances reports whether the argument of an option is a list of
// instances.
func wantsInstances(o *cli.Option) bool { return o.Arg == "INST" || o.Arg == "INSTS" }

// instances prints the instances of the metric on a command line, one a line, as
// -i takes them. It is quiet about whatever is wrong: a shell calls it.
func instances(ctx context.Context, env *cli.Env, words []string) {
	if len(words) == 0 {
		return
	}
	c := cli.Find(env.Commands, words[0])
	if c == nil {
		return
	}
	host, archive := "local:", ""
	p := getopt.New(c.OptionList(), words[1:])
	for opt, arg := range p.All() {
		if opt == nil {
			continue // not typed to the end
		}
		switch opt.Long {
		case "host":
			host = arg
		case "archive":
			archive = arg
		}
	}
	if len(p.Args()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, instancesTimeout)
	defer cancel()
	list, err := find(ctx, env, host, archive, p.Args()[0])
	if err != nil {
		return
	}
	for _, in := range list {
		if strings.ContainsFunc(in.Name, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) && r != '\t' }) {
			continue // a shell reads lines, and users cannot type this
		}
		if strings.ContainsAny(in.Name, ", \t") {
			fmt.Fprintf(env.Stdout, "\"%s\"\n", in.Name)
		} else {
			fmt.Fprintln(env.Stdout, in.Name)
		}
	}
}

// find returns the instances of a metric.
func find(ctx context.Context, env *cli.Env, host, archive, metric string) ([]pcp.Instance, error) {
	var c *pmapi.Context
	var err error
	var a *pmapi.ArchiveContext
	if archive != "" {
		if a, err = pmapi.OpenArchive(archive); err == nil {
			c = a.Context
		}
	} else {
		d := pmapi.Dialer{ConnectTimeout: instancesTimeout, RequestTimeout: instancesTimeout, Config: env.Config()}
		c, err = d.Dial(ctx, host)
	}
	if err != nil {
		return nil, err
	}
	defer c.Close()
	set := new(derive.Set)
	_ = set.LoadInstalled(env.Config()) // completion does not report errors in files
	c.UseDerived(set, nil)
	ids, err := c.LookupName(ctx, metric)
	if err != nil {
		return nil, err
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil || desc.InDom == pcp.InDomNull {
		return nil, err
	}
	if a != nil {
		return a.GetInDomArchive(ctx, desc.InDom)
	}
	return c.GetInDom(ctx, desc.InDom)
}

// joined undoes how bash splits words at colons and equals signs.
func joined(words []string) []string {
	var list []string
	glue := false
	for _, w := range words {
		sep := w == ":" || w == "="
		if len(list) > 0 && (sep || glue) {
			list[len(list)-1] += w
		} else {
			list = append(list, w)
		}
		glue = sep
	}
	return list
}

// unquoted takes the quotes of a shell from a word, and expands nothing.
func unquoted(word string) string {
	var b []byte
	var quote byte
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(word) && (quote == 0 || strings.IndexByte("\\\"$`", word[i+1]) >= 0):
			i++
			b = append(b, word[i])
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
