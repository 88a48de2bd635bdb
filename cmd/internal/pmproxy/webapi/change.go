package webapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/ctext"
)

// mayChange refuses requests of clients that may only read.
func (r *request) mayChange() error {
	if !r.peer.Trusted {
		return &failure{http.StatusForbidden, pcp.ErrPermission.Error()}
	}
	return nil
}

// storeCommand is /pmapi/store.
func storeCommand(ctx context.Context, r *request) error {
	if err := r.mayChange(); err != nil {
		return err
	}
	value, ok := r.params.Get("value")
	if r.body != nil && !ok {
		value = ctext.String(string(r.body))
	}
	if err := r.wc.possess(ctx); err != nil {
		return err
	}
	err := r.wc.view.with(ctx, func(l *link, k *known) error {
		what, byName := r.params.Get("name")
		var list []*metric
		var err error
		if byName {
			list, err = k.byNames(ctx, l, []string{what})
		} else {
			what = r.params.Value("pmid")
			list, err = k.byIDs(ctx, l, []pcp.PMID{parsePMID(what)})
		}
		switch {
		case err != nil:
			return err
		case list[0] == nil && byName:
			return fail(what + " - failed to lookup metric")
		case list[0] == nil:
			return fail(what + " - failed to lookup PMID")
		}
		err = r.store(ctx, l, list[0], value)
		var f *failure
		if err == nil || broken(err) || errors.As(err, &f) {
			return err
		}
		return fail("failed to store value to metric " + what + ": " + errText(err))
	})
	if err != nil {
		return err
	}
	return r.success()
}

// errNoNumber is the error of an empty value for a number. C returns it too, from the first number on.
const errNoNumber = -pcp.Error(syscall.ERANGE)

// store stores a value for the instances in the parameters.
func (r *request) store(ctx context.Context, l *link, m *metric, text string) error {
	v, err := pcp.ParseValue(text, m.desc.Type)
	if err != nil {
		return err
	}
	if text == "" && m.desc.Type.IsNumeric() {
		return errNoNumber // a missing number is not 0
	}
	var res pcp.Result
	res.AddSet(m.desc.PMID)
	inames, named := r.params.Get("iname")
	numbers, numbered := r.params.Get("instance")
	switch {
	case m.desc.InDom == pcp.InDomNull || !named && !numbered:
		res.Add(v)
	case named:
		list := split(inames)
		insts, err := l.c.GetInDom(ctx, m.desc.InDom)
		if err != nil {
			return err
		}
		for _, name := range list {
			found := false
			for _, in := range insts {
				if in.Name == name {
					res.Add(v.WithInst(in.Inst))
					found = true
					break
				}
			}
			if !found {
				return pcp.ErrInst
			}
		}
	default:
		for _, s := range split(numbers) {
			res.Add(v.WithInst(atoi(s)))
		}
	}
	if len(res.Sets[0].Values) == 0 {
		return pcp.ErrInst
	}
	return l.c.Store(ctx, &res)
}

// deriveCommand is /pmapi/derive.
func deriveCommand(ctx context.Context, r *request) error {
	if err := r.mayChange(); err != nil {
		return err
	}
	name, named := r.params.Get("name")
	expr, ok := r.params.Get("expr")
	if len(r.body) > 0 && !ok {
		expr, ok = ctext.String(string(r.body)), true
	}
	switch {
	case ok && named:
		if err := r.define(ctx, name, expr); err != nil {
			return err
		}
	case ok:
		if err := r.defineAll(ctx, expr); err != nil {
			return err
		}
	default:
		return fail("invalid derive parameters")
	}
	return r.success()
}

// define defines a derived metric in the context.
func (r *request) define(ctx context.Context, name, expr string) error {
	if err := r.wc.possess(ctx); err != nil {
		return err
	}
	v := r.wc.view
	if len(v.derived) >= MaxDerived {
		return fail("too many derived metrics")
	}
	if slices.ContainsFunc(v.derived, func(d definition) bool { return d.name == name && d.hidden }) {
		return fail(duplicateText(name, duplicate))
	}
	hidden := false
	err := v.with(ctx, func(l *link, _ *known) error {
		err := l.c.AddDerived(ctx, name, expr)
		if err == nil || broken(err) {
			return err
		}
		var syntax *derive.Error
		if errors.As(err, &syntax) && lacksOperand(syntax) {
			return nil
		}
		if hidden = errors.Is(err, pcp.ErrName); hidden {
			return nil // the collector has a metric of that name, which takes precedence
		}
		return fail(deriveText(name, expr, err))
	})
	if err != nil {
		return err
	}
	v.derived = append(v.derived, definition{name, expr, hidden})
	v.reset()
	return nil
}

// deriveText returns C's message for a refused definition.
func deriveText(name, expr string, err error) string {
	var syntax *derive.Error
	var semantic *derive.SemanticError
	switch {
	case errors.As(err, &syntax) && syntax.Msg == duplicate:
		return duplicateText(name, syntax.Msg)
	case errors.As(err, &syntax):
		column := max(syntax.Column, 0)
		if expr == "" {
			column = 1
		}
		return caret("Syntax", name, expr, column, syntax.Msg)
	case errors.As(err, &semantic):
		return caret("Semantic", name, expr, 0, semantic.Msg)
	}
	return errText(err)
}

func duplicateText(name, msg string) string {
	return fmt.Sprintf("Error: pmAddDerivedMetric(\"%s\", ...): returns %d\n%s\n", name, int32(pcp.ErrBadDerive), msg)
}

// defineAll defines the derived metrics of a text with one line each, name = expression. Line
// numbers start at 0, as in C.
func (r *request) defineAll(ctx context.Context, text string) error {
	line := 0
	for text != "" {
		end := strings.IndexAny(text, "\r\n&;")
		one := text
		mark := byte('\n')
		if end >= 0 {
			one, mark, text = text[:end], text[end], text[end+1:]
		} else {
			text = ""
		}
		def := strings.TrimSpace(one)
		if def != "" && def[0] != '#' {
			cut := strings.IndexFunc(def, func(c rune) bool { return c == '=' || c < 0x80 && ctext.IsSpace(byte(c)) })
			name, expr := def, ""
			if cut >= 0 {
				name = def[:cut]
				expr = strings.TrimLeft(def[cut:], "= \t\v\f")
			}
			if expr == "" && end < 0 {
				return fail("failed to parse derived metric \"" + name + "\" on line " + strconv.Itoa(line) + " - incomplete expression\n")
			}
			if err := r.define(ctx, name, expr); err != nil {
				var f *failure
				if errors.As(err, &f) {
					return &failure{f.status, "failed to create derived metric \"" + name + "\" on line " + strconv.Itoa(line) +
						" from: " + expr + "\n" + f.msg}
				}
				return err
			}
		}
		if mark == '\n' {
			line++
		}
	}
	return nil
}

// lacksOperand reports whether a definition was refused because an operand is unknown.
func lacksOperand(err *derive.Error) bool { return err.Msg == "Unknown operand metric" }

// duplicate is the message of package derive for a name in use.
const duplicate = "Duplicate per-context derived metric name"

// caret returns a message that marks the position of an error in an expression.
func caret(kind, name, expr string, column int, msg string) string {
	s := kind + " Error: pmAddDerivedMetric(\"" + name + "\", ...)\n" + expr + "\n" + strings.Repeat(" ", column) + "^\n"
	if msg != "" {
		s += msg + "\n"
	}
	return s
}
