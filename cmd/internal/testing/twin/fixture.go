package twin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/mmv"
)

// fixtures names the archives, and files of memory-mapped values, that a script can use, and makes
// them. They are the same on each run, byte for byte.
func fixtures() map[string]func(base string) error {
	return map[string]func(string) error{
		// Eleven seconds of the host cellar, with texts, labels and all types.
		"small": func(b string) error { return cellar(b, scene{version: 3, steps: 11}) },
		// The same in version 2.
		"old": func(b string) error { return cellar(b, scene{version: 2, steps: 11}) },
		// The host continues, a minute later.
		"next": func(b string) error { return cellar(b, scene{version: 3, from: time.Minute, steps: 6}) },
		// A mark, a gap, volumes, instances that come and go, a counter that wraps.
		"dyn": func(b string) error {
			return cellar(b, scene{version: 3, from: time.Hour, steps: 30, odd: true, volume: 4000})
		},
		"olddyn": func(b string) error {
			return cellar(b, scene{version: 2, from: time.Hour, steps: 30, odd: true, volume: 4000})
		},
		// Another host.
		"attic":   func(b string) error { return cellar(b, scene{version: 3, steps: 4, host: "attic"}) },
		"mmv1":    func(b string) error { return mmvFile(b, mmv.Version1) },
		"mmv2":    func(b string) error { return mmvFile(b, mmv.Version2) },
		"mmv3":    func(b string) error { return mmvFile(b, mmv.Version3) },
		"events":  eventArchive,
		"vm":      vmArchive,
		"client":  clientArchive,
		"site":    func(b string) error { return siteArchive(b, false) },
		"lonely":  func(b string) error { return siteArchive(b, true) },
		"machine": machineArchive,
		"procs":   func(b string) error { return procsArchive(b, false) },
		"caches":  cachesArchive,
		"tasks":   func(b string) error { return procsArchive(b, true) },

		// Damaged ones.
		"cut": damaged(scene{version: 3, steps: 11}, func(files map[string][]byte) {
			files["0"] = files["0"][:len(files["0"])-100]
		}),
		"noindex":   damaged(scene{version: 3, steps: 11}, func(files map[string][]byte) { delete(files, "index") }),
		"nometa":    damaged(scene{version: 3, steps: 11}, func(files map[string][]byte) { delete(files, "meta") }),
		"novolume":  damaged(scene{version: 3, steps: 11}, func(files map[string][]byte) { delete(files, "0") }),
		"emptymeta": damaged(scene{version: 3, steps: 11}, func(files map[string][]byte) { files["meta"] = nil }),
		"empty": damaged(scene{version: 3, steps: 11}, func(files map[string][]byte) {
			for name := range files {
				files[name] = nil
			}
		}),
		"badlabel": damaged(scene{version: 3, steps: 11}, func(files map[string][]byte) { files["0"][5] = 0x77 }),
		"badlength": damaged(scene{version: 2, steps: 11}, func(files map[string][]byte) {
			v := files["0"] // the length behind its third record
			at := uint32(0)
			for range 3 {
				at += binary.BigEndian.Uint32(v[at:])
			}
			v[at-1]++
		}),
		"cutmeta": damaged(scene{version: 3, steps: 11}, func(files map[string][]byte) {
			files["meta"] = files["meta"][:len(files["meta"])/2+10]
		}),
		"badindex": damaged(scene{version: 3, steps: 11}, func(files map[string][]byte) {
			ix := files["index"]
			copy(ix[len(ix)-16:], "\xff\xff\xff\xff\xff\xff\xff\xff")
		}),
	}
}

// Fixture makes one of the fixtures of scripts, for other tests.
func Fixture(t testing.TB, name, base string) {
	t.Helper()
	build, ok := fixtures()[name]
	if !ok {
		t.Fatalf("no fixture is named %q", name)
	}
	if err := build(base); err != nil {
		t.Fatal(err)
	}
}

// A scene has the differences between the archives of one kind of host.
type scene struct {
	version int
	from    time.Duration // after the first of them
	steps   int           // seconds
	host    string        // cellar if empty
	odd     bool
	volume  int64
}

// noon is when the first archives begin.
func noon() time.Time { return time.Date(2024, 3, 5, 12, 0, 0, 0, time.UTC) }

// writerPID is the process in the labels of all archives.
const writerPID = 4711

// cellar writes an archive of a host with shelves.
func cellar(base string, s scene) error {
	host := s.host
	if host == "" {
		host = "cellar"
	}
	im, err := importer.Start(base, importer.Options{
		Host: host, TimeZone: "CET-1CEST", ZoneInfo: "Europe/Berlin", Version: s.version, VolumeBytes: s.volume,
	})
	if err != nil {
		return err
	}
	shelves := pcp.NewInDom(100, 1)
	declare := func(name string, item int, typ pcp.Type, sem pcp.Sem, indom pcp.InDom, units pcp.Units) {
		_, e := im.AddMetric(name, pcp.Desc{
			PMID: pcp.NewPMID(100, item/100, item%100), Type: typ, InDom: indom, Sem: sem, Units: units,
		})
		err = errors.Join(err, e)
	}
	none := pcp.Units{}
	count := pcp.Units{DimCount: 1}
	kbyte := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	msec := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	declare("store.bottles", 1, pcp.TypeU32, pcp.SemInstant, shelves, count)
	declare("store.taken", 2, pcp.TypeU64, pcp.SemCounter, shelves, count)
	declare("store.volume", 3, pcp.Type64, pcp.SemInstant, shelves, kbyte)
	declare("store.flow", 4, pcp.TypeU32, pcp.SemCounter, pcp.InDomNull, kbyte)
	declare("store.open", 5, pcp.TypeU64, pcp.SemCounter, pcp.InDomNull, msec)
	declare("air.temperature", 101, pcp.TypeDouble, pcp.SemInstant, pcp.InDomNull, none)
	declare("air.humidity", 102, pcp.TypeFloat, pcp.SemInstant, shelves, none)
	declare("air.pressure", 103, pcp.Type32, pcp.SemDiscrete, pcp.InDomNull, none)
	declare("keeper.name", 201, pcp.TypeString, pcp.SemDiscrete, pcp.InDomNull, none)
	declare("keeper.absent", 203, pcp.Type32, pcp.SemInstant, pcp.InDomNull, none)
	names := []string{"top", "middle shelf", "bottom"}
	for i, name := range names {
		err = errors.Join(err, im.AddInstance(shelves, name, int32(i*10)))
	}
	bottles := uint32(pcp.NewPMID(100, 0, 1))
	for _, text := range []struct {
		kind  pcp.TextKind
		ident uint32
		text  string
	}{
		{pcp.TextPMID | pcp.TextOneLine, bottles, "Bottles on a shelf"},
		{pcp.TextPMID | pcp.TextHelp, bottles, "Bottles on a shelf, full or empty.\nCounted by hand."},
		{pcp.TextInDom | pcp.TextOneLine, uint32(shelves), "Shelves"},
		{pcp.TextInDom | pcp.TextHelp, uint32(shelves), "All shelves of the room."},
		{pcp.TextPMID | pcp.TextOneLine, uint32(pcp.NewPMID(100, 1, 1)), "How warm it is"},
	} {
		err = errors.Join(err, im.PutText(text.kind, text.ident, text.text))
	}
	if s.version > 2 || !s.odd {
		for _, l := range []struct {
			level pcp.LabelFlags
			ident uint32
			inst  int32
			name  string
			value string
		}{
			{pcp.LabelContext, 0, 0, "house", "old mill"},
			{pcp.LabelDomain, 100, 0, "role", "store"},
			{pcp.LabelInDom, uint32(shelves), 0, "material", "oak"},
			{pcp.LabelItem, bottles, 0, "unit", "bottle"},
			{pcp.LabelInstances, uint32(shelves), 10, "height", "1.2"},
		} {
			err = errors.Join(err, im.PutLabel(l.level, l.ident, l.inst, l.name, l.value))
		}
	}
	if err != nil {
		return err
	}
	put := func(name, inst, format string, args ...any) {
		err = errors.Join(err, im.PutValue(name, inst, fmt.Sprintf(format, args...)))
	}
	start := noon().Add(s.from)
	for n := range s.steps {
		if s.odd {
			if n == 12 {
				err = errors.Join(err, im.PutMark())
			}
			if n >= 12 && n < 16 {
				continue // nothing is known of these
			}
			if n == 20 {
				names = append(names, "under the stairs")
				err = errors.Join(err, im.AddInstance(shelves, "under the stairs", 40))
			}
			if n == 25 {
				names = names[1:]
			}
		}
		for i, name := range names {
			put("store.bottles", name, "%d", 100*(i+1)-n)
			put("store.taken", name, "%d", n*(i+1)*3)
			put("store.volume", name, "%d", 1000*i-n*n)
			if i != 1 || n%3 > 0 {
				put("air.humidity", name, "%g", 40+float64(i)+float64(n)/8)
			}
		}
		flow := uint32(1000 * n * n)
		if s.odd {
			flow += 1<<32 - 200_000
		}
		put("store.flow", "", "%d", flow)
		put("store.open", "", "%d", 700*n)
		if n%2 == 0 {
			put("air.temperature", "", "%g", 11.5+float64(n*n)/32)
		}
		if n == 0 || n == 5 {
			put("air.pressure", "", "%d", 1013-20*n)
			put("keeper.name", "", "Ada number %d", n)
		}
		if err != nil {
			return err
		}
		if err := im.Write(start.Add(time.Duration(n) * time.Second)); err != nil {
			return err
		}
		if n == 3 {
			res := pcp.Result{Time: pcp.TimestampOf(start.Add(3500 * time.Millisecond))}
			res.AddError(pcp.NewPMID(100, 2, 3), pcp.ErrPMDANotReady)
			if err := im.PutResult(&res); err != nil {
				return err
			}
		}
	}
	if err := im.End(); err != nil {
		return err
	}
	return setPID(base)
}

// setPID gives all files of an archive the same process in their labels.
func setPID(base string) error {
	paths, err := filepath.Glob(base + ".*")
	if err != nil {
		return err
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint32(b[8:], writerPID)
		if err := os.WriteFile(p, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// damaged makes a scene and spoils it: files are keyed by the suffix of the
// base name.
func damaged(s scene, spoil func(files map[string][]byte)) func(string) error {
	return func(base string) error {
		if err := cellar(base, s); err != nil {
			return err
		}
		files := make(map[string][]byte)
		for _, part := range []string{"meta", "index", "0"} {
			b, err := os.ReadFile(base + "." + part)
			if err != nil {
				return err
			}
			files[part] = b
		}
		spoil(files)
		for _, part := range []string{"meta", "index", "0"} {
			if err := os.Remove(base + "." + part); err != nil {
				return err
			}
			if b, ok := files[part]; ok {
				if err := os.WriteFile(base+"."+part, b, 0o644); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// eventArchive writes an archive with event records, of both resolutions.
func eventArchive(base string) error {
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{
		Version: 3, PID: writerPID, Host: "cellar", TimeZone: "UTC", Start: pcp.TimestampOf(noon()),
	}})
	if err != nil {
		return err
	}
	door, bell, width, text, badge := pcp.NewPMID(100, 3, 1), pcp.NewPMID(100, 3, 2), pcp.NewPMID(100, 3, 3), pcp.NewPMID(100, 3, 4), pcp.NewPMID(100, 3, 5)
	for _, m := range []struct {
		id   pcp.PMID
		name string
		typ  pcp.Type
	}{
		{door, "door.events", pcp.TypeEvent},
		{bell, "door.bell", pcp.TypeHighResEvent},
		{width, "door.width", pcp.TypeU32},
		{text, "door.text", pcp.TypeString},
		{badge, "door.badge", pcp.TypeAggregate},
	} {
		if err := w.Desc(pcp.Desc{PMID: m.id, Type: m.typ, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, m.name); err != nil {
			return err
		}
	}
	words := func(list ...any) []byte {
		var b bytes.Buffer
		for _, v := range list {
			switch v := v.(type) {
			case int:
				binary.Write(&b, binary.BigEndian, uint32(v))
			case string:
				b.WriteString(v)
			default:
				binary.Write(&b, binary.BigEndian, v)
			}
		}
		return b.Bytes()
	}
	for n := range 5 {
		at := noon().Add(time.Duration(n) * time.Second)
		sec := int(at.Unix())
		res := pcp.Result{Time: pcp.TimestampOf(at)}
		low, high := words(0), words(0)
		switch n {
		case 1:
			low = words(2, sec, 250_000, uint32(pcp.EventPoint), 2,
				uint32(width), uint32(pcp.TypeU32)<<24|8, 42, uint32(text), uint32(pcp.TypeString)<<24|9, "open\x00\x00\x00\x00",
				sec, 750_000, uint32(pcp.EventStart|pcp.EventID), 1, uint32(width), uint32(pcp.TypeU32)<<24|8, 7)
			high = words(1, 0, sec, 0, 123_456_789, uint32(pcp.EventPoint), 0)
		case 3:
			low = words(2, sec, 0, uint32(pcp.EventMissed), 6, sec, 1, uint32(pcp.EventEnd|pcp.EventParent), 0)
			high = words(1, 0, sec, 0, 5, uint32(pcp.EventPoint), 1, uint32(text), uint32(pcp.TypeString)<<24|9, "ring\x00\x00\x00\x00")
		}
		res.AddSet(door)
		res.Add(pcp.BytesValue(pcp.TypeEvent, low).WithInst(pcp.InNull))
		res.AddSet(bell)
		res.Add(pcp.BytesValue(pcp.TypeHighResEvent, high).WithInst(pcp.InNull))
		res.AddSet(badge)
		res.Add(pcp.BytesValue(pcp.TypeAggregate, []byte("badge\x00\x01\xff")).WithInst(pcp.InNull))
		if err := w.WriteResult(&res); err != nil {
			return err
		}
	}
	return w.Close()
}

// mmvFile writes a file of memory-mapped values as a program leaves it.
func mmvFile(path string, version int) error {
	reg, err := mmv.New(filepath.Base(path), mmv.Options{
		Dir: filepath.Dir(path), Fixed: true, Cluster: version, Sentinel: version == mmv.Version2, Persist: true,
	})
	if err != nil {
		return err
	}
	long := ""
	if version > mmv.Version1 {
		long = strings.Repeat("long", 20)
	}
	dom := reg.InDom(mmv.InDomDef{Serial: 5, OneLine: "shelves", Help: "All of them", Instances: []string{"top", "b" + long, "bottom"}})
	taken := reg.CounterVec(mmv.Metric{Name: "taken" + long, InDom: dom, OneLine: "Bottles taken", Help: "By anybody"})
	reg.Gauge(mmv.Metric{Name: "level", Units: pcp.Units{DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceMByte, ScaleTime: pcp.TimeSec}}).Set(1.5)
	reg.ValueVec(mmv.Metric{Name: "e", Item: 40, InDom: dom}, mmv.TypeI32)
	text := reg.String(mmv.Metric{Name: "text", Help: "h"})
	if version == mmv.Version3 {
		if err := dom.AddInstanceLabel("top", mmv.Label{Name: "x", Value: "y"}); err != nil {
			return err
		}
	}
	if err := reg.Start(); err != nil {
		return err
	}
	taken.With("top").Add(3)
	text.Set("some text")
	return errors.Join(reg.Err(), reg.Close())
}

// vmArchive writes an archive of pmstat's metrics.
func vmArchive(base string) error {
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC", Version: 3})
	if err != nil {
		return err
	}
	loads := pcp.NewInDom(60, 2)
	for i, name := range []string{"1 minute", "5 minute", "15 minute"} {
		if err := im.AddInstance(loads, name, []int32{1, 5, 15}[i]); err != nil {
			return err
		}
	}
	kbyte := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	msec := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	count := pcp.Units{DimCount: 1}
	rows := []struct {
		name  string
		sem   pcp.Sem
		units pcp.Units
		base  int
		step  int
	}{
		{"swap.used", pcp.SemInstant, kbyte, 2048, 100},
		{"mem.util.free", pcp.SemInstant, kbyte, 900_000, -11_000},
		{"mem.util.bufmem", pcp.SemInstant, kbyte, 40_000, 20},
		{"mem.util.cached", pcp.SemInstant, kbyte, 12_000_000, 9_000},
		{"swap.pagesin", pcp.SemCounter, count, 77, 3},
		{"swap.pagesout", pcp.SemCounter, count, 88, 14},
		{"disk.all.blkread", pcp.SemCounter, count, 99, 250},
		{"disk.all.blkwrite", pcp.SemCounter, count, 1, 1100},
		{"kernel.all.intr", pcp.SemCounter, count, 5, 1234},
		{"kernel.all.pswitch", pcp.SemCounter, count, 6, 23_456},
		{"kernel.all.cpu.nice", pcp.SemCounter, msec, 1, 10},
		{"kernel.all.cpu.user", pcp.SemCounter, msec, 1, 400},
		{"kernel.all.cpu.intr", pcp.SemCounter, msec, 1, 20},
		{"kernel.all.cpu.sys", pcp.SemCounter, msec, 1, 300},
		{"kernel.all.cpu.idle", pcp.SemCounter, msec, 1, 1200},
		{"kernel.all.cpu.wait.total", pcp.SemCounter, msec, 1, 60},
		{"kernel.all.cpu.steal", pcp.SemCounter, msec, 1, 10},
	}
	for i, r := range rows {
		if _, err := im.AddMetric(r.name, pcp.Desc{
			PMID: pcp.NewPMID(60, 7, i), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: r.sem, Units: r.units,
		}); err != nil {
			return err
		}
	}
	if _, err := im.AddMetric("kernel.all.load", pcp.Desc{
		PMID: pcp.NewPMID(60, 2, 0), Type: pcp.TypeFloat, InDom: loads, Sem: pcp.SemInstant,
	}); err != nil {
		return err
	}
	for n := range 40 {
		for _, r := range rows {
			if err := im.PutValue(r.name, "", fmt.Sprint(r.base+n*r.step)); err != nil {
				return err
			}
		}
		for i, name := range []string{"1 minute", "5 minute", "15 minute"} {
			if err := im.PutValue("kernel.all.load", name, fmt.Sprint(float64(i)+float64(n)/16)); err != nil {
				return err
			}
		}
		if err := im.Write(noon().Add(time.Duration(n) * time.Second)); err != nil {
			return err
		}
	}
	if err := im.End(); err != nil {
		return err
	}
	return setPID(base)
}

// clientArchive writes an archive of the metrics that pmclient shows, of two processors:
// a minute, in the middle of which there is a gap.
func clientArchive(base string) error {
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC", Version: 3})
	if err != nil {
		return err
	}
	loads, cpus := pcp.NewInDom(60, 2), pcp.NewInDom(60, 0)
	names := map[pcp.InDom][]string{loads: {"1 minute", "5 minute", "15 minute"}, cpus: {"cpu0", "cpu1"}, pcp.InDomNull: {""}}
	for _, indom := range []pcp.InDom{loads, cpus} {
		for i, name := range names[indom] {
			if err := im.AddInstance(indom, name, int32(i)); err != nil {
				return err
			}
		}
	}
	msec := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	rows := []struct {
		name  string
		desc  pcp.Desc
		value func(n, inst int) string
	}{
		{"hinv.ncpu", pcp.Desc{Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete}, func(int, int) string { return "2" }},
		{
			"kernel.all.load",
			pcp.Desc{Type: pcp.TypeFloat, InDom: loads, Sem: pcp.SemInstant},
			func(n, i int) string { return fmt.Sprint(float64(i) + float64(n)/16) },
		},
		{
			"kernel.percpu.cpu.user",
			pcp.Desc{Type: pcp.TypeU64, InDom: cpus, Sem: pcp.SemCounter, Units: msec},
			func(n, i int) string { return fmt.Sprint(n * (400 + 900*i + n*10)) },
		},
		{
			"kernel.percpu.cpu.sys",
			pcp.Desc{Type: pcp.TypeU64, InDom: cpus, Sem: pcp.SemCounter, Units: msec},
			func(n, i int) string { return fmt.Sprint(n * (700 - 300*i)) },
		},
		{
			"mem.freemem",
			pcp.Desc{Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemInstant, Units: pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}},
			func(n, _ int) string { return fmt.Sprint(900_000 - 1_100*n) },
		},
		{
			"disk.all.total",
			pcp.Desc{Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}},
			func(n, _ int) string { return fmt.Sprint(1<<32 - 100 + 13*n*n) },
		},
	}
	for i := range rows {
		rows[i].desc.PMID = pcp.NewPMID(60, 8, i)
		if _, err := im.AddMetric(rows[i].name, rows[i].desc); err != nil {
			return err
		}
	}
	for n := range 30 {
		if n == 15 {
			if err := im.PutMark(); err != nil {
				return err
			}
			n++
		}
		for _, r := range rows {
			for i, name := range names[r.desc.InDom] {
				if r.name == "hinv.ncpu" && n%10 != 0 {
					continue
				}
				if err := im.PutValue(r.name, name, r.value(n, i)); err != nil {
					return err
				}
			}
		}
		if err := im.Write(noon().Add(time.Duration(2*n) * time.Second)); err != nil {
			return err
		}
	}
	if err := im.End(); err != nil {
		return err
	}
	return setPID(base)
}
