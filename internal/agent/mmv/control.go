package mmv

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A control is one of the agent's own metrics, those of cluster 0.
type control struct {
	name          string
	oneLine, help string
}

// Items of the controls.
const (
	controlReload = 0
	controlDebug  = 1
	controlFiles  = 2
)

// controls lists them by item, as version 6.0.3 has them.
func controls() []control {
	return []control{
		controlReload: {
			"control.reload", "read all files again",
			"Store any number except 0 here and the next request reads every folder and\n" +
				"file again. The agent also does so when one of them changes. 1 means that\n" +
				"a file is being written and will be read again.\n",
		},
		controlDebug: {
			"control.debug", "log what the agent does with files",
			"Store anything but 0 here to have each file that is loaded or left out\n" +
				"and each metric that clashes with another in the log of the agent.\n",
		},
		controlFiles: {
			"control.files", "files whose metrics are served",
			"The number of files in use at the moment. Those that are damaged, belong\n" +
				"to a process that has gone or were never completed are not among them.\n",
		},
	}
}

// controlOf returns the control whose PMID is id, nil if there is none.
func controlOf(id pcp.PMID) *control {
	if list := controls(); id.Cluster() == 0 && id.Item() < len(list) {
		return &list[id.Item()]
	}
	return nil
}

func (c *control) desc(id pcp.PMID) pcp.Desc {
	return pcp.Desc{PMID: id, Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
}

// fetchControl adds the set of a control.
func (a *Agent) fetchControl(res *pcp.Result, id pcp.PMID) {
	var v int32
	switch id.Item() {
	case controlReload:
		v = a.reload
	case controlDebug:
		v = a.debug
	case controlFiles:
		v = int32(a.index.loaded)
	default:
		res.AddError(id, pcp.ErrPMID)
		return
	}
	res.AddSet(id)
	res.Add(pcp.Int32Value(v))
}

// Store implements [pmda.Storer]: only mmv.control.reload and mmv.control.debug
// can be stored.
func (a *Agent) Store(_ context.Context, _ *pmda.Client, res *pcp.Result) error {
	a.check(false)
	for i := range res.Sets {
		set := &res.Sets[i]
		if set.PMID.Cluster() != 0 {
			return pcp.ErrPermission
		}
		if controlOf(set.PMID) == nil {
			continue // as in C
		}
		if len(set.Values) != 1 {
			return pcp.ErrBadStore
		}
		v, err := set.Values[0].Extract(pcp.Type32, pcp.Type32)
		if err != nil {
			return err
		}
		switch set.PMID.Item() {
		case controlReload:
			a.reload, a.forced = v.Int32(), v.Int32() != 0
		case controlDebug:
			a.debug = v.Int32()
		default:
			return pcp.ErrPermission
		}
	}
	return nil
}
