// Package sample measures what pcp-atop and pcp-atopsar show: it reads the metrics of a
// sample, live or from archives, and calculates what has happened since the sample before.
//
//	s := sample.New(c, sample.Config{})
//	if err := s.Setup(ctx); err != nil { … }
//	d, err := s.Next(ctx, at, first)
//	fmt.Println(d.System.CPU.User, len(d.Active))
//
// The tables of scalars.go, network.go, instances.go and task.go say which metric goes into
// which field, and whether a field counts events or says how much there is now.
package sample
