package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/internal/sasl"
)

// An AccountsConfig has the paths of accounts. The files need not exist, or not
// yet: they are read again when they have changed.
type AccountsConfig struct {
	// Users is the path of a file that pcp passwd writes; "" is none.
	Users string

	// SASL are directories in which to look for pmcd.conf, the configuration
	// of the SASL library for pmcd; the first one found counts.
	SASL []string

	// HostName is the realm of accounts in the SASL library's database; ""
	// asks the system.
	HostName string

	// Log gets a line for each setting or file that cannot be read or is not
	// supported; nil discards.
	Log *slog.Logger
}

// Accounts are an Authenticator over two kinds of accounts: those of a file
// of ours, and those that saslpasswd2(8) writes for the C collector. A name that
// is in both is that of the first.
type Accounts struct {
	cfg    AccountsConfig
	secret [32]byte      // salts of names that lack one
	slots  chan struct{} // taken while a password is hashed

	mu     sync.Mutex
	stamps []fileStamp
	now    *accountFiles // immutable
}

// accountFiles are the contents of the files when they were read last.
type accountFiles struct {
	mechanisms []string
	users      sasl.Users
	db         sasl.Database
	dbPlain    bool // passwords may be checked with db
}

// A fileStamp shows whether a file has changed.
type fileStamp struct {
	path string
	size int64
	time time.Time
	info fs.FileInfo // nil: not there
}

func stampFile(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{path: path}
	}
	return fileStamp{path, info.Size(), info.ModTime(), info}
}

func (s fileStamp) same() bool {
	t := stampFile(s.path)
	if s.info == nil || t.info == nil {
		return s.info == t.info
	}
	return s.size == t.size && s.time.Equal(t.time) && os.SameFile(s.info, t.info)
}

// NewAccounts returns the accounts of cfg.
func NewAccounts(cfg AccountsConfig) *Accounts {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.HostName == "" {
		cfg.HostName, _ = os.Hostname()
	}
	a := &Accounts{cfg: cfg, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	rand.Read(a.secret[:])
	a.files()
	return a
}

// Mechanisms returns the mechanisms that the configuration of the SASL library
// lists, except unsupported ones; without such a list the best ones.
func (a *Accounts) Mechanisms() []string { return a.files().mechanisms }

// Begin begins an exchange.
func (a *Accounts) Begin(first []byte) (Exchange, error) {
	f := a.files()
	s, err := sasl.NewServer(f.mechanisms, &accountBook{a, f}, first)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// files reads the files that have changed.
func (a *Accounts) files() *accountFiles {
	a.mu.Lock()
	defer a.mu.Unlock()
	changed := a.now == nil || slices.ContainsFunc(a.stamps, func(s fileStamp) bool { return !s.same() })
	if changed {
		a.stamps = nil
		a.now = a.read()
	}
	return a.now
}

// lacks reports whether some of our accounts cannot use a mechanism: clients would
// choose it, though they could use another.
func (f *accountFiles) lacks(mechanism string) bool {
	if mechanism == sasl.Plain {
		return false
	}
	for _, list := range f.users {
		if !slices.ContainsFunc(list, func(v sasl.Verifier) bool { return v.Mechanism == mechanism }) {
			return true
		}
	}
	return false
}

// open opens a file whose changes must be noticed.
func (a *Accounts) open(path string) (*os.File, error) {
	a.stamps = append(a.stamps, stampFile(path))
	return os.Open(path)
}

func (a *Accounts) read() *accountFiles {
	f := &accountFiles{mechanisms: []string{sasl.ScramSHA512, sasl.ScramSHA256, sasl.Plain}}
	conf, path, ok := a.readConf()
	if ok && conf.Mechanisms != nil {
		f.mechanisms = nil
		for _, name := range conf.Mechanisms {
			if !sasl.IsKnown(name) {
				a.cfg.Log.Warn("authentication method is not supported, and not offered", "method", name, "file", path)
			} else if !slices.Contains(f.mechanisms, name) {
				f.mechanisms = append(f.mechanisms, name)
			}
		}
	}
	f.users = a.readUsers()
	if conf.Mechanisms == nil {
		f.mechanisms = slices.DeleteFunc(f.mechanisms, f.lacks)
	}
	db := conf.Database
	if db == "" {
		db = sasl.DefaultDatabase
	}
	switch {
	case !ok: // without this setting, accounts that others have made are not wanted
	case conf.PropPlugins != nil && !slices.Contains(conf.PropPlugins, "sasldb"):
		a.cfg.Log.Warn("only the plugin sasldb is supported, its accounts are not used", "auxprop_plugin", strings.Join(conf.PropPlugins, " "), "file", path)
	default:
		f.db = a.readDatabase(db)
	}
	f.dbPlain = conf.CheckMethods == nil || slices.Contains(conf.CheckMethods, "auxprop")
	for _, m := range conf.CheckMethods {
		if m != "auxprop" {
			a.cfg.Log.Warn("checking passwords in this way is not supported", "pwcheck_method", m, "file", path)
		}
	}
	return f
}

func (a *Accounts) readConf() (conf sasl.Conf, path string, ok bool) {
	for _, dir := range a.cfg.SASL {
		path := filepath.Join(dir, "pmcd.conf")
		file, err := a.open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			defer file.Close()
			conf, err = sasl.ParseConf(file)
		}
		if err != nil {
			a.cfg.Log.Error("configuration of authentication cannot be read", "file", path, "err", err)
			// Offer nothing rather than unwanted mechanisms.
			return sasl.Conf{Mechanisms: []string{}, CheckMethods: []string{}, PropPlugins: []string{}}, path, true
		}
		return conf, path, true
	}
	return conf, "", false
}

func (a *Accounts) readUsers() sasl.Users {
	if a.cfg.Users == "" {
		return nil
	}
	file, err := a.open(a.cfg.Users)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var users sasl.Users
	if err == nil {
		defer file.Close()
		a.checkMode(file)
		users, err = sasl.ParseUsers(file)
	}
	if err != nil {
		a.cfg.Log.Error("accounts cannot be read, nobody can use them", "file", a.cfg.Users, "err", err)
	}
	return users
}

func (a *Accounts) readDatabase(path string) sasl.Database {
	file, err := a.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var db sasl.Database
	if err == nil {
		defer file.Close()
		a.checkMode(file)
		db, err = sasl.ReadDatabase(file)
	}
	if err != nil {
		a.cfg.Log.Error("accounts cannot be read, nobody can use them", "file", path, "err", err)
	}
	return db
}

// checkMode warns of a file with secrets that everybody can read.
func (a *Accounts) checkMode(file *os.File) {
	if info, err := file.Stat(); err == nil && info.Mode().Perm()&0o007 != 0 {
		a.cfg.Log.Warn("file of accounts is open to everybody", "file", file.Name(), "mode", info.Mode().Perm().String())
	}
}

// An accountBook answers one exchange from the files as they were when it began.
type accountBook struct {
	*Accounts
	files *accountFiles
}

// lookup finds a password in the database. A name can have its realm after an @.
func (b *accountBook) lookup(user string) (password string, ok bool) {
	key := sasl.DatabaseKey{User: user, Realm: b.cfg.HostName}
	if i := strings.LastIndexByte(user, '@'); i >= 0 {
		key = sasl.DatabaseKey{User: user[:i], Realm: user[i+1:]}
	}
	password, ok = b.files.db[key]
	return password, ok
}

// Verifier takes as long for names without an account as for those of the
// database, and gives each a salt that stays the same.
func (b *accountBook) Verifier(mechanism, user string) (sasl.Verifier, error) {
	var own sasl.Verifier
	for _, v := range b.files.users[user] {
		if v.Mechanism == mechanism {
			own = v
		}
	}
	mine := b.files.users[user] != nil
	password, found := b.lookup(user)
	if !found || mine {
		password, found = rand.Text(), false
	}
	var made sasl.Verifier
	if own.Mechanism == "" || b.files.db != nil {
		var err error
		b.hash(func() {
			made, err = sasl.VerifierFor(mechanism, password, b.salt(mechanism, user), sasl.DefaultIterations)
		})
		if err != nil {
			return made, err
		}
	}
	if own.Mechanism != "" {
		return own, nil
	}
	return made, nil
}

// CheckPassword hashes once in each case.
func (b *accountBook) CheckPassword(user, password string) error {
	var ok bool
	if list := b.files.users[user]; list != nil {
		b.hash(func() { ok = list[0].Matches(password) })
	} else {
		want, found := b.lookup(user)
		b.hash(func() {
			sasl.VerifierFor(sasl.ScramSHA256, password, b.salt("", user), sasl.DefaultIterations)
		})
		ok = hmac.Equal(b.digest(want), b.digest(password)) && found && b.files.dbPlain
	}
	if !ok {
		return fmt.Errorf("wrong password or no such account: %w", sasl.ErrAuth)
	}
	return nil
}

// CheckPassword returns nil if user has an account with that password. It takes
// as long for a name without an account.
func (a *Accounts) CheckPassword(user, password string) error {
	return (&accountBook{a, a.files()}).CheckPassword(user, password)
}

// hash calls f while not too many others do: hashing is slow by design.
func (a *Accounts) hash(f func()) {
	a.slots <- struct{}{}
	defer func() { <-a.slots }()
	f()
}

func (a *Accounts) digest(text string) []byte {
	h := hmac.New(sha256.New, a.secret[:])
	h.Write([]byte(text))
	return h.Sum(nil)
}

// salt is the same for a name as long as we run, as that of an account is.
func (a *Accounts) salt(mechanism, user string) []byte {
	return a.digest(mechanism + "\x00" + user)[:16]
}
