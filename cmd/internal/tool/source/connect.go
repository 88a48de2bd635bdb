package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"sync"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/storage"
	"github.com/go-pcp/pcp/pmapi"
)

// An attempt is one try to connect to a collector.
type attempt struct {
	network, address string
	err              error
}

// attempts has the attempts of all connections so far.
type attempts struct {
	mu   sync.Mutex
	list []attempt
}

// attemptsOf is the key of a context whose value are the attempts of one connection to a collector.
type attemptsOf struct{}

// dial is net.Dialer's DialContext, and records the result, in the attempts of the context if it
// has any.
func (a *attempts) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, network, address)
	if own, ok := ctx.Value(attemptsOf{}).(*attempts); ok {
		a = own
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, attempt{network, address, err})
	return conn, err
}

// take returns the attempts since the last call.
func (a *attempts) take() []attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.list
	a.list = nil
	return list
}

// set replaces the attempts by those of a list.
func (a *attempts) set(list []attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = list
}

// where is the address of an attempt for people.
func (a *attempt) where() string {
	if a.network == "unix" {
		return "socket " + a.address
	}
	return a.address
}

// why returns the error of an attempt without the address.
func (a *attempt) why() string {
	var oe *net.OpError
	var errno syscall.Errno
	switch {
	case errors.Is(a.err, context.DeadlineExceeded):
		return "no answer"
	case errors.As(a.err, &errno):
		return errno.Error()
	case errors.As(a.err, &oe):
		return oe.Err.Error()
	}
	return a.err.Error()
}

// CannotConnect reports a failed connection to a collector, and returns 1 for the
// exit status. The message is that of the C tools under a classic name; under
// "pcp" it has the reason and what to do next.
func (o *Options) CannotConnect(host string, err error) int {
	host = pmapi.HidePassword(host)
	if o.env.Classic() { // the rest is Dial's advice
		return o.env.Fatalf("Cannot connect to PMCD on host \"%s\": %s", host, cli.ErrText(err))
	}
	return o.env.Fatalf("%s", o.WhyNoCollector(host, err))
}

// WhyNoCollector returns why a connection to a collector failed and what to do
// next, in lines, for a command that prints it itself.
func (o *Options) WhyNoCollector(host string, err error) string {
	o.env.Advise(nil)
	return o.whyNoCollector(host, o.attempts.take(), err)
}

func (o *Options) whyNoCollector(host string, tried []attempt, err error) string {
	host = pmapi.HidePassword(host)
	at := host // the address that answered
	answered := false
	for _, a := range tried {
		if a.err == nil {
			at, answered = a.where(), true
		}
	}
	var dns *net.DNSError
	var de *pmapi.DialError
	cause := err
	if errors.As(err, &de) && de.Err != nil {
		cause = de.Err
	}
	_, badTLS := errors.AsType[*pmapi.TLSError](err)
	_, badSpec := errors.AsType[*pmapi.SpecError](err)
	code := pcp.Code(err)
	switch {
	case errors.Is(err, errWebServer):
		return fmt.Sprintf("%s answers as a web server does, and not as a collector.\n"+
			"The port of a collector is usually %d.", at, pmapi.DefaultPort)
	case badSpec:
		return fmt.Sprintf("%q does not name a collector; HOST, HOST:PORT, pcps://HOST and unix:PATH do", host)
	case badTLS:
		return cause.Error()
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return fmt.Sprintf("no host has the name %q", dns.Name)
		}
		return fmt.Sprintf("the name %q cannot be resolved: %s", dns.Name, dns.Err)
	case answered && code == -pcp.Error(syscall.EOPNOTSUPP):
		return o.notOffered(at, host, cause)
	case code == -pcp.Error(syscall.EOPNOTSUPP):
		return cause.Error()
	case answered && (code == pcp.ErrIPC || errors.Is(err, pcp.ErrTimeout)):
		return fmt.Sprintf("%s answers, but not as a collector does; another program may have that port.\n"+
			"The port of a collector is usually %d.", at, pmapi.DefaultPort)
	case answered && code == pcp.ErrPermission:
		return fmt.Sprintf("the collector at %s does not admit this client, because of its access rules", at)
	case answered || len(tried) == 0:
		return fmt.Sprintf("%s: %v", at, cause)
	}
	return o.nobodyAnswers(host, tried)
}

// notOffered returns the message about a feature that a collector lacks.
func (o *Options) notOffered(at, host string, cause error) string {
	switch text := cause.Error(); {
	case strings.Contains(text, "does not offer TLS"):
		plain := strings.Replace(host, "pcps://", "pcp://", 1)
		return fmt.Sprintf("the collector at %s does not offer TLS.\n"+
			"For a plain connection use -h %s; for TLS start it with a certificate: %s up --tls FILE", at, plain, o.env.Pcp())
	case strings.Contains(text, "does not know containers"):
		return fmt.Sprintf("the collector at %s cannot look into containers: that takes pmcd with the agent \"root\".\n"+
			"\"%s agent list\" lists its agents.", at, o.env.Pcp())
	default:
		return fmt.Sprintf("the collector at %s: %s", at, text)
	}
}

// nobodyAnswers lists the addresses where no collector answered.
func (o *Options) nobodyAnswers(host string, tried []attempt) string {
	var b strings.Builder
	local := strings.HasPrefix(host, "local:")
	if local {
		b.WriteString("no collector answers on this machine.")
	} else {
		fmt.Fprintf(&b, "no collector answers at %s.", host)
	}
	for _, a := range tried {
		if a.err != nil {
			fmt.Fprintf(&b, "\n  %s: %s", a.where(), a.why())
		}
	}
	pcp := o.env.Pcp()
	running := o.env.Running()
	for i := range running {
		fmt.Fprintf(&b, "\n\"pcp up\" started one: use -h %s", running[i].Host())
	}
	switch {
	case len(running) > 0:
	case local || strings.Contains(host, "localhost") || strings.HasPrefix(host, "unix:"):
		fmt.Fprintf(&b, "\nStart one: %s up", pcp)
	default:
		fmt.Fprintf(&b, "\nIs it running there, and does it serve other hosts? (%s up --all does)", pcp)
	}
	return b.String()
}

// noteOther prints a note, once, if no host was named and another collector than the
// user's own answered for the local host.
func (o *Options) noteOther(host string, tried []attempt) {
	if o.env.Classic() || len(o.Hosts) > 0 || host != o.Host() {
		return
	}
	var to *attempt
	for _, a := range tried {
		if a.err == nil {
			to = &a
		}
	}
	running := o.env.Running()
	if to == nil || len(running) == 0 {
		return
	}
	for i := range running {
		if running[i].Serves(to.network, to.address) {
			return
		}
	}
	if o.noted.Swap(true) {
		return
	}
	r := &running[0]
	o.env.FlushOut()
	fmt.Fprintf(o.env.Stderr, "%s: note: the collector at %s answers, not the one that \"pcp up\" started; that is -h %s\n",
		o.env.ProgName(), to.where(), r.Host())
}

// CannotOpen is like CannotConnect, for an archive.
func (o *Options) CannotOpen(path string, err error) int {
	if o.env.Classic() {
		var damaged interface {
			error
			Decompressing() string // the message of the program that C runs to expand the file
		}
		if errors.As(err, &damaged) {
			o.env.FlushOut()
			fmt.Fprintln(o.env.Stderr, damaged.Decompressing())
		}
		return o.env.Fatalf("Cannot open archive \"%s\": %s", path, cli.ErrText(err))
	}
	return o.env.Fatalf("%s", o.WhyNoArchive(path, err))
}

// WhyNoArchive returns the message for an archive that cannot be opened, with a path as given.
func (o *Options) WhyNoArchive(path string, err error) string {
	o.env.Advise(nil)
	st, statErr := storage.Stat(path)
	none := o.nothingRecorded(path, err)
	switch {
	case none != "":
		return none
	case path == "":
		return "the name of the archive is empty"
	case errors.Is(err, fs.ErrPermission) || errors.Is(statErr, fs.ErrPermission):
		return fmt.Sprintf("%s: this user may not read the archive", path)
	case strings.Contains(path, ","):
	case errors.Is(err, fs.ErrNotExist) && statErr == nil && st.IsDir():
		return fmt.Sprintf("%s: the directory has no archives", path)
	case errors.Is(err, fs.ErrNotExist) && statErr == nil:
		return fmt.Sprintf("%s is a file, but not of an archive: those are called NAME.0, NAME.meta and NAME.index", path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no archive %s: no file is called %[1]s.meta, %[1]s.index or %[1]s.0", path)
	}
	if code := pcp.Code(err); code == pcp.ErrLogRec || code == pcp.ErrLabel {
		return fmt.Sprintf("%v\n\"%s archive verify %s\" lists the damage.", err, o.env.Pcp(), path)
	}
	return fmt.Sprintf("cannot open archive %s: %v", path, err)
}
