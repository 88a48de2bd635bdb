// Package reading has the answers of the program pcp-gpu to the agent nvidia, which starts it.
//
// The agent writes a line with a [Request], and the program answers with a line of JSON, a [Reading]. At the end of its
// input it ends. A card or value that the library has no answer for is missing, with the library's error.
//
//	{"processes":true}
//	{"cards":[{"name":"A100","temperature":41,"processes":[{"pid":70,"compute":true,"memory":1048576}]}]}
package reading

import (
	"encoding/json"
	"fmt"
)

// Limits of a reading.
const (
	MaxLine      = 16 << 20 // bytes
	MaxCards     = 256
	MaxProcesses = 65536 // of a card
)

// A Request asks for a reading.
type Request struct {
	// Processes is set if the processes of cards are wanted, too.
	Processes bool `json:"processes,omitempty"`
}

// A Reading is the state of all cards.
type Reading struct {
	// Error is why there are no cards, and the program ends.
	Error string `json:"error,omitempty"`
	Cards []Card `json:"cards"`
}

// A Card is the state of one. A nil field has no value.
type Card struct {
	Error       string    `json:"error,omitempty"` // of a card that is lost
	Name        string    `json:"name,omitempty"`
	UUID        string    `json:"uuid,omitempty"`
	Bus         string    `json:"bus,omitempty"`
	Temperature *uint32   `json:"temperature,omitempty"` // degrees Celsius
	Fan         *uint32   `json:"fan,omitempty"`         // percent
	State       *uint32   `json:"state,omitempty"`       // of performance
	Busy        *uint32   `json:"busy,omitempty"`        // percent
	MemoryBusy  *uint32   `json:"memorybusy,omitempty"`
	Memory      *Memory   `json:"memory,omitempty"`
	Energy      *uint64   `json:"energy,omitempty"` // millijoules
	Power       *uint32   `json:"power,omitempty"`  // milliwatts
	Processes   []Process `json:"processes,omitempty"`
}

// Memory is that of a card, in bytes.
type Memory struct {
	Total uint64 `json:"total"`
	Free  uint64 `json:"free"`
	Used  uint64 `json:"used"`
}

// A Process uses a card. A process that computes and draws is listed twice.
type Process struct {
	PID        uint32  `json:"pid"`
	Compute    bool    `json:"compute,omitempty"` // and not graphics
	Memory     *uint64 `json:"memory,omitempty"`  // bytes
	Busy       *uint32 `json:"busy,omitempty"`    // percent
	MemoryBusy *uint32 `json:"memorybusy,omitempty"`
	Time       *uint64 `json:"time,omitempty"` // milliseconds
	Running    bool    `json:"running,omitempty"`
}

// Parse reads a line.
func Parse(line []byte) (*Reading, error) {
	if len(line) > MaxLine {
		return nil, fmt.Errorf("a line of %d bytes", len(line))
	}
	r := new(Reading)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, err
	}
	if len(r.Cards) > MaxCards {
		return nil, fmt.Errorf("%d cards", len(r.Cards))
	}
	for i := range r.Cards {
		c := &r.Cards[i]
		if len(c.Processes) > MaxProcesses {
			return nil, fmt.Errorf("%d processes of a card", len(c.Processes))
		}
		c.Name, c.UUID, c.Bus = clean(c.Name), clean(c.UUID), clean(c.Bus)
	}
	return r, nil
}

// clean returns s without what cannot be shown.
func clean(s string) string {
	const most = 255
	b := make([]byte, 0, min(len(s), most))
	for i := 0; i < len(s) && len(b) < most; i++ {
		if s[i] >= ' ' && s[i] <= '~' {
			b = append(b, s[i])
		}
	}
	return string(b)
}
