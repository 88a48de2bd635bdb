package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
)

// Limits of the messages that an outbox holds for a receiver that does not accept them. Older
// messages are dropped, and the loss is reported.
const (
	maxHeld      = 1000
	maxHeldBytes = 32 << 20
)

// How often a message is tried at once, and how long the first pause between two tries is; each
// later one is twice as long. A receiver that is known to be away gets one try for each new message.
const (
	attempts   = 4
	firstPause = 100 * time.Millisecond
)

// errRejected wraps the error of a receiver that would refuse the message again.
var errRejected = errors.New("rejected")

// An outbox delivers messages in order to a receiver that may be slow, refuse or be away for a while.
type outbox struct {
	env *cli.Env
	// send delivers a message. An error that is errRejected has the message dropped, for any other one it
	// is tried again, now or with the next message.
	send func(ctx context.Context, msg message) error
	// complain prints why a message was not taken, as the program in question does.
	complain func(msg message, err error)

	held    []message
	bytes   int
	away    bool
	dropped int
}

// A message is a sample in the form for a receiver.
type message struct {
	stamp string // the time of the sample, for messages to the user
	body  []byte
	size  int // how many values are in it
}

// put takes a message, which it keeps, and delivers as many as it can.
func (o *outbox) put(ctx context.Context, m message) {
	o.held = append(o.held, m)
	o.bytes += len(m.body)
	for len(o.held) > 1 && (len(o.held) > maxHeld || o.bytes > maxHeldBytes) {
		o.drop()
	}
	o.deliver(ctx)
}

func (o *outbox) pop() {
	o.bytes -= len(o.held[0].body)
	o.held[0] = message{}
	o.held = o.held[1:]
}

func (o *outbox) drop() {
	o.dropped++
	o.pop()
}

// deliver sends the held messages as long as the receiver takes them.
func (o *outbox) deliver(ctx context.Context) {
	for len(o.held) > 0 {
		err := o.try(ctx, o.held[0])
		switch {
		case err == nil:
			o.away = false
			o.pop()
		case errors.Is(err, errRejected):
			o.complain(o.held[0], err)
			o.drop()
		default:
			o.complain(o.held[0], err)
			o.away = true
			return
		}
	}
}

func (o *outbox) try(ctx context.Context, m message) (err error) {
	n := attempts
	if o.away {
		n = 1
	}
	for i, pause := 0, firstPause; ; i, pause = i+1, 2*pause {
		if err = o.send(ctx, m); err == nil || errors.Is(err, errRejected) || i+1 == n || !pacing.Sleep(ctx, pause) {
			return err
		}
	}
}

// close gives the receiver a last chance, prints the number of lost messages, and reports whether
// there were none.
func (o *outbox) close(ctx context.Context) bool {
	if len(o.held) > 0 {
		o.away = false
		o.deliver(ctx)
	}
	o.dropped += len(o.held)
	o.held = nil
	if o.dropped > 0 {
		fmt.Fprintf(o.env.Stderr, "%s: %d samples were not delivered\n", o.env.Name, o.dropped)
	}
	return o.dropped == 0
}
