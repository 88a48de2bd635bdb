package nsedit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pmns"
)

// load reads the name space at path. It prints the C library's messages about an
// invalid file; the error is the message of the tool.
func load(env *cli.Env, path string, dupOK bool) (*pmns.Tree, error) {
	loader := pmns.Loader{DupOK: dupOK, Config: env.Config(), Stderr: env.Stderr}
	var tree *pmns.Tree
	err := fs.ErrNotExist
	if path != "" { // to pmns the default one
		tree, err = loader.Load(path)
	} else {
		fmt.Fprintln(env.Stderr, `Error Parsing ASCII PMNS: Cannot open ""`)
	}
	if err == nil {
		return tree, nil
	}
	if pe, ok := errors.AsType[*pmns.ParseError](err); ok {
		env.FlushOut()
		fmt.Fprint(env.Stderr, pe.Diagnostic)
	}
	dup := 0
	if dupOK {
		dup = 1
	}
	//lint:ignore ST1005 the words of the C tool
	return nil, fmt.Errorf("Error: pmLoadASCIINameSpace(%s, %d): %s", path, dup, cli.ErrText(err))
}

// mergeFiles reads the files in order and merges them. It warns about names with two
// PMIDs; an error is the message of the tool.
func mergeFiles(env *cli.Env, files []string, dupOK, verbose bool) (*pmns.Tree, error) {
	var tree *pmns.Tree
	for _, path := range files {
		if verbose {
			fmt.Fprintf(env.Stdout, "%s:\n", path)
		}
		next, err := load(env, path, dupOK)
		switch {
		case err != nil:
			return nil, err
		case tree == nil:
			tree = next
			continue
		}
		err = tree.Overlay(next, func(name string, kept, ignored pcp.PMID) {
			fmt.Fprintf(env.Stderr, "%s: Warning: performance metric \"%s\" has multiple PMIDs.\n... using PMID %v and ignoring PMID %v\n",
				env.ProgName(), name, idText(kept), ignored)
		})
		if err != nil {
			//lint:ignore ST1005 the words of the C tool
			return nil, fmt.Errorf("Error: merging %s: %w", path, err)
		}
	}
	return tree, nil
}

// idText returns id as the C tool prints it, PMIDNull by its parts.
func idText(id pcp.PMID) string {
	if id == pcp.PMIDNull {
		return fmt.Sprintf("%d.%d.%d", id.Domain(), id.Cluster(), id.Item())
	}
	return id.String()
}

// replace writes tree to the file at path, which keeps its mode and owner, or on an
// error stays unchanged. The error is the message of the tool.
func replace(path string, tree *pmns.Tree) error {
	return replaceOr(path, tree, `Error: cannot open PMNS file "%s.new" for writing: %s`)
}

// replaceOr is replace with the message, of path and a reason, for a new file that
// cannot be created. In the C tools that is path.new.
func replaceOr(path string, tree *pmns.Tree, message string) error {
	how := safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1, Keep: true, Lenient: true}
	err := safefile.Replace(path, how, func(w io.Writer) error {
		_, err := tree.WriteTo(w)
		return err
	})
	if err == nil {
		return nil
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok && pe.Op == safefile.OpCreate {
		return fmt.Errorf(message, path, reason(err))
	}
	//lint:ignore ST1005 the words of the C tool
	return fmt.Errorf("Error: cannot write PMNS file \"%s\": %s", path, reason(err))
}

// reason is the text of an error of safefile.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, safefile.ErrNotRegular) {
		return pe.Err.Error()
	}
	return cli.ErrText(err)
}
