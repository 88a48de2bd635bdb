package export

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
)

// spark waits for one client, a job of Apache Spark, and sends it a line of JSON for each sample.
type spark struct {
	*run
	server string
	port   int

	conn net.Conn
}

var sparkDumper = dumper{sorted: true, itemSep: ",", keySep: ": "}

// start waits for the client.
func (x *spark) start(ctx context.Context) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp4", net.JoinHostPort(x.server, strconv.Itoa(x.port)))
	if err != nil {
		return err
	}
	defer ln.Close()
	fmt.Fprintln(x.env.Stdout, "Awaiting connection...")
	x.env.FlushOut()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	if x.conn, err = ln.Accept(); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (x *spark) write(ctx context.Context, s *sample) error {
	doc := nested{root: new(object), labels: x.what.labels}
	doc.root.set("@host-id", x.head.host)
	doc.root.set("@timestamp", number(strconv.FormatInt(micros(s.time)/1000, 10)))
	for i := range s.metrics {
		m := &s.metrics[i]
		for j := range m.values {
			v := &m.values[j]
			doc.add(m, v, numeral(rounded(v.Value, m.Precision)))
		}
	}
	line := sparkDumper.dump(nil, doc.root, 0)
	if x.debug {
		fmt.Fprintf(x.env.Stdout, "%s\n", line)
	}
	stop := context.AfterFunc(ctx, func() { x.conn.SetDeadline(time.Now()) })
	defer stop()
	x.conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	_, err := x.conn.Write(append(line, '\n'))
	if err == nil || ctx.Err() != nil {
		return err
	}
	if isTimeout(err) {
		return &conf.Error{Text: "Spark connection timed out: " + reason(err)}
	}
	return &conf.Error{Text: "Socket error: " + reason(err)}
}

func (x *spark) end(context.Context) bool {
	if x.conn != nil {
		x.conn.Close()
	}
	return true
}
