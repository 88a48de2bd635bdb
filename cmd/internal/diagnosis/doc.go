// Package diagnosis finds which resource of a host is short, what takes it and what changed, in samples of a collector or an archive.
//
//	rules, err := diagnosis.Rules(dir)
//	if err != nil {
//		return err
//	}
//	d, err := diagnosis.Run(ctx, diagnosis.Config{Context: c, Rules: rules, Samples: 5, Interval: time.Second})
//	if err != nil {
//		return err
//	}
//	for _, f := range d.Findings {
//		fmt.Println(f.ID, f.Text)
//	}
//
// A [Rule] is data: an expression over metrics, a threshold, the processes, control groups or devices that may take the
// resource, and the rules that are effects of it. rules.yaml has those of this package; docs/diagnose.md describes the format.
// Expressions are those of package derive. A rule whose metrics the source lacks is not checked, and listed in Unchecked.
//
// Memory is bounded: it grows neither with the length of the window, of which at most maxSteps samples are taken, nor with the number of instances, of
// which the largest of each sample are kept.
package diagnosis
