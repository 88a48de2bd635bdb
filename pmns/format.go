package pmns

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/go-pcp/pcp"
)

// WriteTo writes t in the form of pmns(5), without macros, so that Load and
// Parse read it back: the layout is that of the installed root, each subtree
// before those below it. Names that pmns(5) cannot express are an error.
func (t *Tree) WriteTo(w io.Writer) (int64, error) {
	cw := &countingWriter{w: w}
	b := bufio.NewWriter(cw)
	if err := t.root.write(b, []byte("root"), nil); err != nil {
		return cw.n, err
	}
	err := b.Flush()
	return cw.n, err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// write writes the subtree np, which is called label, and those below it.
func (np *node) write(w *bufio.Writer, label, path []byte) error {
	// More could not be read back.
	if len(label)+len(" {") > maxLine {
		return fmt.Errorf("name %.40s... of %d bytes is too long for pmns(5): %w", label, len(label), pcp.ErrPMNS)
	}
	if np.parent != nil {
		w.WriteByte('\n')
	}
	w.Write(label)
	w.WriteString(" {\n")
	for k := np.first(); k != nil; k = k.next {
		if !ValidName(k.name) || len(k.name) > maxLine-len("\t\t510:4095:1023") {
			return fmt.Errorf("pmns(5) has no way to write the component %q: %w", k.name, pcp.ErrPMNS)
		}
		w.WriteByte('\t')
		w.WriteString(k.name)
		if k.id != pcp.PMIDNull {
			b := append(w.AvailableBuffer(), '\t')
			w.Write(appendSpec(b, k.id))
		}
		w.WriteByte('\n')
	}
	if _, err := w.WriteString("}\n"); err != nil {
		return err
	}
	for k := np.first(); k != nil; k = k.next {
		if k.id != pcp.PMIDNull {
			continue
		}
		full := path
		if len(full) > 0 {
			full = append(full, '.')
		}
		full = append(full, k.name...)
		if err := k.write(w, full, full); err != nil {
			return err
		}
	}
	return nil
}

func appendSpec(b []byte, id pcp.PMID) []byte {
	if id.IsDynamicRoot() {
		return append(strconv.AppendInt(b, int64(id.Cluster()), 10), ":*:*"...)
	}
	b = append(strconv.AppendInt(b, int64(id.Domain()), 10), ':')
	b = append(strconv.AppendInt(b, int64(id.Cluster()), 10), ':')
	return strconv.AppendInt(b, int64(id.Item()), 10)
}
