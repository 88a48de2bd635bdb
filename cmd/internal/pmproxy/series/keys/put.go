package keys

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// put queues a command.
func (l *Loader) put(ctx context.Context, name, key string, args ...string) error {
	return l.w.add(ctx, command{name: name, key: key, args: args})
}

// mapString writes a string to the map of its kind, unless that was done.
func (l *Loader) mapString(ctx context.Context, kind string, id sid.ID, text string) error {
	key := cacheKey{kind, id}
	if l.w.sent[key] {
		return nil
	}
	if len(l.w.sent) >= maxNames {
		clear(l.w.sent)
	}
	l.w.sent[key] = true
	return l.announced(ctx, kind, id, text)
}

// announced writes a string to a map, and announces it if it is new.
func (l *Loader) announced(ctx context.Context, kind string, id sid.ID, text string) error {
	return l.w.add(ctx, command{
		name: "HSET", key: "pcp:map:" + kind, args: []string{string(id[:]), text},
		channel: kind, announce: id.String() + ":" + text,
	})
}

// writeSource writes the source of the archive.
func (l *Loader) writeSource(ctx context.Context) error {
	name, host, source := string(l.nameID[:]), string(l.hostID[:]), string(l.source[:])
	var at [2]float64 // latitude and longitude
	for lb := range l.context.All() {
		switch {
		case lb.Name == "longitude":
			at[1] = leadingFloat(lb.Value)
		case lb.Name == "latitude":
			at[0] = leadingFloat(lb.Value)
		}
	}
	if err := errors.Join(
		l.mapString(ctx, "context.name", l.nameID, l.name),
		l.mapString(ctx, "context.name", l.hostID, l.host),
		l.put(ctx, "SADD", "pcp:source:context.name:"+l.nameID.String(), source),
		l.put(ctx, "SADD", "pcp:source:context.name:"+l.hostID.String(), source),
		l.put(ctx, "SADD", "pcp:context.name:source:"+l.source.String(), name, host),
	); err != nil {
		return err
	}
	text := func(f float64) string { return strconv.FormatFloat(f, 'f', 8, 64) }
	return l.w.add(ctx, command{name: "GEOADD", key: "pcp:source:location", args: []string{text(at[1]), text(at[0]), source}, soft: true})
}

// leadingFloat parses the number at the start of a text, 0 if there is none.
func leadingFloat(s string) float64 {
	for n := len(s); n > 0; n-- {
		if f, err := strconv.ParseFloat(s[:n], 64); err == nil {
			return f
		}
	}
	return 0
}

// writeMetric writes a metric's strings, metadata and values.
func (l *Loader) writeMetric(ctx context.Context, m *metric, stamp string, meta bool) error {
	if !m.written {
		for _, n := range m.names {
			if err := l.mapString(ctx, "metric.name", n.id, n.text); err != nil {
				return err
			}
		}
	}
	plain := m.indom == nil || m.list == nil
	if plain {
		if !m.written {
			if err := l.annotate(ctx, &m.labels, l.metricSets(m)); err != nil {
				return err
			}
		}
	} else {
		for _, v := range m.list {
			in := m.indom.insts[v.inst]
			if in == nil {
				continue
			}
			if err := l.mapString(ctx, "inst.name", in.nameID, in.name); err != nil {
				return err
			}
			if !in.written {
				if err := l.annotate(ctx, &in.labels, l.instanceSets(m.indom, in)); err != nil {
					return err
				}
			}
		}
	}
	if meta || !l.opt.NoValues {
		if err := l.writeMeta(ctx, m, plain); err != nil {
			return err
		}
	}
	if l.opt.NoValues {
		return nil
	}
	return l.writeValues(ctx, m, stamp, plain)
}

// annotate adds labels to a list, unless it has some of their names, and writes their strings. The list has the last one first.
func (l *Loader) annotate(ctx context.Context, list *[]label, sets []pcp.LabelSet) error {
	for i := range sets {
		for lb := range sets[i].All() {
			if slices.ContainsFunc(*list, func(have label) bool { return have.Name == lb.Name }) {
				continue
			}
			lb.Name, lb.Value = strings.Clone(lb.Name), strings.Clone(lb.Value)
			one := label{lb, sid.String(lb.Name), sid.String(lb.Value)}
			*list = slices.Insert(*list, 0, one)
			if err := l.mapString(ctx, "label.name", one.name, one.Name); err != nil {
				return err
			}
			if err := l.announced(ctx, "label."+one.name.String()+".value", one.value, one.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// series returns the identifiers of a metric's series, as members of a set.
func (m *metric) series() []string {
	list := make([]string, len(m.names))
	for i := range m.names {
		list[i] = string(m.names[i].series[:])
	}
	return list
}

// writeMeta writes the metadata of a metric and its instances, unless that was done.
func (l *Loader) writeMeta(ctx context.Context, m *metric, plain bool) error {
	if !m.written {
		if err := l.writeDesc(ctx, m); err != nil {
			return err
		}
	}
	if plain {
		if !m.written {
			for _, n := range m.names {
				if err := l.writeLabels(ctx, m, n.series, m.labels); err != nil {
					return err
				}
			}
			m.written = true
		}
		return nil
	}
	for _, v := range m.list {
		in := m.indom.insts[v.inst]
		if in == nil {
			continue
		}
		if !in.written || !m.written {
			if err := l.writeInstance(ctx, m, in); err != nil {
				return err
			}
			if err := l.writeLabels(ctx, m, in.id, in.labels); err != nil {
				return err
			}
		}
		in.written = true
	}
	m.written = true
	return nil
}

func (l *Loader) writeDesc(ctx context.Context, m *metric) error {
	indom, pmid := "none", "none"
	if m.desc.InDom != pcp.InDomNull {
		indom = m.desc.InDom.String()
	}
	if m.desc.PMID != pcp.PMIDNull {
		pmid = m.desc.PMID.String()
	}
	for _, n := range m.names {
		series := n.series.String()
		if err := errors.Join(
			l.put(ctx, "SADD", "pcp:series:metric.name:"+n.id.String(), string(n.series[:])),
			l.put(ctx, "SADD", "pcp:metric.name:series:"+series, string(n.id[:])),
			l.put(ctx, "HMSET", "pcp:desc:series:"+series, "indom", indom, "pmid", pmid, "semantics", m.desc.Sem.String(),
				"source", string(l.source[:]), "type", typeText(m.desc.Type), "units", unitsText(m.desc.Units)),
		); err != nil {
			return err
		}
	}
	return l.put(ctx, "SADD", "pcp:series:context.name:"+l.nameID.String(), m.series()...)
}

func (l *Loader) writeInstance(ctx context.Context, m *metric, in *instance) error {
	if err := l.put(ctx, "SADD", "pcp:series:inst.name:"+in.nameID.String(), m.series()...); err != nil {
		return err
	}
	for _, n := range m.names {
		if err := l.put(ctx, "SADD", "pcp:instances:series:"+n.series.String(), string(in.id[:])); err != nil {
			return err
		}
	}
	return l.put(ctx, "HMSET", "pcp:inst:series:"+in.id.String(),
		"inst", strconv.Itoa(int(in.inst)), "name", string(in.nameID[:]), "source", string(l.source[:]))
}

// writeLabels writes the labels of a series or an instance.
func (l *Loader) writeLabels(ctx context.Context, m *metric, owner sid.ID, list []label) error {
	for _, lb := range list {
		name, value := string(lb.name[:]), string(lb.value[:])
		if lb.Flags != pcp.LabelContext {
			if err := l.put(ctx, "HMSET", "pcp:labelflags:series:"+owner.String(), name, strconv.Itoa(int(lb.Flags))); err != nil {
				return err
			}
		}
		if err := errors.Join(
			l.put(ctx, "HMSET", "pcp:labelvalue:series:"+owner.String(), name, value),
			l.put(ctx, "HMSET", "pcp:map:label."+lb.name.String()+".value", value, lb.Value),
			l.put(ctx, "SADD", "pcp:series:label."+lb.name.String()+".value:"+lb.value.String(), m.series()...),
		); err != nil {
			return err
		}
	}
	return nil
}

// writeValues writes an entry of the stream of each name.
func (l *Loader) writeValues(ctx context.Context, m *metric, stamp string, plain bool) error {
	args := []string{"MAXLEN", "~", strconv.FormatInt(l.store.cfg.MaxLen, 10), stamp}
	head := len(args)
	switch {
	case m.err != 0:
		args = append(args, "-1", strconv.Itoa(int(m.err)))
	case plain:
		args = append(args, "", m.one)
	default:
		for _, v := range m.list {
			if in := m.indom.insts[v.inst]; in != nil {
				args = append(args, string(in.id[:]), v.text)
			}
		}
	}
	expire := strconv.FormatInt(int64(l.store.cfg.Expire/time.Second), 10)
	for _, n := range m.names {
		key := "pcp:values:series:" + n.series.String()
		if len(args) > head {
			if err := l.put(ctx, "XADD", key, args...); err != nil {
				return err
			}
		}
		if err := l.put(ctx, "EXPIRE", key, expire); err != nil {
			return err
		}
	}
	return nil
}
