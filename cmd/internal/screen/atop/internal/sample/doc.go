// Package sample measures the figures of pcp-atop and pcp-atopsar: it reads the metrics of
// a sample, live or from archives, and calculates the changes since the sample before.
//
//	s := sample.New(c, sample.Config{})
//	if err := s.Setup(ctx); err != nil { … }
//	d, err := s.Next(ctx, at, first)
//	fmt.Println(d.System.CPU.User, len(d.Active))
//
// The tables of scalars.go, network.go, instances.go and task.go map metrics to fields, and
// define whether a field counts events or is a current amount.
package sample
