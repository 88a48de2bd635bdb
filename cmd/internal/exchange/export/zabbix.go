package export

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// zabbix sends values to a Zabbix server, by the protocol of its trappers: a header with a
// length, and JSON; one request and one reply for each connection.
type zabbix struct {
	*run
	server   string
	port     int
	hostID   string
	prefix   string
	discover bool    // -l: send the instances for low level discovery
	interval float64 // -E, or the number of values sent at a time from an archive

	out    outbox
	items  []zabbixItem
	known  map[string]map[string]bool // instances that were sent to discovery
	sent   float64
	sentAt bool
}

type zabbixItem struct {
	key, value string
	clock      int64
}

const (
	zabbixHeader  = "ZBXD\x01"
	archiveBatch  = 250     // values to send at a time, of an archive
	maxZabbixSend = 100_000 // values that wait to be sent at most
)

// zabbixDumper writes strings as json.dumps does.
var zabbixDumper = dumper{ascii: true}

func (x *zabbix) begin() {
	x.known = make(map[string]map[string]bool)
	x.out = outbox{env: x.env, send: x.send, complain: func(_ message, err error) {
		if isTimeout(err) {
			fmt.Fprintf(x.env.Stderr, "Zabbix connection timed out: %s\n", reason(err))
			return
		}
		fmt.Fprintf(x.env.Stderr, "Cannot send to Zabbix server %s:%d: %s\n", x.server, x.port, reason(err))
	}}
}

func (x *zabbix) write(ctx context.Context, s *sample) error {
	now := seconds(s.time)
	for i := range s.metrics {
		m := &s.metrics[i]
		news := false
		known := x.known[m.Name]
		if x.discover && known == nil {
			known, news = make(map[string]bool), true
			x.known[m.Name] = known
		}
		for j := range m.values {
			v := &m.values[j]
			key := x.prefix + m.Name
			if v.Name != "" {
				if x.discover && !known[v.Name] {
					known[v.Name], news = true, true
				}
				key += "[" + v.Name + "]"
			}
			x.items = append(x.items, zabbixItem{key, text(v.Value, m.Precision), int64(now)})
		}
		if news {
			x.items = append(x.items, zabbixItem{x.prefix + "discovery[" + x.prefix + m.Name + "]", x.instances(m.Name), int64(now)})
		}
	}
	switch {
	case x.fromArchive:
		if float64(len(x.items)) >= x.interval {
			x.flush(ctx, s.stamp)
		}
	case !x.sentAt || now-x.sent > x.interval || len(x.items) > maxZabbixSend:
		x.flush(ctx, s.stamp)
		x.sent, x.sentAt = now, true
	}
	return nil
}

// instances returns the message to discovery about a metric.
func (x *zabbix) instances(name string) string {
	macro := `"{#` + strings.ToUpper(x.prefix+name) + `}"`
	var all []string
	for _, inst := range slices.Sorted(maps.Keys(x.known[name])) {
		all = append(all, "{ "+macro+":"+string(zabbixDumper.text(nil, inst))+"}")
	}
	return `{ "data": [` + strings.Join(all, ",") + "] }"
}

func (x *zabbix) flush(ctx context.Context, stamp string) {
	b := []byte("{\n\t\"request\":\"sender data\",\n\t\"data\":[\n")
	for i, it := range x.items {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = zabbixDumper.text(append(b, "\t\t{\n\t\t\t\"host\":"...), x.hostID)
		b = zabbixDumper.text(append(b, ",\n\t\t\t\"key\":"...), it.key)
		b = zabbixDumper.text(append(b, ",\n\t\t\t\"value\":"...), it.value)
		b = fmt.Appendf(b, ",\n\t\t\t\"clock\":%d}", it.clock)
	}
	b = append(b, "]\n}"...)
	head := binary.LittleEndian.AppendUint64([]byte(zabbixHeader), uint64(len(b)))
	x.out.put(ctx, message{stamp, append(head, b...), len(x.items)})
	x.items = nil
}

func (x *zabbix) send(ctx context.Context, m message) error {
	conn, err := dial(ctx, x.server, x.port)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	conn.SetDeadline(time.Now().Add(sendTimeout))
	if _, err = conn.Write(m.body); err != nil {
		return err
	}
	head := make([]byte, len(zabbixHeader)+8)
	if n, err := io.ReadFull(conn, head); err != nil || !strings.HasPrefix(string(head), zabbixHeader) {
		if isTimeout(err) {
			return err
		}
		if x.debug {
			fmt.Fprintf(x.env.Stdout, "Invalid Zabbix response len=%d\n", n)
		}
		// It has all, and may have stored it: sent again, it might count twice.
		return fmt.Errorf("%w: no reply of a Zabbix server", errRejected)
	}
	size := binary.LittleEndian.Uint64(head[len(zabbixHeader):])
	if size > maxReply {
		return fmt.Errorf("a reply of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(conn, body); err != nil {
		return err
	}
	var reply struct{ Response, Info string }
	if err := json.Unmarshal(body, &reply); err != nil {
		return fmt.Errorf("the reply is not JSON: %w", err)
	}
	if x.debug {
		fmt.Fprintf(x.env.Stdout, "Got response from Zabbix: %s\n", body)
	}
	if reply.Response != "success" {
		return fmt.Errorf("%w: Error response from Zabbix: %s", errRejected, body)
	}
	return nil
}

func (x *zabbix) end(ctx context.Context) bool {
	if len(x.items) > 0 {
		x.flush(ctx, "")
	}
	return x.out.close(ctx)
}
