package ui

import (
	"errors"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
)

// askExport returns the prompt for the file in which the screen is saved.
func (a *App) askExport() prompt {
	name := "pcp-top-" + a.cfg.Now().In(a.cfg.Loc).Format("20060102-150405") + ".txt"
	return prompt{label: "Save in a new file, a table in .csv", text: name, accept: func(text string) error {
		if text == "" {
			return errors.New("the name of a file is required")
		}
		a.export = text
		return nil
	}}
}

// Export returns, once, the file in which the user wants to save the screen.
func (a *App) Export() (path string, ok bool) {
	path = a.export
	a.export = ""
	return path, path != ""
}

// Shown returns the view, its snapshot and the processes selected, for a table of them.
func (a *App) Shown() (View, *model.Snapshot, *model.Selection) {
	return a.view, a.film.now, &a.procs.sel
}

// Exported shows the result of saving the screen.
func (a *App) Exported(path string, err error) {
	if err != nil {
		a.dialogs.note.say("%v", err)
		return
	}
	a.dialogs.note.say("saved in %s", path)
}
