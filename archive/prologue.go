package archive

import (
	"strconv"

	"github.com/go-pcp/pcp"
)

// A Logger has the facts that the first and the last record of an archive, its
// prologue and epilogue, have about the program that wrote it, beyond the label.
// Tools that join archives use them to check that pmcd was the same all the time.
type Logger struct {
	PID     int32  // of the logger: also the only instance
	Host    string // on which the logger runs
	Port    uint32 // at which it can be controlled
	Archive string // full path of the base name
	PMCDPID uint64 // of pmcd; 0 if not known
	SeqNum  uint32 // of pmcd, number of changes of its agents
}

// logueInDom is the instance domain of loggers.
var logueInDom = pcp.NewInDom(2, 1)

// logue lists the metrics of a prologue as pmcd's agent has them, with the
// values of l.
func (l *Logger) logue() []logueMetric {
	logger := func(v pcp.Value) pcp.Value { return v.WithInst(l.PID) }
	return []logueMetric{
		{"pmcd.pmlogger.host", pcp.NewPMID(2, 3, 3), pcp.TypeString, logueInDom, logger(pcp.StringValue(l.Host))},
		{"pmcd.pmlogger.port", pcp.NewPMID(2, 3, 0), pcp.TypeU32, logueInDom, logger(pcp.Uint32Value(l.Port))},
		{"pmcd.pmlogger.archive", pcp.NewPMID(2, 3, 2), pcp.TypeString, logueInDom, logger(pcp.StringValue(l.Archive))},
		{"pmcd.pid", pcp.NewPMID(2, 0, 23), pcp.TypeU64, pcp.InDomNull, pcp.Uint64Value(l.PMCDPID)},
		{"pmcd.seqnum", pcp.NewPMID(2, 0, 24), pcp.TypeU32, pcp.InDomNull, pcp.Uint32Value(l.SeqNum)},
	}
}

type logueMetric struct {
	name  string
	id    pcp.PMID
	typ   pcp.Type
	indom pcp.InDom
	value pcp.Value
}

// result sets res to the record of a prologue or epilogue.
func (l *Logger) result(res *pcp.Result, t pcp.Timestamp) {
	res.Reset()
	res.Time = t
	for _, m := range l.logue() {
		res.AddSet(m.id)
		res.Add(m.value)
	}
}

// WritePrologue writes the record that an archive starts with and the metadata
// that belong to it.
func (w *Writer) WritePrologue(t pcp.Timestamp, l *Logger) error {
	if err := w.writeLogue(t, l); err != nil {
		return err
	}
	// The entry that the first record got in the index covers the metadata too.
	w.metaMark, w.need = w.meta.pos(), false
	return nil
}

// WriteEpilogue writes the record that an archive ends with, and the metadata
// if it has no prologue.
func (w *Writer) WriteEpilogue(t pcp.Timestamp, l *Logger) error { return w.writeLogue(t, l) }

func (w *Writer) writeLogue(t pcp.Timestamp, l *Logger) error {
	var res pcp.Result
	l.result(&res, t)
	if err := w.WriteResult(&res); err != nil {
		return err
	}
	for _, m := range l.logue() {
		if err := w.Desc(pcp.Desc{PMID: m.id, Type: m.typ, InDom: m.indom, Sem: pcp.SemDiscrete}, m.name); err != nil {
			return err
		}
		if m.indom == pcp.InDomNull {
			continue
		}
		if err := w.InDom(t, m.indom, []pcp.Instance{{Inst: l.PID, Name: strconv.Itoa(int(l.PID))}}); err != nil {
			return err
		}
	}
	return nil
}
