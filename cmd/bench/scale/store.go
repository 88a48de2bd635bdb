//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/bench/scale/hosts"
	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
)

// bucket is the bucket of the object storage.
const bucket = "scale"

// A store is object storage in this process.
type store struct {
	handler http.Handler
	addr    string
	srv     *http.Server
	dir     *objects.Dir
}

// startStore starts the store, and sets the variables with which this process and its children find it.
func startStore() (*store, error) {
	back := s3mem.New()
	if err := back.CreateBucket(bucket); err != nil {
		return nil, err
	}
	s := &store{handler: gofakes3.New(back).Server(), addr: "127.0.0.1:0"}
	if err := s.start(); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://" + s.addr, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "PCP_OBJECT_CACHE": "off",
	} {
		os.Setenv(name, value)
	}
	objects.Register(os.Getenv)
	var err error
	if s.dir, err = objects.OpenDir("s3://"+bucket+"/site", os.Getenv); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// start makes the store answer.
func (s *store) start() error {
	ln, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	s.addr = ln.Addr().String()
	s.srv = &http.Server{Handler: s.handler}
	go s.srv.Serve(ln) // until stop
	return nil
}

// stop ends all connections and accepts no others. Objects are kept.
func (s *store) stop() { s.srv.Close() }

// A stored is what the store has.
type stored struct {
	soon     int     // archives that the recorders stored
	archives int     // all of them, after the rest was stored
	bytes    int64   // of the files of archives
	samples  int     // in them
	values   uint64  // in them
	lost     int     // samples of local archives that it does not have
	twice    int     // samples that it has more often than the local archives
	lacking  int     // archives that it does not have
	foreign  int     // archives that only it has
	per      float64 // bytes a value
}

// names returns the archives of a host in the store, and the size of their files.
func (s *store) names(ctx context.Context, host string) (map[string]bool, int64, error) {
	entries, err := s.dir.List(ctx, host)
	if err != nil {
		return nil, 0, err
	}
	list, size := make(map[string]bool), int64(0)
	for _, e := range entries {
		base, part, ok := archive.BaseName(e.Name)
		if e.Dir || !ok {
			continue // an index
		}
		size += e.Size
		if part == "meta" {
			list[base] = true
		}
	}
	return list, size, nil
}

// finish stores the archives that the recorders had no time for, as their next start would, and compares the store with the local archives.
func (s *store) finish(ctx context.Context, b *bench, c *checked) (*stored, error) {
	st := new(stored)
	for h := range b.hosts {
		list, _, err := s.names(ctx, hosts.Name(h))
		if err != nil {
			return nil, err
		}
		st.soon += len(list)
	}
	for _, r := range b.list {
		var failed error
		sh, err := ship.New(ship.Config{Dir: s.dir, Event: func(host, text string, err error) {
			if err != nil { // otherwise the comparison finds the archives that are missing
				failed = errors.Join(failed, fmt.Errorf("%s: %s: %w", host, text, err))
			}
		}})
		if err != nil {
			return nil, err
		}
		var list []ship.Host
		for _, h := range r.hosts {
			list = append(list, ship.Host{Name: hosts.Name(h), Path: filepath.Join(r.dir, hosts.Name(h))})
		}
		sh.Set(list)
		if sh.Finish(ctx); failed != nil {
			return nil, failed
		}
	}
	for h := range b.hosts {
		list, size, err := s.names(ctx, hosts.Name(h))
		if err != nil {
			return nil, err
		}
		st.archives += len(list)
		st.bytes += size
		if err := s.compare(b, c, st, h, list); err != nil {
			return nil, err
		}
	}
	st.per = float64(st.bytes) / float64(max(1, c.values))
	return st, nil
}

// compare compares the samples of the archives of a host with those of the store.
func (s *store) compare(b *bench, c *checked, st *stored, h int, list map[string]bool) error {
	paths, err := filepath.Glob(filepath.Join(b.dir, "r*", hosts.Name(h), "*.meta*"))
	if err != nil {
		return err
	}
	count := make(map[int64]int) // of samples, by time: local ones less stored ones
	read := func(path string, each int) (values uint64, samples int, err error) {
		a, err := archive.Open(path)
		if err != nil {
			return 0, 0, err
		}
		var times []int64
		values, err = new(checked).read(a, nil, &times)
		for _, t := range times {
			count[t] += each
		}
		return values, len(times), errors.Join(err, a.Close())
	}
	seen := make(map[string]bool)
	for _, path := range paths {
		base, _, _ := strings.Cut(path, ".meta")
		name := filepath.Base(base)
		if seen[base] {
			continue
		}
		seen[base] = true
		if _, _, err := read(base, 1); err != nil {
			if st, serr := os.Stat(base + ".0"); serr == nil && st.Size() < 1000 {
				continue // killed at its beginning
			}
			return err
		}
		if !list[name] {
			st.lacking++
			c.example("the store has no archive %s of %s", name, hosts.Name(h))
		}
		seen[name] = true
	}
	for name := range list {
		if !seen[name] {
			st.foreign++
			c.example("only the store has the archive %s of %s", name, hosts.Name(h))
		}
		values, samples, err := read(s.dir.Address(hosts.Name(h)+"/"+name), -1)
		if err != nil {
			return err
		}
		st.values += values
		st.samples += samples
	}
	for t, n := range count {
		switch {
		case n > 0:
			st.lost += n
			c.example("%s: the store does not have the sample of %v", hosts.Name(h), time.UnixMicro(t))
		case n < 0:
			st.twice -= n
			c.example("%s: the store has the sample of %v %d times more than the archives", hosts.Name(h), time.UnixMicro(t), -n)
		}
	}
	return nil
}
