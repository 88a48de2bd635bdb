package column_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// A text is a file that does not change.
type text string

func (t text) Read() ([]byte, error) { return []byte(t), nil }

// Blocks of queueMetrics.
const (
	blockTotal = iota
	blockQueue
)

// Columns of blockQueue.
const (
	queueWaiting = iota
	queueDone
	numQueue
)

// queueMetrics are the metrics of a file that has a line for each queue: its name,
// how many jobs wait, and how many were done.
var queueMetrics = []column.Metric{
	{Name: "print.queues", Cluster: 0, Item: 0, Type: pcp.TypeU32, Sem: pcp.SemInstant, From: blockTotal, Help: "Queues"},
	{Name: "print.queue.waiting", Cluster: 1, Item: 0, Type: pcp.TypeU32, Sem: pcp.SemInstant, From: blockQueue, Col: queueWaiting, Help: "Jobs that wait"},
	{Name: "print.queue.done", Cluster: 1, Item: 1, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}, From: blockQueue, Col: queueDone, Help: "Jobs done"},
}

// queueFamily returns the family of a file of queues.
func queueFamily(file column.File) column.Family {
	blocks := column.NewBlocks(
		queueMetrics, []column.Layout{
			blockTotal: {Cols: 1},
			blockQueue: {Cols: numQueue, Lists: true, InDom: &column.InDom{Serial: 0, Help: "Queues of the printer"}},
		}...)
	names := new(column.Names)
	return column.Family{Name: "queues", Metrics: queueMetrics, Sources: []*column.Source{{
		Name: "queues", File: file, Blocks: blocks,
		Parse: func(b []byte) { parseQueues(b, names, blocks[blockTotal], blocks[blockQueue]) },
	}}}
}

// parseQueues reads lines "colour 3 1017". Lines that are not of this form are passed over.
func parseQueues(b []byte, names *column.Names, total, queues *column.Block) {
	queues.Clear()
	names.Begin()
	for line := range bytes.Lines(b) {
		var name string
		var waiting, done uint64
		if n, _ := fmt.Sscan(string(line), &name, &waiting, &done); n < 3 {
			continue
		}
		inst, name := names.ID([]byte(name))
		if !names.First(inst) {
			continue // a name that comes twice counts once
		}
		row := queues.AddNamed(inst, name)
		queues.Set(row, queueWaiting, waiting)
		queues.Set(row, queueDone, done)
	}
	total.Set(0, 0, uint64(queues.Rows()))
}

func Example() {
	ctx := context.Background()
	a, err := column.New(column.Config{Name: "print", Domain: 400}, queueFamily(text("colour 3 1017\nplain 0 250\n")))
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := a.NameSpace().Lookup("print.queue.done")
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := []pcp.PMID{done}
	if err := a.Refresh(ctx, ids); err != nil { // reads the source of print.queue.done
		fmt.Println(err)
		return
	}
	res := new(pcp.Result)
	if err := a.Fetch(ctx, &pmda.FetchRequest{PMIDs: ids, Result: res}); err != nil { // copies
		fmt.Println(err)
		return
	}
	insts, err := a.Instances(ctx, pcp.NewInDom(400, 0))
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, v := range res.Sets[0].Values {
		fmt.Println(insts[i].Name, v)
	}
	// Output:
	// colour 1017
	// plain 250
}
