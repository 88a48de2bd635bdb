package pmapi

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/debugname"
)

// What a derived source traces for -D derive, in the layout of the C library. For it
// event.flags and event.missed are derived metrics, the first ones.

// lookupText describes the result of a look-up.
func lookupText(id pcp.PMID, ok bool) string {
	if !ok {
		return pcp.ErrName.Error()
	}
	return "PMID " + id.String()
}

// traceLeaves binds the metrics below name one after the other, as the C library
// does, and traces which there are.
func traceLeaves(ctx context.Context, log *debug.Log, b *derive.Binding, name string) error {
	if log.On(debugname.Version7) {
		log.Printf("__dmtraverse(ctx=%d, name=\"%s\", ...)\n", log.CurrentContext(), name)
	}
	for _, full := range eventNames {
		if below(full, name) {
			log.Printf("__dmtraverse: name=\"%s\" added \"%s\"\n", name, full)
		}
	}
	var all []string
	b.Tried(func(full string, _ bool) bool {
		if below(full, name) {
			all = append(all, full)
		}
		return true
	})
	for _, one := range all {
		if err := b.BindNames(ctx, func(full string) bool { return full == one }); err != nil {
			return err
		}
		b.Tried(func(full string, ok bool) bool {
			switch {
			case full != one:
				return true
			case ok:
				log.Printf("__dmtraverse: name=\"%s\" added \"%s\"\n", name, full)
			case log.On(debugname.Version7):
				id, _ := b.Lookup(full)
				log.Printf("__dmtraverse: name=\"%s\", omitting invalid child %s [%s]\n", name, full, id)
			default:
				log.Printf("__dmtraverse: name=\"%s\", omitting invalid child \"%s\"\n", name, full)
			}
			return false
		})
	}
	return nil
}

var eventNames = [...]string{"event.flags", "event.missed"}

// traceChildren traces which children of name are derived metrics.
func (d *derived) traceChildren(ctx context.Context, log *debug.Log, b *derive.Binding, name string) {
	if log.On(debugname.Version7) {
		log.Printf("__dmchildren(ctx=%d, derive_locked=0, name=\"%s\", ...)\n", log.CurrentContext(), name)
	}
	var parts []string
	leaf, more := false, log.On(debugname.Appl2)
	see := func(full string, ok bool) bool {
		switch {
		case !below(full, name):
			return true
		case !ok:
			log.Printf("__dmchildren: name=\"%s\", omitting invalid child \"%s\"\n", name, full)
			return true
		case full == name:
			leaf = true
			return false
		}
		rest := full
		if name != "" {
			rest = full[len(name)+1:]
		}
		part, _, deeper := strings.Cut(rest, ".")
		if slices.Contains(parts, part) {
			return true
		}
		if more {
			status := 0
			if deeper {
				status = 1
			}
			log.Printf("__dmchildren: offspring[%d] %s (status=%d)\n", len(parts), part, status)
		}
		parts = append(parts, part)
		return true
	}
	for _, full := range eventNames {
		see(full, true)
	}
	if !leaf {
		b.Tried(see)
	}
	var line strings.Builder
	line.WriteString("pmGetChildren(name=\"" + name + "\") ")
	if regular, err := d.plain.children(ctx, name); err != nil {
		line.WriteString("no regular children (" + pcp.Code(err).Error() + ")")
	} else {
		line.WriteString(strconv.Itoa(len(regular)) + " regular children")
	}
	switch {
	case leaf:
		line.WriteString(", derived leaf\n")
	case len(parts) > 0:
		line.WriteString(", " + strconv.Itoa(len(parts)) + " derived children\n")
	default:
		line.WriteString(", no derived children (" + pcp.ErrName.Error() + ")\n")
	}
	log.Printf("%s", line.String())
}
