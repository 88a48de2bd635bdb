package conf

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// MaxSize is the maximum size of a file, in bytes.
const MaxSize = 1 << 20

// DefaultExclude returns the metrics that are excluded from the series by default: those of processes.
func DefaultExclude() []string { return []string{"proc.*", "acct.*"} }

// DefaultExcludeInDoms returns the instance domains that are excluded by default: those of
// processes and of their open files.
func DefaultExcludeInDoms() []pcp.InDom {
	return []pcp.InDom{pcp.NewInDom(3, 9), pcp.NewInDom(3, 40), pcp.NewInDom(79, 7)}
}

// A File holds the settings of a pmproxy.conf. The zero File has the defaults of
// an empty file, except that the pointers and slices are nil for settings that
// are not set.
type File struct {
	NoPCP, NoHTTP, NoSecure bool

	// NoSeries and NoSearch disable these requests. NoDiscover excludes the archives of this
	// host's loggers from the series.
	NoSeries, NoSearch, NoDiscover bool
	// NoColumns neither makes nor uses columns of archives.
	NoColumns   bool
	NoPush      bool // disables receiving archives (/logger)
	SearchCount int  // number of /search results, 0 if not set

	// PushAnybody lets unauthorised clients push archives, PushHosts are patterns for the hosts whose archives are
	// accepted, PushTimeout is the idle time after which a push ends, and PushQuota the maximum number of bytes of
	// the archives of each host, 0 if not set.
	PushAnybody bool
	PushHosts   []string
	PushTimeout time.Duration
	PushQuota   int64
	PushKeep    time.Duration // age at which pushed archives are removed, 0 for never

	// ExcludeMetrics are patterns of the names of metrics excluded from the series; metrics of the
	// instance domains in ExcludeInDoms are excluded too. Nil means DefaultExclude and
	// DefaultExcludeInDoms.
	ExcludeMetrics []string
	ExcludeInDoms  []pcp.InDom

	// Engine has the settings of [pmseries] whose names are engine or begin with "engine.".
	Engine map[string]string

	// KeyServers are the key servers with series, HOST:PORT, several if they are a cluster. NoKeys leaves them alone. If ForwardKeys is set,
	// clients that speak the protocol of key servers are forwarded to the first.
	KeyServers  []string
	ForwardKeys bool
	NoKeys      bool

	KeyUser, KeyPassword string

	// KeyMaxLen is the number of values of a series that a key server keeps, KeyExpire the time without new values after which it removes
	// them, and KeyCount how many strings a scan asks for; 0 if not set.
	KeyMaxLen int64
	KeyExpire time.Duration
	KeyCount  int

	ranks map[string]int // of the sections that set them

	MaxPending int           // connections that may wait to be accepted, 0 if not set
	KeepAlive  time.Duration // 0 if not set, negative for no probes
	MaxClients int           // 0 if not set
	MaxBody    int64         // 0 if not set

	// TLS settings, which override those of tls.conf.
	Certificates, PrivateKey, Authority, CipherList, CipherSuites string

	Collectors, Hosts, Headers []string
	Tokens                     string
	RequireAuth, DistrustLocal bool
	LendRights                 bool // any client may name the Unix socket of a collector

	// Notes describe the settings without effect, with the reason, one sentence each.
	Notes []string
}

// ReadFile reads a file. Errors name the file and the line.
func ReadFile(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, err
	}
	f, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Parse parses the text of a file. The last setting of a key wins. Errors name the
// line.
func Parse(text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("more than %d bytes", MaxSize)
	}
	f := new(File)
	section := ""
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			name, _, ok := strings.Cut(line[1:], "]")
			if !ok {
				return nil, fmt.Errorf("line %d: no ] after the name of a section", n)
			}
			section = name
			continue
		}
		i := strings.IndexAny(line, "=:")
		if i <= 0 {
			return nil, fmt.Errorf("line %d: want [SECTION] or KEY = VALUE", n)
		}
		key, value := strings.TrimSpace(line[:i]), uncomment(line[i+1:])
		if err := f.set(section, key, value); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return f, nil
}

// uncomment removes the comment after a value.
func uncomment(s string) string {
	for i := 1; i < len(s); i++ {
		if s[i] == ';' && (s[i-1] == ' ' || s[i-1] == '\t') {
			s = s[:i]
			break
		}
	}
	return strings.TrimSpace(s)
}

func (f *File) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, have := range f.Notes {
		if have == text {
			return
		}
	}
	f.Notes = append(f.Notes, text)
}

// set applies a setting.
func (f *File) set(section, key, value string) (err error) {
	if section != "pmproxy" {
		return f.setOther(section, key, value)
	}
	switch key {
	case "pcp.enabled":
		f.NoPCP, err = off(key, value)
	case "http.enabled":
		f.NoHTTP, err = off(key, value)
	case "secure.enabled":
		f.NoSecure, err = off(key, value)
	case "redis.enabled", "resp.enabled":
		f.ForwardKeys, err = choice(key, value, "false", "true")
	case "maxpending":
		n, nerr := number(key, value, 1<<20)
		f.MaxPending, err = int(n), nerr
	case "chunksize":
		f.note("chunksize is ignored: answers are sent in pieces as they come")
	case "keepalive":
		n, nerr := number(key, value, 1<<20)
		f.KeepAlive, err = time.Duration(n)*time.Second, nerr
		if n == 0 && nerr == nil {
			f.KeepAlive = -1
		}
	case "maxclients":
		var n int64
		if n, err = number(key, value, 1<<24); err == nil && n == 0 {
			err = fmt.Errorf("%s: 0 would let nobody in", key)
		}
		f.MaxClients = int(n)
	case "http.maxbody":
		if f.MaxBody, err = number(key, value, 1<<40); err == nil && f.MaxBody == 0 {
			err = fmt.Errorf("%s: 0 would refuse all bodies", key)
		}
	case "certificates":
		f.Certificates = value
	case "private_key":
		f.PrivateKey = value
	case "authority":
		f.Authority = value
	case "cipher_list":
		f.CipherList = value
	case "cipher_suites":
		f.CipherSuites = value
	case "pcp.hosts":
		f.Collectors = list(value)
	case "http.hosts":
		f.Hosts = list(value)
	case "http.headers":
		f.Headers = list(value)
	case "http.tokens":
		f.Tokens = value
	case "http.auth":
		f.RequireAuth, err = choice(key, value, "optional", "required")
	case "http.sockets":
		f.LendRights, err = choice(key, value, "authorised", "anybody")
	case "http.trust":
		f.DistrustLocal, err = choice(key, value, "local", "none")
	default:
		f.note("%s of [pmproxy] is ignored: no such setting is known", key)
	}
	return err
}

// setOther applies a setting of a section other than [pmproxy].
func (f *File) setOther(section, key, value string) (err error) {
	if section == "pmseries" && (key == "engine" || slices.Contains(engineSettings(), key)) {
		if f.Engine == nil {
			f.Engine = map[string]string{}
		}
		f.Engine[key] = value
		return nil
	}
	switch section + " " + key {
	case "pmseries enabled":
		f.NoSeries, err = off(key, value)
	case "pmseries columns":
		f.NoColumns, err = off(key, value)
	case "pmsearch enabled":
		f.NoSearch, err = off(key, value)
	case "pmlogger enabled":
		f.NoPush, err = off(key, value)
	case "pmlogger authenticate":
		f.PushAnybody, err = choice(key, value, "true", "false")
	case "pmlogger hosts":
		f.PushHosts = list(value)
	case "pmlogger timeout":
		n, nerr := number(key, value, 1<<31)
		f.PushTimeout, err = time.Duration(n)*time.Millisecond, nerr
	case "pmlogger quota":
		if f.PushQuota, err = ParseSize(value); err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
	case "pmlogger keep":
		n, nerr := number(key, value, 36500)
		f.PushKeep, err = time.Duration(n)*24*time.Hour, nerr
	case "discover exclude.metrics":
		f.ExcludeMetrics = append([]string{}, list(value)...)
	case "discover exclude.indoms":
		f.ExcludeInDoms = []pcp.InDom{}
		for _, text := range list(value) {
			domain, serial, _ := strings.Cut(text, ".")
			d, derr := strconv.ParseUint(domain, 10, 9)
			n, nerr := strconv.ParseUint(serial, 10, 22)
			if derr != nil || nerr != nil {
				return fmt.Errorf("%s: %q is not an instance domain", key, text)
			}
			f.ExcludeInDoms = append(f.ExcludeInDoms, pcp.NewInDom(int(d), int(n)))
		}
	case "discover enabled":
		f.NoDiscover, err = off(key, value)
	case "pmsearch count", "pmsearch result.count":
		n, nerr := number(key, value, 1<<20)
		f.SearchCount, err = int(n), nerr
	case "redis servers", "keys servers", "pmseries servers", "pmsearch servers":
		if f.outranks("servers", section) {
			f.KeyServers = list(value)
		}
	case "redis username", "keys username", "pmseries auth.username":
		if f.outranks("username", section) {
			f.KeyUser = value
		}
	case "redis password", "keys password", "pmseries auth.password":
		if f.outranks("password", section) {
			f.KeyPassword = value
		}
	case "redis enabled", "keys enabled", "resp enabled":
		f.NoKeys, err = off(key, value)
	case "pmseries stream.maxlen":
		if f.KeyMaxLen, err = number(key, value, 1<<40); err == nil && f.KeyMaxLen == 0 {
			err = fmt.Errorf("%s: 0 would keep no values", key)
		}
	case "pmseries stream.expire":
		n, nerr := number(key, value, 1<<31)
		if f.KeyExpire, err = time.Duration(n)*time.Second, nerr; err == nil && n == 0 {
			err = fmt.Errorf("%s: 0 would keep no values", key)
		}
	case "pmseries cursor.count":
		n, nerr := number(key, value, 1<<20)
		f.KeyCount, err = int(n), nerr
	default:
		switch section {
		case "redis", "keys", "resp", "pmseries", "pmsearch":
			f.note("%s of [%s] is ignored: no such setting is known", key, section)
		case "discover":
			f.note("%s of [discover] is ignored: no such setting is known", key)
		case "pmlogger":
			f.note("%s of [pmlogger] is ignored: what is pushed to this server it keeps in archives", key)
		default:
			f.note("[%s] is ignored: no such section is known", section)
		}
	}
	return err
}

// outranks reports whether a section has at least the rank of the section that set a key before: [keys] is before [redis],
// and [redis] before the others.
func (f *File) outranks(key, section string) bool {
	rank := map[string]int{"keys": 3, "redis": 2, "pmseries": 1}[section]
	if rank < f.ranks[key] {
		return false
	}
	if f.ranks == nil {
		f.ranks = map[string]int{}
	}
	f.ranks[key] = rank
	return true
}

// engineSettings returns the names of the settings for connections to an engine.
func engineSettings() []string {
	return []string{"engine.token", "engine.user", "engine.password", "engine.ca", "engine.cert", "engine.key"}
}

// off parses a switch, and reports whether it is off.
func off(key, value string) (bool, error) { return choice(key, value, "true", "false") }

// choice parses one of two words.
func choice(key, value, no, yes string) (bool, error) {
	switch value {
	case no:
		return false, nil
	case yes:
		return true, nil
	}
	return false, fmt.Errorf("%s is %q: want %s or %s", key, value, no, yes)
}

func number(key, value string, limit int64) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > limit {
		return 0, fmt.Errorf("%s is %q: want a number from 0 to %d", key, value, limit)
	}
	return n, nil
}

// ParseSize parses a number of bytes above 0, which may end in kb, mb, gb or tb.
func ParseSize(value string) (int64, error) {
	digits, unit := strings.ToLower(value), int64(1)
	for i, suffix := range []string{"kb", "mb", "gb", "tb"} {
		if d, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = d, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is not a size such as 500mb or 10gb", value)
	}
	return n * unit, nil
}

func list(value string) (words []string) {
	for w := range strings.SplitSeq(value, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}
