package cifs

import (
	"bytes"
	"fmt"

	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A line describes a line of Stats: the text that it begins with, and the keys of its numbers, in order.
type line struct {
	prefix string
	keys   []string
}

// allLines are the lines before those of shares.
func allLines() []line {
	return []line{
		{"CIFS Session:", []string{"session"}},
		{"Share (unique mount targets):", []string{"shares"}},
		{"SMB Request/Response Buffer:", []string{"buffer", "pool_size"}},
		{"SMB Small Req/Resp Buffer:", []string{"small_buffer", "small_pool_size"}},
		{"Operations (MIDs):", []string{"mid_operations"}},
		{"Total vfs operations:", []string{"vfs_operations", "vfs_operations_max"}},
	}
}

// shareLines are the lines of a share, as a version of the module writes them.
func shareLines(version uint64) []line {
	if version < 2 {
		return []line{
			{"SMBs:", []string{"smbs", "oplock_breaks"}},
			{"Reads:", []string{"read", "read_bytes"}},
			{"Writes:", []string{"write", "write_bytes"}},
			{"Flushes:", []string{"flushes"}},
			{"Locks:", []string{"locks", "hard_links", "sym_links"}},
			{"Opens:", []string{"open", "close", "delete"}},
			{"Posix Opens:", []string{"posix_open", "posix_mkdir"}},
			{"Mkdirs:", []string{"mkdir", "rmdir"}},
			{"Renames:", []string{"rename", "t2_rename"}},
			{"FindFirst:", []string{"find_first", "find_next", "find_close"}},
		}
	}
	lines := []line{{"SMBs:", []string{"smbs"}}, {"Bytes read:", []string{"read_bytes", "write_bytes"}}}
	for _, l := range [...][2]string{
		{"Negotiates:", "negotiates"},
		{"SessionSetups:", "sessionsetups"},
		{"Logoffs:", "logoffs"},
		{"TreeConnects:", "treecons"},
		{"TreeDisconnects:", "treediscons"},
		{"Creates:", "creates"},
		{"Closes:", "close"},
		{"Flushes:", "flushes"},
		{"Reads:", "read"},
		{"Writes:", "write"},
		{"Locks:", "locks"},
		{"IOCTLs:", "IOCTLs"},
		{"Cancels:", "cancels"},
		{"Echos:", "echos"},
		{"QueryDirectories:", "querydirs"},
		{"ChangeNotifies:", "changenotifies"},
		{"QueryInfos:", "queryinfos"},
		{"SetInfos:", "setinfos"},
		{"OplockBreaks:", "oplock_breaks"},
	} {
		lines = append(lines, line{l[0], []string{l[1], l[1] + "_fails"}})
	}
	return lines
}

// stats reads the file Stats. It accepts any bytes.
func (r *reader) stats(text []byte) {
	all, shares := r.blocks[blockAll], r.blocks[blockShares]
	all.Clear()
	shares.Clear()
	r.shares.Begin()
	if r.version[0] > 0 {
		all.SetText(0, all.Column("version"), fmt.Sprintf("%d.%d", r.version[0], r.version[1]))
	}
	b, row, lines := all, 0, allLines()
	for l := range procfs.Lines(text) {
		if at := bytes.Index(l, []byte(`\\`)); at >= 0 {
			name, rest := procfs.Field(l[at:])
			b, lines = shares, shareLines(r.version[0])
			if row = add(shares, &r.shares, name); row < 0 {
				lines = nil // nor the lines that follow
				continue
			}
			connected := uint64(1)
			if bytes.HasPrefix(procfs.Skip(rest), []byte("DISCONNECTED")) {
				connected = 0
			}
			b.Set(row, b.Column("connected"), connected)
			continue
		}
		if b == all && bytes.Contains(l, []byte("share reconnects")) {
			set(all, 0, l, []string{"total_operations", "total_reconnects"})
			continue
		}
		for _, want := range lines {
			if rest, ok := bytes.CutPrefix(procfs.Skip(l), []byte(want.prefix)); ok {
				set(b, row, rest, want.keys)
				break
			}
		}
	}
}

// set sets the values of keys to the numbers of a text, in order. Words between them are passed over.
func set(b *column.Block, row int, text []byte, keys []string) {
	for _, key := range keys {
		for {
			var word []byte
			if word, text = procfs.Field(text); len(word) == 0 {
				return
			}
			if v, rest, ok := procfs.Uint(word); ok && len(rest) == 0 {
				b.Set(row, b.Column(key), v)
				break
			}
		}
	}
}

// add adds an instance, and returns its row; -1 if there are too many, if it has no name, or if it is there already.
func add(b *column.Block, names *column.Names, name []byte) int {
	if len(name) == 0 || len(name) > maxName || b.Rows() == maxRows || bytes.IndexByte(name, 0) >= 0 {
		return -1
	}
	id, text := names.ID(name)
	if b.Has(id) {
		return -1
	}
	return b.AddNamed(id, text)
}

// debug reads the file DebugData. It accepts any bytes.
func (r *reader) debug(text []byte) {
	for _, b := range r.blocks[:blockAll] {
		b.Clear()
	}
	r.servers.Begin()
	r.sessions.Begin()
	r.connected.Begin()
	r.version = [2]uint64{}
	block, row := blockDebug, 0
	for l := range procfs.Lines(text) {
		switch version, ok := bytes.CutPrefix(l, []byte("CIFS Version ")); {
		case ok:
			var rest []byte
			if r.version[0], rest, ok = procfs.Uint(version); ok && len(rest) > 0 && rest[0] == '.' {
				r.version[1], _, _ = procfs.Uint(rest[1:])
			}
			continue
		case bytes.Contains(l, []byte("ConnectionId:")):
			block, row = blockServers, add(r.blocks[blockServers], &r.servers, field(l, "Hostname:"))
		case bytes.Contains(l, []byte(") Address:")):
			number, _, _ := bytes.Cut(procfs.Skip(l), []byte(")"))
			name := fmt.Appendf(nil, "%s::%s", field(l, "Address:"), number)
			block, row = blockSessions, add(r.blocks[blockSessions], &r.sessions, name)
		case bytes.Contains(l, []byte("DevInfo:")):
			at := bytes.Index(l, []byte(`\\`))
			if at < 0 {
				row = -1
				continue
			}
			name, _ := procfs.Field(l[at:])
			block, row = blockConnections, add(r.blocks[blockConnections], &r.connected, name)
		}
		if row >= 0 {
			r.fill(block, row, l)
		}
	}
}

// fill sets the values of a row whose keys are in a line, unless they have values.
func (r *reader) fill(block, row int, l []byte) {
	b := r.blocks[block]
	for key, col := range b.Keys() {
		if b.Row(row)[col].OK {
			continue
		}
		text := field(l, key)
		if len(text) == 0 {
			continue
		}
		if r.texts[block][col] {
			b.SetString(row, col, text)
		} else if v, _, ok := procfs.Uint(text); ok { // behind a comma are the credits of other kinds
			b.Set(row, col, v)
		}
	}
}

// field returns the word behind a key that begins a line or follows a blank.
func field(l []byte, key string) []byte {
	for from := 0; ; {
		i := bytes.Index(l[from:], []byte(key))
		if i < 0 {
			return nil
		}
		at := from + i
		from = at + len(key)
		if at == 0 || l[at-1] == ' ' || l[at-1] == '\t' {
			word, _ := procfs.Field(l[from:])
			return word
		}
	}
}
