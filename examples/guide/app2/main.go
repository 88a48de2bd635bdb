// App2 is a loop of three kinds of work. It traces each turn as a point, and each piece of work
// as a transaction.
//
//	go run ./examples/guide/app2 -turns 30
//	pmval trace.transact.rate
package main

import (
	"flag"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"github.com/go-pcp/pcp/trace"
)

func main() {
	log.SetFlags(0)
	turns := flag.Int("turns", 0, "how many turns; 0 means no limit")
	pause := flag.Duration("pause", 10*time.Second, "the longest pause")
	flag.Parse()
	if err := run(*turns, *pause); err != nil {
		log.Fatal(err)
	}
}

func run(turns int, pause time.Duration) error {
	t, err := trace.New(trace.Config{})
	if err != nil {
		return err
	}
	defer t.Close()
	work := []struct {
		tag string
		do  func() error
	}{
		{"time_sucker", func() error { time.Sleep(rand.N(pause)); return nil }},
		{"io_sucker", write},
		{"cpu_sucker", compute},
	}
	for i := 0; turns == 0 || i < turns; i++ {
		if err := t.Point("mainloop"); err != nil {
			return err
		}
		w := work[i%len(work)]
		if err := t.Begin(w.tag); err != nil {
			return err
		}
		if err := w.do(); err != nil {
			t.Abort(w.tag) // a transaction that failed has no time
			return err
		}
		if err := t.End(w.tag); err != nil {
			return err
		}
	}
	return nil
}

func write() error {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for range rand.IntN(1000) {
		if _, err := io.WriteString(f, "!"); err != nil {
			return err
		}
	}
	return nil
}

func compute() error {
	var numbers [100]float64
	for n := range rand.IntN(1 << 16) {
		for i := range numbers {
			numbers[i] += float64(i * n)
		}
	}
	return nil
}
