package pcp_test

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/go-pcp/pcp"
)

func Example() {
	id := pcp.NewPMID(60, 0, 20)
	desc := pcp.Desc{
		PMID:  id,
		Type:  pcp.TypeU64,
		InDom: pcp.NewInDom(60, 0),
		Sem:   pcp.SemCounter,
		Units: pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0),
	}
	fmt.Println(id)
	fmt.Println(desc.Type, desc.InDom, desc.Sem, desc.Units)
	// Output:
	// 60.0.20
	// U64 60.0 counter millisec
}

func ExampleParseUnits() {
	u, mult, err := pcp.ParseUnits("10 kilobytes / second")
	fmt.Println(u, mult, err)
	_, _, err = pcp.ParseUnits("10 furlongs")
	fmt.Println(err)
	// Output:
	// Kbyte / sec 0.1 <nil>
	// units "10 furlongs": unrecognized or duplicate base unit
}

func ExampleConvScale() {
	bytes := pcp.NewUnits(1, 0, 0, pcp.SpaceByte, 0, 0)
	mbytes := pcp.NewUnits(1, 0, 0, pcp.SpaceMByte, 0, 0)
	v, err := pcp.ConvScale(pcp.Uint64Value(3<<20), bytes, mbytes)
	fmt.Println(v, mbytes, err)
	_, err = pcp.ConvScale(v, bytes, pcp.NewUnits(0, 1, 0, 0, pcp.TimeSec, 0))
	fmt.Println(err)
	// Output:
	// 3 Mbyte <nil>
	// Impossible value or scale conversion
}

func ExampleValue_Extract() {
	// A value in situ has no type; its descriptor has it.
	v := pcp.RawValue(pcp.TypeUnknown, 0xffffffff)
	u, err := v.Extract(pcp.TypeU32, pcp.TypeDouble)
	fmt.Println(u.Double(), err)
	_, err = v.Extract(pcp.Type32, pcp.TypeU64)
	fmt.Println(err)
	// Output:
	// 4.294967295e+09 <nil>
	// Negative value in conversion to unsigned
}

func ExampleValue_AppendPrint() {
	b := pcp.DoubleValue(0.1).AppendPrint(nil, pcp.TypeDouble, 8, time.UTC)
	b = append(b, '|')
	b = pcp.StringValue("up").AppendPrint(b, pcp.TypeString, 8, time.UTC)
	fmt.Printf("%s\n", b)
	// Output:
	//      0.1|    "up"
}

func ExampleNumberStr() {
	for _, f := range []float64{0, 12.345, 1234, -1234, 1e15} {
		fmt.Printf("[%s]\n", pcp.NumberStr(f))
	}
	// Output:
	// [  0.00 ]
	// [ 12.35 ]
	// [  1.23K]
	// [ -1.23K]
	// [ inf?  ]
}

func ExampleError() {
	err := fmt.Errorf("fetch from %s: %w", "server7", pcp.ErrTimeout)
	fmt.Println(err)
	fmt.Println(errors.Is(err, pcp.ErrTimeout), pcp.Code(err) == pcp.ErrTimeout)
	// A negated errno matches the errno.
	fmt.Println(pcp.Error(-2), errors.Is(pcp.Error(-2), fs.ErrNotExist))
	// Output:
	// fetch from server7: Timeout waiting for a response from PMCD
	// true true
	// No such file or directory true
}

func ExampleMergeLabels() {
	host, _ := pcp.StringLabels(pcp.LabelContext, "hostname", "server7", "role", "database")
	agent, _ := pcp.ParseLabels(`{ "role": "testing", "unit": {"of": "time"} }`, pcp.LabelDomain)
	merged, err := pcp.MergeLabels([]pcp.LabelSet{host, agent}, nil)
	fmt.Println(merged.JSON, err)
	for l := range merged.All() {
		fmt.Println(l.Name, l.Value, l.Flags)
	}
	// Output:
	// {"hostname":"server7","role":"testing","unit.of":"time"} <nil>
	// hostname "server7" context
	// role "testing" domain
	// unit.of "time" domain,compound
}

func ExampleProfile() {
	load := pcp.NewInDom(60, 2)
	var p pcp.Profile
	p.Del(load)     // nothing of it,
	p.Add(load, 15) // but this one
	fmt.Println(p.Includes(load, 1), p.Includes(load, 15))
	// Output: false true
}
