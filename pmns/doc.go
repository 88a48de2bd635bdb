// Package pmns is the Performance Metrics Name Space: a tree whose leaves name
// metrics, its text form pmns(5) with the preprocessor that reads it, and
// look-ups of names and of PMIDs.
//
//	tree, err := pmns.Load(pmns.DefaultPath(config.Process()), true)
//	if err != nil {
//		return err
//	}
//	id, err := tree.Lookup("kernel.all.load")
//
// A leaf may represent a whole subtree that an agent resolves at run time, a
// dynamic root: its PMID marks it as one, and has the domain of the agent. See
// Tree.DynamicRoot.
//
// The parser accepts the same texts as the C library, oddities included: a file
// may end inside of a subtree, a last line without a newline is dropped where the
// preprocessor runs, and "5" means the same as "5:*:*".
package pmns
