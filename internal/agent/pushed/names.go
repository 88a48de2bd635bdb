package pushed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/safefile"
)

// The file of names has a JSON object on each line: the head, the senders, and each metric followed by its series.
// This is part of the file format; do not change:
//
//	{"format":"pcp pushed names 1","metrics":2,"senders":1}    the numbers that are next
//	{"sender":"shop","n":0}
//	{"metric":"shop.orders","shown":"example.shop.orders","n":0,"of":0,"type":3,"sem":1,"units":1048576,"help":"...","next":2}
//	{"series":"state:paid","n":1}
//
// shown is not there if another metric has the name.
type line struct {
	Format  string `json:"format,omitempty"`
	Metrics int    `json:"metrics,omitempty"`
	Senders int32  `json:"senders,omitempty"`

	Sender *string `json:"sender,omitempty"`
	Metric *string `json:"metric,omitempty"`
	Series *string `json:"series,omitempty"`

	Shown string   `json:"shown,omitempty"`
	N     int32    `json:"n"`
	Of    int32    `json:"of,omitempty"` // number of the sender
	Type  pcp.Type `json:"type,omitempty"`
	Sem   pcp.Sem  `json:"sem,omitempty"`
	Units *uint32  `json:"units,omitempty"`
	Help  string   `json:"help,omitempty"`
	Next  int32    `json:"next,omitempty"`
}

const (
	namesFormat  = "pcp pushed names" // before the version
	namesVersion = fileversion.PushedNames
	maxNamesFile = 256 << 20
	maxNamesLine = 64 << 10
)

// saving is the part of a table that writes the file.
type saving struct {
	dirty  bool // guarded by Table.mu, as the next fields
	timer  *time.Timer
	closed bool
	delay  time.Duration

	fileMu sync.Mutex // before Table.mu
	warned bool
}

// minDelay is how long new names wait for others before the file is written.
const minDelay = time.Second

// scheduleSave has the file written soon if something has changed. Called with t.mu held.
func (t *Table) scheduleSave() {
	if t.dirty && t.timer == nil && !t.closed && t.cfg.File != "" {
		t.timer = time.AfterFunc(max(t.delay, minDelay), func() { t.save() })
	}
}

func (t *Table) stopSaving() error {
	t.mu.Lock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	return t.save()
}

// save writes the file if something has changed.
func (t *Table) save() error {
	t.fileMu.Lock()
	defer t.fileMu.Unlock()
	t.mu.Lock()
	t.timer = nil
	if !t.dirty || t.cfg.File == "" {
		t.mu.Unlock()
		return nil
	}
	t.dirty = false
	start := time.Now()
	b := t.append(nil)
	t.mu.Unlock()
	how := safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1}
	err := safefile.ReplaceBytes(t.cfg.File, b, how)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(t.cfg.File), 0o755); err == nil {
			err = safefile.ReplaceBytes(t.cfg.File, b, how)
		}
	}
	t.mu.Lock()
	t.delay = 20 * time.Since(start) // a twentieth of the time at most
	t.mu.Unlock()
	if err != nil && !t.warned {
		t.warned = true
		t.cfg.Log.Warn("numbers of metrics and instances are not kept", "err", err)
	}
	return err
}

// append appends the file.
func (t *Table) append(b []byte) []byte {
	put := func(l line) {
		text, err := json.Marshal(l)
		if err != nil {
			panic(err) // numbers and strings
		}
		b = append(append(b, text...), '\n')
	}
	put(line{Format: fmt.Sprint(namesFormat, " ", namesVersion), Metrics: t.next, Senders: t.nextSender})
	for _, s := range t.bySender {
		put(line{Sender: &s.name, N: s.number})
	}
	for n := range t.next {
		m := t.byNumber[n]
		if m == nil {
			continue
		}
		units := m.desc.Units.Pack()
		put(line{
			Metric: &m.name, Shown: m.shown, N: int32(n), Of: m.sender.number, Type: m.desc.Type, Sem: m.desc.Sem,
			Units: &units, Help: m.help, Next: m.next,
		})
		for _, s := range m.series {
			put(line{Series: &s.name, N: s.inst})
		}
	}
	return b
}

// load reads the file.
func (t *Table) load() error {
	if t.cfg.File == "" {
		return nil
	}
	f, err := safefile.Open(t.cfg.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.read(io.LimitReader(f, maxNamesFile)); fileversion.IsNewer(err) {
		return fmt.Errorf("%s: %w", t.cfg.File, err)
	} else if err != nil {
		return fmt.Errorf("%s: %w; without the file, metrics get new numbers", t.cfg.File, err)
	}
	return nil
}

func (t *Table) read(r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxNamesLine)
	senders := make(map[int32]*sender)
	var last *metric
	n := 0
	for in.Scan() {
		n++
		if err := t.readLine(in.Bytes(), n == 1, senders, &last); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	if n == 0 {
		return errors.New("the file is empty")
	}
	return nil
}

func (t *Table) readLine(text []byte, first bool, senders map[int32]*sender, last **metric) error {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	err := d.Decode(&l)
	named := false
	if first { // first of all, since the rest may have other types in a later version
		var verr error
		if named, verr = fileversion.CheckText(l.Format, namesFormat, namesVersion); verr != nil {
			return verr
		}
	}
	if err != nil {
		return err
	}
	switch {
	case first:
		if !named || l.Metrics < 0 || l.Metrics > maxNumber || l.Senders < 0 {
			return errors.New("not a file of names")
		}
		t.next, t.nextSender = l.Metrics, l.Senders
	case l.Sender != nil:
		if t.senders[*l.Sender] != nil || senders[l.N] != nil || l.N < 0 || l.N >= t.nextSender || len(*l.Sender) > maxSender {
			return fmt.Errorf("sender %.60q, number %d: twice, or out of range", *l.Sender, l.N)
		}
		s := &sender{name: *l.Sender, number: l.N}
		t.senders[s.name], senders[l.N], t.bySender = s, s, append(t.bySender, s)
	case l.Metric != nil:
		s := senders[l.Of]
		if s == nil || l.N < 0 || int(l.N) >= t.next || t.byNumber[int(l.N)] != nil || l.Units == nil || l.Next < 0 {
			return fmt.Errorf("metric %.60q, number %d: twice, or out of range", *l.Metric, l.N)
		}
		if l.Type != pcp.TypeU64 && l.Type != pcp.Type64 && l.Type != pcp.TypeDouble {
			return fmt.Errorf("metric %.60q: type %d", *l.Metric, l.Type)
		}
		m := &metric{name: *l.Metric, shown: l.Shown, sender: s, next: l.Next, pushed: t.swept.Unix(), index: make(map[string]*series)}
		m.setHelp(l.Help)
		m.desc = pcp.Desc{Type: l.Type, Sem: l.Sem, Units: pcp.UnpackUnits(*l.Units)}
		t.number(m, int(l.N))
		t.byNumber[m.number] = m
		list := t.byName[m.name]
		if m.shown != "" { // it is the current one
			list = append([]*metric{m}, list...)
		} else {
			list = append(list, m)
		}
		t.byName[m.name] = list
		s.metrics++
		s.bytes += m.cost()
		t.bytes += m.cost()
		*last = m
	case l.Series != nil:
		m := *last
		if m == nil || l.N < 0 || l.N >= m.next || m.index[*l.Series] != nil || len(m.series) > 0 && m.series[len(m.series)-1].inst >= l.N {
			return fmt.Errorf("series %.60q, number %d: twice, or out of range", *l.Series, l.N)
		}
		s := &series{name: *l.Series, inst: l.N, pushed: t.swept.Unix()}
		s.cost = costOf(s)
		m.index[s.name], m.series = s, append(m.series, s)
		m.sender.series++
		m.sender.bytes += s.cost
		t.bytes += s.cost
	default:
		return errors.New("neither a sender, a metric nor a series")
	}
	return nil
}
