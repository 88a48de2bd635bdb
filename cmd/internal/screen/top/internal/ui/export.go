package ui

import "errors"

// askExport returns the prompt for the file in which the screen is saved.
func (a *App) askExport() prompt {
	name := "pcp-top-" + a.cfg.Now().In(a.cfg.Loc).Format("20060102-150405") + ".txt"
	return prompt{label: "Save the screen in a new file", text: name, accept: func(text string) error {
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

// Exported shows the result of saving the screen.
func (a *App) Exported(path string, err error) {
	if err != nil {
		a.dialogs.note.say("%v", err)
		return
	}
	a.dialogs.note.say("saved in %s", path)
}
