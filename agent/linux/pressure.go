package linux

import (
	"bytes"

	"github.com/go-pcp/pcp/internal/procfs"
)

// A pressureFile is one of /proc/pressure, with where its two lines go.
type pressureFile struct {
	file       *procfs.File
	some, full blockID // averages; the total of each is in the block after it
}

func (p *pressureFile) read(a *Agent) error {
	b, err := p.file.Read()
	if err != nil {
		return err
	}
	for _, l := range [...]struct {
		key   string
		block blockID
	}{{"some", p.some}, {"full", p.full}} {
		if l.block == blockConst {
			continue
		}
		avg, total := &a.blocks[l.block], &a.blocks[l.block+1]
		avg.clear()
		total.clear()
		parsePressure(b, l.key, avg, total)
	}
	return nil
}

// parsePressure finds the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"
// that starts with key.
func parsePressure(b []byte, key string, avg, total *block) {
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		word, line := procfs.Field(line)
		if string(word) != key {
			continue
		}
		var avgs [3]float64
		for i, name := range [...]string{"avg10=", "avg60=", "avg300="} {
			if word, line = procfs.Field(line); !bytes.HasPrefix(word, []byte(name)) {
				return
			}
			if avgs[i], _, ok = procfs.Float(word[len(name):]); !ok {
				return
			}
		}
		if word, _ = procfs.Field(line); !bytes.HasPrefix(word, []byte("total=")) {
			return
		}
		v, _, ok := procfs.Uint(word[len("total="):])
		if !ok {
			return
		}
		for i, inst := range [...]int32{10, 60, 300} {
			avg.set(avg.add(inst), 0, floatBits(avgs[i]))
		}
		total.set(0, 0, v)
		return
	}
}

// readPressureNames fills the block that lists the instances of the averages.
// They are there with or without a kernel that reports pressure.
func readPressureNames(a *Agent) error {
	b := &a.blocks[blockPressure]
	if b.rows() == 0 {
		b.addNamed(10, "10 second")
		b.addNamed(60, "1 minute")
		b.addNamed(300, "5 minute")
	}
	return nil
}
