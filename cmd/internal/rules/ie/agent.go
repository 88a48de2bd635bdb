package ie

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A publisher writes rules as metrics to the agent that has started pmie, as PDUs: a
// descriptor of each rule, then a result of each evaluation.
type publisher struct {
	w   io.Writer
	ids map[string]pcp.PMID
	res wire.Result
	buf []byte
}

// An unpublished is the end of a run for an agent: the pipe has no reader.
type unpublished struct{ err error }

func (u *unpublished) Error() string {
	return "Error: __pmSendResult to summary agent failed: " + cli.ErrText(u.err)
}

func isUnpublished(err error) bool {
	_, ok := errors.AsType[*unpublished](err)
	return ok
}

// newPublisher returns a publisher on standard output.
func newPublisher(ctx context.Context, env *cli.Env) *publisher {
	p := &publisher{w: flushing{env}, ids: make(map[string]pcp.PMID)}
	if _, own := env.ProcessStderr(); own {
		p.w = &patient{ctx, os.Stdout}
	}
	return p
}

// describe looks up the names of all rules, and writes their descriptors.
func (p *publisher) describe(env *cli.Env, o *source.Options, intervals [][]pmie.Published) error {
	tree := o.NameSpace
	if tree == nil {
		var err error
		tree, err = (&pmns.Loader{DupOK: true, Raw: true, Config: env.Config(), Stderr: env.Stderr, Debug: o.DebugLog()}).Load("")
		if err != nil {
			said := ""
			if pe, ok := errors.AsType[*pmns.ParseError](err); ok {
				said = pe.Diagnostic
			}
			return fmt.Errorf("%s%s: agentInit: cannot load metric namespace: %s", said, env.ProgName(), cli.ErrText(err))
		}
	}
	for _, rules := range intervals {
		p.buf = p.buf[:0]
		for _, r := range rules {
			id, err := tree.Lookup(r.Name)
			if err != nil {
				return fmt.Errorf("%s: agentId: metric %s not found in namespace: %s", env.ProgName(), r.Name, cli.ErrText(err))
			}
			p.ids[r.Name] = id
			r.Desc.PMID = id
			p.buf = wire.Append(p.buf, wire.FromAnon, &wire.Desc{Desc: r.Desc})
		}
		if err := p.write(); err != nil {
			return err
		}
	}
	return nil
}

// publish writes the values of rules.
func (p *publisher) publish(rules []pmie.Published) error {
	p.res.Sets = p.res.Sets[:0]
	for _, r := range rules {
		set := pcp.ValueSet{PMID: p.ids[r.Name], Err: r.Err, ValFmt: pcp.ValDPtr}
		if r.Err == 0 && !math.IsNaN(r.Value) && !math.IsInf(r.Value, 0) {
			set.Values = []pcp.Value{pcp.DoubleValue(r.Value)}
		}
		p.res.Sets = append(p.res.Sets, set)
	}
	p.buf = wire.Append(p.buf[:0], wire.FromAnon, &p.res)
	return p.write()
}

func (p *publisher) write() error {
	if _, err := p.w.Write(p.buf); err != nil {
		return &unpublished{err}
	}
	return nil
}

// A patient writer waits for the reader of a pipe, but not beyond the end of ctx.
type patient struct {
	ctx context.Context
	f   *os.File
}

func (w *patient) Write(b []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := w.f.Write(b)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return r.n, r.err
	case <-w.ctx.Done():
		return 0, context.Cause(w.ctx)
	}
}

// noRules is standard input of a daemon for an agent, which has closed it.
func noRules(env *cli.Env) io.Reader {
	if env.Stdin == io.Reader(os.Stdin) {
		os.Stdin.Close()
	}
	return strings.NewReader("")
}
